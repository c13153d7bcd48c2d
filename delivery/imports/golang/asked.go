package golang

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"noxmesh/delivery/imports"
)

// own is the paths of the Go modules in the folder, and where its top is none
// but stands in one and has code, the path that its packages begin with.
func (r *reading) own() {
	for _, m := range r.inside {
		r.found.Owns = append(r.found.Owns, imports.Own{Name: m.path, At: imports.Place{File: m.file, Line: m.line}})
	}
	m, rest, ok := r.modules.longest(r.folder)
	if !ok || rest == "" || m.path == "" {
		return
	}
	for _, f := range r.folders {
		if f.module == m && !f.aside {
			name := m.path + "/" + rest
			r.found.Owns = append(r.found.Owns, imports.Own{Name: name, At: imports.Place{File: m.file, Line: m.line}})
			return
		}
	}
}

// readAll reads what ./... names, and then what that imports of what stands
// aside: what code asks for first, so that the rest is known to be for tests.
func (r *reading) readAll() {
	for _, f := range r.folders {
		if f.aside {
			continue
		}
		for _, file := range f.files {
			r.read(f, file, isTest(file))
		}
	}
	for test := range r.pending {
		for len(r.pending[test]) > 0 {
			last := len(r.pending[test]) - 1
			f := r.pending[test][last]
			r.pending[test] = r.pending[test][:last]
			r.readAside(f, test == 1)
		}
	}
}

// readAside reads a folder that is imported, once, and not its own tests.
func (r *reading) readAside(f *folder, test bool) {
	if f.read {
		return
	}
	f.read = true
	r.blame(f.module)
	for _, file := range f.files {
		if !isTest(file) {
			r.read(f, file, test)
		}
	}
}

func isTest(f imports.File) bool { return strings.HasSuffix(f.Path, "_test.go") }

// read reads one file, where it is compiled.
func (r *reading) read(from *folder, file imports.File, test bool) {
	file, cut := opening(file)
	ok, line, why := r.platform.compiled(file.Text)
	if why != "" {
		r.fault(file.Path, line, why)
	}
	if !ok {
		return
	}
	s, line, why := parseSource(file.Text)
	// A package of that name is what a command's documentation was once written
	// in: the go command leaves it out.
	if s.name == "documentation" {
		return
	}
	if at, no := unread(file); no != "" {
		line, why = at, no
	}
	if cut && !begun(file.Text, s.end) {
		line, why = 0, fmt.Sprintf("is larger than %d MiB, and its imports do not end before that: move them up, or split it", imports.FileLimit>>20)
	}
	if why != "" {
		r.fault(file.Path, line, why)
	}
	for _, asked := range s.imports {
		r.ask(from, asked.text, test, imports.Place{File: file.Path, Line: asked.line})
	}
}

// ask takes one import.
func (r *reading) ask(from *folder, name string, test bool, at imports.Place) {
	switch {
	case relative(name):
		r.askRelative(from, name, test, at)
	case standard(name):
	default:
		asked := r.provider(from.module, name)
		if asked.own != nil {
			r.reach(asked.own, test)
			return
		}
		r.found.Imports = append(r.found.Imports, imports.Import{Name: asked.name, Path: asked.path, Test: test, At: at})
	}
}

// askRelative takes an import of a folder beside the importing one: code in no
// Go module may have such, and code in one may not.
func (r *reading) askRelative(from *folder, name string, test bool, at imports.Place) {
	to := path.Join(from.path, name)
	outside := to == ".." || strings.HasPrefix(to, "../")
	if to == "." {
		to = ""
	}
	switch _, in := below(to, r.folder); {
	case from.module != nil && from.module.path != "":
		why := "imports " + name + ", which code in a Go module may not"
		if rest, ok := below(to, from.module.folder); ok && !outside {
			why += ": write " + path.Join(from.module.path, rest)
		}
		r.fault(at.File, at.Line, why)
	case outside:
		r.fault(at.File, at.Line, "imports "+name+", which is outside of the repository")
	case r.folders[to] != nil:
		r.reach(r.folders[to], test)
	case !in:
		r.found.Imports = append(r.found.Imports, imports.Import{Path: cmp.Or(to, "."), Test: test, At: at})
	}
}

// reach has a folder read that ./... does not name.
func (r *reading) reach(f *folder, test bool) {
	switch {
	case !f.aside || f.read:
	case test:
		r.pending[1] = append(r.pending[1], f)
	default:
		r.pending[0] = append(r.pending[0], f)
	}
}

// answer is who provides a package: a folder of the module's own, one elsewhere
// in the repository, or whoever owns its name.
type answer struct {
	own        *folder
	name, path string
}

// provider is who provides a package to the code of a Go module.
func (r *reading) provider(m *module, name string) answer {
	if of, rest, ok := r.named.longest(name); ok {
		if f := r.folders[path.Join(of.folder, rest)]; f != nil && f.module == of {
			return answer{own: f}
		}
	}
	if m == nil {
		return answer{name: name}
	}
	by, rest, ok := m.provides.longest(name)
	if !ok || !by.local {
		return answer{name: name}
	}
	to := path.Join(by.folder, rest)
	of, _, _ := r.modules.longest(by.folder)
	if f := r.folders[to]; f != nil && f.module == of {
		return answer{own: f}
	}
	// What is missing in its own folder is another module's that stands in it, or nobody's.
	if _, in := below(to, r.folder); in && by.folder == m.folder {
		return answer{name: name}
	}
	return answer{path: cmp.Or(to, ".")}
}
