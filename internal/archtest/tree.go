package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// File is one Go file of the tree.
type File struct {
	Path    string // from the root, with slashes
	Test    bool
	Lines   int
	Imports []Import
	Syntax  *ast.File
}

// Import is one import of a file.
type Import struct {
	Path string
	Line int
}

// Package is one folder with Go files.
type Package struct {
	Path  string // from the root; "." for the root
	Name  string
	Files []File
}

// Tree is all Go files below a root that belong to its module.
type Tree struct {
	Root     string
	Module   string
	Requires []string // module paths that go.mod requires
	Packages map[string]*Package
	Tests    map[string]bool // names of test functions
	Set      *token.FileSet

	reach map[string]bool // of the programs
}

// Read reads the tree below root.
func Read(root string) (*Tree, error) {
	t := &Tree{Root: root, Packages: map[string]*Package{}, Tests: map[string]bool{}, Set: token.NewFileSet()}
	if err := t.readModule(); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return t.enter(path)
		case strings.HasSuffix(path, ".go"):
			return t.readFile(path)
		}
		return nil
	})
	return t, err
}

// enter skips what is no part of the module: hidden folders, test data, and
// folders with a go.mod of their own.
func (t *Tree) enter(path string) error {
	name := filepath.Base(path)
	if path == t.Root {
		return nil
	}
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func (t *Tree) readModule() error {
	text, err := os.ReadFile(filepath.Join(t.Root, "go.mod"))
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		switch {
		case len(fields) == 2 && fields[0] == "module":
			t.Module = fields[1]
		case len(fields) >= 2 && strings.HasPrefix(fields[1], "v"):
			t.Requires = append(t.Requires, fields[0])
		}
	}
	if t.Module == "" {
		return fmt.Errorf("%s/go.mod: no module line", t.Root)
	}
	return nil
}

func (t *Tree) readFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	relative, err := filepath.Rel(t.Root, path)
	if err != nil {
		return err
	}
	relative = filepath.ToSlash(relative)
	syntax, err := parser.ParseFile(t.Set, relative, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := File{Path: relative, Test: strings.HasSuffix(path, "_test.go"), Lines: strings.Count(string(text), "\n"), Syntax: syntax}
	for _, spec := range syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		f.Imports = append(f.Imports, Import{Path: name, Line: t.Set.Position(spec.Pos()).Line})
	}
	t.add(f)
	return nil
}

func (t *Tree) add(f File) {
	folder := filepath.ToSlash(filepath.Dir(f.Path))
	p := t.Packages[folder]
	if p == nil {
		p = &Package{Path: folder}
		t.Packages[folder] = p
	}
	if !f.Test {
		p.Name = f.Syntax.Name.Name
	}
	p.Files = append(p.Files, f)
	for _, d := range f.Syntax.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && f.Test && fn.Recv == nil {
			t.Tests[fn.Name.Name] = true
		}
	}
}

// ours is the path of an imported package of this module, from the root.
func (t *Tree) ours(path string) (string, bool) {
	if path == t.Module {
		return ".", true
	}
	return strings.CutPrefix(path, t.Module+"/")
}

// module is the required module that a third-party package belongs to.
func (t *Tree) module(path string) (string, bool) {
	longest := ""
	for _, m := range t.Requires {
		if (path == m || strings.HasPrefix(path, m+"/")) && len(m) > len(longest) {
			longest = m
		}
	}
	return longest, longest != ""
}
