package golang_test

import (
	"bytes"
	"errors"
	"go/build"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/golang"
)

// library is the go command's own reader of folders, on files in memory.
func library(platform string, files []imports.File) build.Context {
	tree := fstest.MapFS{}
	for _, f := range files {
		tree[f.Path] = &fstest.MapFile{Data: f.Text}
	}
	os, arch, _ := strings.Cut(platform, "/")
	inside := func(name string) string { return path.Clean(strings.TrimLeft(strings.TrimPrefix(name, "/tree"), "/")) }
	return build.Context{
		GOOS: os, GOARCH: arch, Compiler: "gc", CgoEnabled: true,
		ReleaseTags: build.Default.ReleaseTags, ToolTags: build.Default.ToolTags,
		JoinPath:      path.Join,
		SplitPathList: func(list string) []string { return strings.Split(list, ":") },
		IsAbsPath:     path.IsAbs,
		HasSubdir:     func(root, dir string) (string, bool) { return "", false },
		IsDir:         func(name string) bool { s, err := fs.Stat(tree, inside(name)); return err == nil && s.IsDir() },
		OpenFile: func(name string) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(tree[inside(name)].Data)), nil
		},
		ReadDir: func(name string) (all []fs.FileInfo, err error) {
			entries, err := tree.ReadDir(inside(name))
			for _, e := range entries {
				info, _ := e.Info()
				all = append(all, info)
			}
			return all, err
		},
	}
}

// model is what the law says, by going round until nothing is added.
type model struct {
	packages map[string]*build.Package // by folder
	modules  map[string]string         // paths by folder
	replaced map[string]string         // folders by path, in the module at the root
}

func (m model) moduleOf(folder string) string {
	for ; m.modules[folder] == ""; folder = path.Dir(folder) {
	}
	return folder
}

func (m model) aside(folder string) bool {
	return slices.ContainsFunc(strings.Split(folder, "/"), func(part string) bool {
		return part == "testdata" || part[0] == '_' || part[0] == '.' && part != "."
	})
}

// own is the folder of a package that another one imports.
func (m model) own(from, name string) (string, bool) {
	for folder := range m.packages {
		module := m.moduleOf(folder)
		rest := strings.TrimPrefix(strings.TrimPrefix(folder, module), "/")
		if folder == "." || module == "." && folder != "." {
			rest = folder
		}
		if path.Join(m.modules[module], rest) == name && !m.aside(module) {
			return folder, true
		}
		for replaced, to := range m.replaced {
			if rest, ok := strings.CutPrefix(name, replaced); ok && m.moduleOf(from) == "." && path.Join(to, rest) == folder {
				return folder, true
			}
		}
	}
	return "", false
}

// found is each name that is asked for, and whether by tests alone.
func (m model) found() map[string]bool {
	found, reached := map[string]bool{}, map[string]bool{} // for tests
	add := func(to map[string]bool, name string, test bool) (changed bool) {
		was, ok := to[name]
		to[name] = test && (was || !ok)
		return !ok || was != to[name]
	}
	for folder := range m.packages {
		if !m.aside(folder) {
			reached[folder] = false
		}
	}
	for changed := true; changed; {
		changed = false
		take := func(from string, names []string, test bool) {
			for _, name := range names {
				if name == "fmt" || name == "C" {
					continue
				}
				if folder, ok := m.own(from, name); ok {
					changed = add(reached, folder, test) || changed
				} else {
					changed = add(found, name, test) || changed
				}
			}
		}
		for folder, test := range reached {
			p := m.packages[folder]
			take(folder, p.Imports, test)
			if !m.aside(folder) {
				take(folder, p.TestImports, true)
				take(folder, p.XTestImports, true)
			}
		}
	}
	return found
}

func someTree(t *rapid.T) []imports.File {
	of := func(words ...string) *rapid.Generator[string] { return rapid.SampledFrom(words) }
	folders := of("", "a/", "a/b/", "a/testdata/", "testdata/t/", "_u/", ".v/", "n/", "n/c/", "n/_d/", "w/", "w/k/")
	names := of("x.go", "y.go", "y_linux.go", "y_windows.go", "y_arm64.go", "z_test.go", "z_linux_amd64_test.go", "_q.go", ".q.go", "windows.go")
	headers := of("", "", "", "//go:build linux\n\n", "//go:build !linux || ignore\n\n", "/* c */\n//go:build cgo && unix\n", "// +build windows\n\n", "// +build windows\n", "//go:build go1.27\n\n")
	packages := of("p", "p", "p", "p_test", "main", "documentation")
	asked := of("fmt", "C", "x.org/1", "x.org/2", "x.org/3", "time/foo", "m.org", "m.org/a", "m.org/a/b", "m.org/a/testdata", "m.org/testdata/t", "m.org/_u", "m.org/.v", "m.org/none",
		"m.org/n", "m.org/n/c", "n.org/c", "n.org/_d", "r.org", "r.org/k", "r.org/none", "r.orgs")
	all := map[string]string{"go.mod": "module m.org\nreplace r.org => ./w\n"}
	switch rapid.IntRange(0, 2).Draw(t, "nested") {
	case 1:
		all["n/go.mod"] = "module n.org\n"
	case 2:
		all["n/go.mod"] = "module m.org/n\n"
	}
	for range rapid.IntRange(0, 14).Draw(t, "files") {
		var text strings.Builder
		name := folders.Draw(t, "folder") + names.Draw(t, "name")
		text.WriteString(headers.Draw(t, "header") + "package " + packages.Draw(t, "package") + "\n")
		for range rapid.IntRange(0, 4).Draw(t, "imports") {
			if asked := asked.Draw(t, "asked"); asked != "C" || !strings.HasSuffix(name, "_test.go") {
				text.WriteString("import \"" + asked + "\"\n")
			}
		}
		all[name] = text.String()
	}
	var files []imports.File
	for name, text := range all {
		files = append(files, imports.File{Path: name, Text: []byte(text)})
	}
	return files
}

// The go command's own reader, and a closure that goes round until it stands,
// find the same.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		files := someTree(t)
		context := library("linux/amd64", files)
		m := model{map[string]*build.Package{}, map[string]string{".": "m.org"}, map[string]string{"r.org": "w"}}
		for _, f := range files {
			if f.Path == "n/go.mod" {
				m.modules["n"] = strings.TrimSpace(strings.TrimPrefix(string(f.Text), "module "))
			}
			if !strings.HasSuffix(f.Path, ".go") || strings.ContainsAny(path.Base(f.Path)[:1], "_.") {
				continue
			}
			p, err := context.ImportDir("/tree/"+path.Dir(f.Path), 0)
			if none, several := (*build.NoGoError)(nil), (*build.MultiplePackageError)(nil); err != nil && !errors.As(err, &none) && !errors.As(err, &several) {
				t.Fatal(err)
			}
			m.packages[path.Dir(f.Path)] = p
		}
		found := golang.Language{}.Read(imports.Input{Platform: "linux/amd64", Files: files})
		got := map[string]bool{}
		for _, i := range found.Imports {
			name := i.Name
			if rest, ok := strings.CutPrefix(i.Path, "w"); ok {
				name = "r.org" + rest
			}
			was, ok := got[name]
			got[name] = i.Test && (was || !ok)
		}
		want := m.found()
		for _, o := range found.Owns {
			delete(want, o.Name)
		}
		if d := cmp.Diff(want, got); d != "" || len(found.Faults) > 0 {
			t.Errorf("%v\n%s", found.Faults, d)
			for _, f := range files {
				t.Logf("-- %s --\n%s", f.Path, f.Text)
			}
		}
	})
}
