package golang_test

import (
	"bytes"
	"errors"
	"go/build"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/golang"
)

// FuzzRead: whatever the tree, what is found is in its one order, and each place
// is in a file that was given.
func FuzzRead(f *testing.F) {
	seeds := []string{
		"", "-- a.go --\n", "-- go.mod --\nmodule m.org\nreplace (\n\tr.org => ./testdata/r\n)\nignore ./x\n-- a.go --\npackage a\nimport \"r.org/x\"\nimport \"m.org/b\"\n-- testdata/r/x/x.go --\npackage x\nimport \"./y\"\n",
		"-- f/go.mod --\nmodule m.org\n-- go.mod --\nmodule \"x\"\nmodule y\n-- go.work --\nuse ./f\nreplace m.org => ./f\n-- f/a_test.go --\n//go:build linux\n\npackage a\nimport \"C\"\n",
		"-- f/a.go --\npackage a\n//line x:9\nimport \"../../..\"\nimport \"/\"\nimport \"\xff\"\n-- f/a.go --\npackage b\n", "-- f/f/../go.mod --\nmodule (\n-- /f/.go --\n-- f// --\n", "-- f/go.mod --\nmodule .\nreplace . => .\n-- f/x.go --\npackage x\nimport `.`\nimport `a`\n",
		"-- " + strings.Repeat("f/", 300) + "a.go --\npackage a\n", "-- f/a.go --\npackage a\nimport \"" + strings.Repeat("a/", 3000) + "\"\n",
	}
	if len(seeds) != 9 {
		f.Fatalf("%d seeds", len(seeds))
	}
	for _, s := range seeds {
		f.Add("", s)
		f.Add("f", s)
	}
	f.Fuzz(func(t *testing.T, folder, tree string) {
		in := imports.Input{Platform: "linux/amd64", Folder: folder, Files: files(tree)}
		found := golang.Language{}.Read(in)
		if d := cmp.Diff(found, found.Sorted(func(name string) []string { return []string{name} })); d != "" {
			t.Errorf("is not sorted: %s", d)
		}
		slices.Reverse(in.Files)
		if d := cmp.Diff(found, golang.Language{}.Read(in)); d != "" {
			t.Errorf("is another in another order: %s", d)
		}
		lines := map[string]int{}
		for _, file := range in.Files {
			lines[file.Path] = max(lines[file.Path], 1+bytes.Count(file.Text, []byte("\n")))
		}
		within := func(at imports.Place, least int) {
			if last, ok := lines[at.File]; !ok || at.Line < least || at.Line > last {
				t.Errorf("%s is no place", at)
			}
		}
		for _, o := range found.Owns {
			within(o.At, 1)
		}
		for _, i := range found.Imports {
			within(i.At, 1)
			if (i.Name == "") == (i.Path == "") || i.Path == ".." || strings.HasPrefix(i.Path, "../") || i.Path != "" && path.Clean(i.Path) != i.Path {
				t.Errorf("%+v is no import", i)
			}
		}
		for _, x := range found.Faults {
			if within(x.At, 0); x.Why == "" {
				t.Errorf("%s: no reason", x.At)
			}
		}
	})
}

// FuzzSource: a file that Go's own reader and parser take is read without a
// fault, and has the imports that they find.
func FuzzSource(f *testing.F) {
	seeds := []string{
		"package a\nimport \"x.org\"\n", "//go:build linux\n\npackage a\nimport `x.org/a`\n", "// +build windows\n\npackage a\nimport \"x.org\"\n", "/*\n//go:build windows\n*/\npackage a\nimport (\"a/b\"; . \"c/d\")\n",
		"\ufeffpackage a;import _ \"x\"\nfunc f() {}\n", "package a\n/* */ import \"x\" //line a:1\n", "//go:build a\n//go:build b\n\npackage a\n", "package documentation\nimport \"x.org\"\n\xff", "/**/\n\n//+build ignore\n\npackage a\nimport \"C\"\n",
	}
	if len(seeds) != 9 {
		f.Fatalf("%d seeds", len(seeds))
	}
	for _, s := range seeds {
		f.Add(s)
	}
	standard := golang.Standard()
	f.Fuzz(func(t *testing.T, text string) {
		in := imports.Input{Platform: "linux/amd64", Files: []imports.File{{Path: "a.go", Text: []byte(text)}}}
		context := library(in.Platform, in.Files)
		p, err := context.ImportDir("/tree", 0)
		if none := (*build.NoGoError)(nil); err != nil && !errors.As(err, &none) {
			return
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", text, 0); err != nil && len(p.GoFiles)+len(p.CgoFiles) > 0 {
			return
		}
		var want []string
		for _, name := range p.Imports {
			switch {
			case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") || path.Clean(name) != name || len(name) > 4096:
				return // the go command refuses it later
			case name != "C" && !slices.Contains(standard, name):
				want = append(want, name)
			}
		}
		found := golang.Language{}.Read(in)
		var got []string
		for _, i := range found.Imports {
			got = append(got, i.Name)
		}
		if d := cmp.Diff(want, got); d != "" || len(found.Faults) > 0 {
			t.Errorf("%v\n%s", found.Faults, d)
		}
	})
}
