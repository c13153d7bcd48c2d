package observe

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"noxmesh/internal/invariant"
)

// Search looks for secrets, by name, in every regular file below these folders.
func Search(secrets map[string]string, folders ...string) ([]invariant.Canary, error) {
	s := search{secrets, map[string][]string{}}
	for _, dir := range folders {
		if err := s.folder(dir); err != nil {
			return nil, err
		}
	}
	var all []invariant.Canary
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		all = append(all, invariant.Canary{Name: name, Found: s.found[name]})
	}
	return all, nil
}

type search struct {
	secrets map[string]string
	found   map[string][]string // by name: the files
}

func (s search) folder(dir string) (err error) {
	if len(s.secrets) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return gone(err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return gone(err)
		}
		text, err := root.ReadFile(path)
		if err != nil {
			return gone(err)
		}
		for name, secret := range s.secrets {
			if bytes.Contains(text, []byte(secret)) {
				s.found[name] = append(s.found[name], filepath.Join(dir, path))
			}
		}
		return nil
	})
}

// gone lets be what was removed while it was looked for.
func gone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
