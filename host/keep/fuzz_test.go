package keep

import (
	"os"
	"path/filepath"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/document/documenttest"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/link"
	"noxmesh/report"
)

func FuzzDecodeRecord(f *testing.F) {
	var seeds [][]byte
	for _, s := range recordSeeds() {
		seeds = append(seeds, []byte(s))
	}
	documenttest.Fuzz(f, documenttest.Codec[Record]{
		Decode: func(b []byte) (Record, error) { return DecodeRecord(string(b)) },
		Encode: func(r Record) ([]byte, error) { return r.Encode(), nil },
	}, 8, seeds...)
}

func FuzzDecodePlan(f *testing.F) {
	whole := Plan{
		Of: document.Sum(nil), Program: "1.0", Mesh: "mesh0001", Node: "n7f3k000", Tuple: declaration.Tuple{Epoch: 7, Generation: 42, Digest: document.Sum(nil)},
		Body: declaration.Body{
			Modules: []declaration.Module{{Module: "m", Content: document.Sum(nil)}},
			Resources: []declaration.Resource{
				{ID: "m/a", Type: declaration.File, Path: "/etc/a \n", Mode: "0644", Digest: document.Sum(nil), Size: 3},
				{ID: "m/s", Type: declaration.File, Path: "/s", Mode: "0640", Digest: document.Sum(nil), Secrets: map[string]string{"a": "YWJj", "b": "YWJj"}},
				{ID: "m/b", Type: declaration.Link, Path: "/b", Target: "/a", After: []string{"m/a"}, Traits: &declaration.Traits{Drift: declaration.DriftReport}},
			},
		},
		Digests: []document.Digest{document.Sum(nil), document.Sum(nil), document.Sum(nil)},
	}.encode()
	documenttest.Fuzz(f, documenttest.Codec[Plan]{
		Decode: func(b []byte) (Plan, error) { return decodePlan(string(b)) },
		Encode: func(p Plan) ([]byte, error) { return p.encode(), nil },
	}, 3, whole, whole[:len(whole)/2], append(whole[:len(whole):len(whole)], "module x\n"...))
}

// FuzzFiles gives any content to each file of the state, with the right digest
// and with its own: the host takes all of it, or says in words that it is
// damaged and what to do.
func FuzzFiles(f *testing.F) {
	root := f.TempDir()
	sys, err := system.Open(root)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = sys.Close() })
	folder, err := Open(sys)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = folder.Close() })
	for _, v := range []any{
		Joined{Mesh: "mesh0001", Keys: link.Envelope{Signatures: []link.Signature{}}},
		State{Applied: declaration.Tuple{Epoch: 1}},
		link.Envelope{PayloadType: "x", Payload: []byte("{}")},
		identityForm{Sign: "00"},
		Latest{Report: report.Report{Format: 1}},
	} {
		b, err := document.Canonical(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, true)
		f.Add(append([]byte(header(document.Sum(b))), b...), false)
	}
	for _, s := range append(documenttest.Hostile(), []byte("12"), []byte("-1"), []byte("9223372036854775808")) {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, body []byte, whole bool) {
		for name, read := range readers(folder) {
			write := body
			if whole {
				write = append([]byte(header(document.Sum(body))), body...)
			}
			if err := os.WriteFile(filepath.Join(root, Path, name), write, 0o600); err != nil {
				t.Fatal(err)
			}
			done := documenttest.Bounded(t, len(body))
			err := read()
			done()
			if err == nil {
				continue
			}
			documenttest.Plain(t, err)
			if name == planFile && fault.KindOf(err) == fault.NotFound {
				continue // it is made again
			}
			if fault.KindOf(err) != fault.Invalid || fault.HintOf(err) == "" {
				t.Errorf("%s: kind %s, hint %q: %v", name, fault.KindOf(err), fault.HintOf(err), err)
			}
		}
	})
}

// readers reads each file of the state by its name.
func readers(f *Folder) map[string]func() error {
	return map[string]func() error{
		identityFile: func() error { _, err := f.Identity(); return err },
		joinedFile:   func() error { _, err := f.Joined(); return err },
		acceptedFile: func() error { _, err := f.Accepted(); return err },
		stateFile:    func() error { _, err := f.State(); return err },
		planFile:     func() error { _, err := f.Plan(NewRecord()); return err },
		latestFile:   func() error { _, err := f.Latest(); return err },
		recordFile:   func() error { _, err := f.Record(); return err },
		counterFile:  func() error { _, err := f.Counter(); return err },
	}
}
