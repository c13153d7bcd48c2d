package python

import (
	"path"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// ask adds what one file asks for that neither the language nor the module provides.
func (r *reader) ask(file string) {
	c, read := r.codes[file]
	if !read {
		return
	}
	var bases []string
	test := r.test(file)
	for _, a := range c.asks {
		at := imports.Place{File: file, Line: a.line}
		if a.dots > 0 {
			if to, out := r.outside(file, a); out {
				r.found.Imports = append(r.found.Imports, imports.Import{Path: to, Test: test, At: at})
			}
			continue
		}
		top, _, _ := strings.Cut(a.name, ".")
		if r.stdlib[top] {
			continue
		}
		if bases == nil {
			bases = r.bases(file, test)
		}
		if !slices.ContainsFunc(bases, func(dir string) bool { return r.tree.provides(dir, a.name) }) {
			r.found.Imports = append(r.found.Imports, imports.Import{Name: a.name, Test: test, At: at})
		}
	}
}

// outside is the path that a relative import reaches, where that is outside of the module's folder.
func (r *reader) outside(file string, a ask) (to string, out bool) {
	dir := parent(file)
	for range a.dots - 1 {
		if dir == "" {
			return "", false
		}
		dir = parent(dir)
	}
	to = join(dir, strings.ReplaceAll(a.name, ".", "/"))
	return to, to != "" && !inside(to, r.in.Folder) && !inside(r.in.Folder, to)
}

// bases is the folders in which a file's imports may find what is the module's own,
// though it is given to nobody: the module's folder and the project's, where
// programs are started; the roots of the project; and for what is no part of a
// package that is given, the folder that a script or a test is started from.
func (r *reader) bases(file string, test bool) []string {
	folder := r.in.Folder
	bases := []string{folder}
	given := false
	for dir := parent(file); inside(dir, folder); dir = parent(dir) {
		_, is := r.owner.packages[dir]
		given = given || is
		if s := r.owner.projects[dir]; s != nil || dir == folder {
			bases = append(bases, dir)
			bases = append(bases, r.owner.roots[dir]...)
			for _, p := range r.pythonpath(dir) {
				bases = append(bases, join(dir, path.Clean("/" + p)[1:]))
			}
			break
		}
		if dir == "" {
			break
		}
	}
	if !given {
		bases = append(bases, r.tree.base(parent(file)))
	}
	if test {
		bases = append(bases, r.conftests(file)...)
	}
	slices.Sort(bases)
	return slices.Compact(bases)
}

// conftests is the folders that pytest puts on the path for the sake of conftest.py.
func (r *reader) conftests(file string) []string {
	var bases []string
	for dir := parent(file); inside(dir, r.in.Folder); dir = parent(dir) {
		if r.tree.files[join(dir, "conftest.py")] {
			bases = append(bases, r.tree.base(dir))
		}
		if dir == "" {
			break
		}
	}
	return bases
}

// pythonpath is what the project in a folder adds to the path of its tests.
func (r *reader) pythonpath(dir string) []string {
	if s := r.projects[dir]; s != nil {
		return s.paths
	}
	return nil
}

// test reports whether a file is there for tests alone. A package that is given to
// others under a test's name, as opentelemetry.test is, is there for all.
func (r *reader) test(file string) bool {
	dir := parent(file)
	for at := dir; ; at = parent(at) {
		name, is := r.owner.packages[at]
		if is {
			within := strings.Split(strings.TrimPrefix(dir[len(at):], "/"), "/")
			if slices.ContainsFunc(strings.Split(name, "."), testFolder) {
				return slices.ContainsFunc(within, testFolder)
			}
			return testFile(moduleName(file)) || slices.ContainsFunc(within, testFolder)
		}
		if at == "" {
			break
		}
	}
	within := strings.Split(strings.TrimPrefix(strings.TrimPrefix(dir, r.in.Folder), "/"), "/")
	return testFile(moduleName(file)) || slices.ContainsFunc(within, testFolder)
}

func moduleName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path.Base(file), ".pyi"), ".py")
}

// testFile reports whether a module with this name is there for tests by convention.
func testFile(name string) bool {
	return name == "conftest" || name == "tests" || strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test")
}

func testFolder(name string) bool { return name == "tests" || name == "test" }
