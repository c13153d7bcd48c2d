package host

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/report"
)

// says is the digest of what a report says, whatever its number, its cause and
// its times. Facts have no part in it either: whether the controller has those
// stands in the state.
func says(r report.Report) document.Digest {
	s := speech{hash: sha256.New(), buffer: make([]byte, 0, 4<<10)}
	s.text(r.Mesh, r.Node, r.Boot, r.Host, string(r.Outcome))
	s.number(int64(r.Format))
	s.tuple(r.Accepted)
	s.tuple(r.Applied)
	if r.Trouble != nil {
		s.text(r.Trouble.Fingerprint)
		s.number(r.Trouble.Since, r.Trouble.Count)
	}
	s.number(int64(len(r.Modules)), int64(len(r.Resources)))
	for _, m := range r.Modules {
		s.text(m.Module, string(m.Content))
	}
	for i := range r.Resources {
		res := &r.Resources[i]
		s.text(res.ID, string(res.Digest), string(res.State), res.Error, res.Found)
		if res.Fixed {
			s.number(1)
		}
		if c := res.Contested; c != nil {
			s.number(2, c.Since, c.Count)
		}
	}
	return s.sum()
}

// speech is values as bytes that no other values have.
type speech struct {
	hash   hash.Hash
	buffer []byte
}

func (s *speech) text(all ...string) {
	for _, v := range all {
		s.number(int64(len(v)))
		s.buffer = append(s.buffer, v...)
	}
}

func (s *speech) number(all ...int64) {
	for _, v := range all {
		s.buffer = binary.AppendVarint(s.buffer, v)
	}
	if len(s.buffer) > 2<<10 {
		s.hash.Write(s.buffer)
		s.buffer = s.buffer[:0]
	}
}

func (s *speech) tuple(t declaration.Tuple) {
	s.number(t.Epoch, t.Generation)
	s.text(string(t.Digest))
}

func (s *speech) sum() document.Digest {
	s.hash.Write(s.buffer)
	return document.FromHash(s.hash.Sum(nil))
}

// complaints is of how many resources one pass puts into the log what is wrong.
const complaints = 20

// complain puts into the log what is not as declared and why, once for as long as
// it stays so. The mesh is told only how the latest pass went: while nobody can
// be told, this is where it is said what went wrong before.
func (r *runner) complain(rep report.Report) {
	was, fresh := r.wrong, 0
	r.wrong = map[string]string{}
	for i := range rep.Resources {
		res := &rep.Resources[i]
		if res.Error == "" {
			continue
		}
		r.wrong[res.ID] = res.Error
		if was[res.ID] == res.Error {
			continue
		}
		if fresh++; fresh <= complaints {
			r.cfg.Log.Warn("not as declared", "resource", res.ID, "state", string(res.State), "why", res.Error)
		}
	}
	if fresh > complaints {
		r.cfg.Log.Warn("more are not as declared", "resources", fresh-complaints)
	}
}
