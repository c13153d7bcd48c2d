package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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
		names, err := declared(path)
		for _, name := range names {
			if t := (target{filepath.Dir(path), name, path}); pattern.MatchString(t.String()) {
				found = append(found, t)
			}
		}
		return err
	})
	return found, err
}

// declared is the fuzz functions of a file.
func declared(path string) (names []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}
