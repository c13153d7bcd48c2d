package builder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// kept is an answer that waits for its receipt.
type kept struct {
	request string
	answer  link.Envelope
	log     []byte
}

// requestPattern is what a request's id looks like: it becomes a file's name.
var requestPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)

// keep puts an answer on the disk, its log first: what has an answer is whole.
func (s state) keep(k kept) error {
	body, err := document.Canonical(k.answer)
	if err != nil {
		return err
	}
	if err := disk.Write(s.answerPath(k.request)+".log", k.log); err != nil {
		return err
	}
	return disk.Write(s.answerPath(k.request)+".json", body)
}

// drop forgets an answer: its receipt has come.
func (s state) drop(request string) error {
	path := s.answerPath(request)
	return stays(path+".json", effect.Do("builder.answer.drop", func() error {
		if err := remove(path + ".json"); err != nil {
			return err
		}
		return remove(path + ".log")
	}))
}

func (s state) answerPath(request string) string { return filepath.Join(s.answers(), request) }

// waiting is the requests whose answers wait, in the order of their ids. What
// else lies there was left by a kill and is removed.
func (s state) waiting() ([]string, error) {
	ids, err := s.peek()
	if err != nil {
		return nil, err
	}
	all, err := os.ReadDir(s.answers())
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "read the kept answers")
	}
	for _, e := range all {
		if id := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".json"), ".log"); slices.Contains(ids, id) {
			continue
		}
		path := filepath.Join(s.answers(), e.Name())
		err := effect.Do("builder.answer.sweep", func() error { return remove(path) })
		if err != nil {
			return nil, stays(path, err)
		}
	}
	return ids, nil
}

// peek is waiting without tidying.
func (s state) peek() ([]string, error) {
	all, err := os.ReadDir(s.answers())
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "read the kept answers")
	}
	var ids []string
	for _, e := range all {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && requestPattern.MatchString(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// has reports whether an answer to the request waits.
func (s state) has(request string) (bool, error) {
	_, err := os.Stat(s.answerPath(request) + ".json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fault.Wrap(fault.Unavailable, err, "look for a kept answer to %q", request)
	}
	return err == nil, nil
}

// read is one kept answer as it was kept.
func (s state) read(request string) (kept, error) {
	k := kept{request: request}
	data, err := os.ReadFile(s.answerPath(request) + ".json")
	if err != nil {
		return k, fault.Wrap(fault.Unavailable, err, "read the kept answer to %q", request)
	}
	k.answer, err = link.DecodeEnvelope(data)
	if err != nil {
		return k, fault.Add(err, "read the kept answer to %q", request)
	}
	k.log, err = os.ReadFile(s.answerPath(request) + ".log")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return k, fault.Wrap(fault.Unavailable, err, "read the kept log of %q", request)
	}
	return k, nil
}
