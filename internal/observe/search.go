package observe

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"noxmesh/internal/invariant"
)

// Search looks for secrets, by name, in every regular file below these folders.
func Search(secrets map[string]string, folders ...string) ([]invariant.Canary, error) {
	found := map[string][]string{}
	for _, dir := range folders {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				return nil
			}
			for name, secret := range secrets {
				if bytes.Contains(text, []byte(secret)) {
					found[name] = append(found[name], path)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var all []invariant.Canary
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		all = append(all, invariant.Canary{Name: name, Found: found[name]})
	}
	return all, nil
}
