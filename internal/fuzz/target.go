package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A target is one fuzz function of one folder.
type target struct {
	folder, name, file string
}

func (t target) String() string { return t.folder + " " + t.name }

// list is every target below root that the pattern matches, folder by folder.
func list(root string, pattern *regexp.Regexp) ([]target, error) {
	declared := regexp.MustCompile(`(?m)^func (Fuzz[A-Za-z0-9_]+)\(`)
	var found []target
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path) //nolint:gosec // this tree, which is being worked on
		if err != nil {
			return err
		}
		for _, m := range declared.FindAllSubmatch(text, -1) {
			t := target{filepath.Dir(path), string(m[1]), path}
			if pattern.MatchString(t.String()) {
				found = append(found, t)
			}
		}
		return nil
	})
	return found, err
}
