package rust

import (
	"path"
	"strings"

	"noxmesh/delivery/imports"
)

// module is a module of a crate.
type module struct {
	root, parent *module
	children     map[string]*module
	scope        *scope
	inFile       string
	dir          string          // where the files of its modules lie
	inline       bool            // it stands in the file of another
	aliases      map[string]bool // of a root: what extern crate … as … gives a name
}

// scope is where names hold: a module, or a block in it.
type scope struct {
	module *module
	outer  *scope              // of a block
	names  map[string][]string // with the path of what is imported, if it is one of the crate
	globs  [][]string          // paths of use …::*
}

func (s *scope) declare(name string) {
	if s.names == nil {
		s.names = map[string][]string{}
	}
	s.names[name] = nil
}

// alias declares a name for what stands at a path of the crate.
func (s *scope) alias(name string, path []string) {
	if _, ok := s.names[name]; !ok {
		s.declare(name)
		s.names[name] = path
	}
}

// visit is a file, read for one use and for tests alone or not: once is enough.
type visit struct {
	file  string
	use   use
	tests bool
}

// pending is a file that is still to be read, into a scope.
type pending struct {
	c     *crate
	use   use
	file  string
	scope *scope
	state state
}

// load has a file read, unless it was already.
func (r *reader) load(p pending) {
	key := visit{p.file, p.use, p.state.tests}
	if r.seen[key] == nil {
		r.seen[key] = p.scope.module
		r.pending = append(r.pending, p)
	}
}

// child is the module of a name in m, new unless there is one: under two
// conditions there may be two of one name.
func (m *module) child(name, file, dir string, inline bool) *module {
	if m.children == nil {
		m.children = map[string]*module{}
	}
	c := &module{root: m.root, parent: m, inFile: file, dir: dir, inline: inline}
	c.scope = &scope{module: c}
	if _, ok := m.children[name]; !ok {
		m.children[name] = c
	}
	return c
}

// module reads mod name; or mod name { … }, of which mod is at i.
func (w *walker) module(i, j int, s *scope, st state, a attributes) int {
	name, m := w.tokens[i+1].text, s.module
	s.declare(name)
	base := m.dir
	if !m.inline {
		base = dirOf(w.file)
	}
	if i+2 < j && w.tokens[i+2].kind == opens {
		dir := path.Join(m.dir, name)
		if len(a.paths) > 0 {
			dir = path.Join(base, a.paths[0])
		}
		st.depth++
		w.walk(i+3, w.tokens[i+2].mate, m.child(name, w.file, dir, true).scope, st)
		return w.tokens[i+2].mate + 1
	}
	found := false
	from := origin{name: name, line: w.tokens[i].line}
	for _, file := range a.paths {
		from.file = path.Join(base, file)
		from.dir = dirOf(from.file)
		found = w.submodule(from, m, st) || found
	}
	for _, file := range []string{path.Join(m.dir, name+".rs"), path.Join(m.dir, name, "mod.rs")} {
		if !found && w.has(file) {
			from.file, from.dir = file, path.Join(m.dir, name)
			found = w.submodule(from, m, st)
		}
	}
	if !found && !st.maybe && len(a.paths) == 0 {
		w.fault(w.file, w.tokens[i].line, "mod "+name+" has no file: there is neither "+
			path.Join(m.dir, name+".rs")+" nor "+path.Join(m.dir, name, "mod.rs"))
	}
	return i + 2
}

// origin is where a module comes from: its file, where that one's modules lie, and
// the line that names it.
type origin struct {
	name, file, dir string
	line            int
}

// submodule has the file of a module read; false where there is none.
func (w *walker) submodule(from origin, m *module, st state) bool {
	name, file := from.name, from.file
	if !w.has(file) {
		return w.outside(file, from.line, st.tests)
	}
	key := visit{file, w.use, st.tests}
	if known := w.seen[key]; known != nil {
		if m.children == nil {
			m.children = map[string]*module{}
		}
		if m.children[name] == nil {
			m.children[name] = known
		}
		return true
	}
	w.load(pending{c: w.c, use: w.use, file: file, scope: m.child(name, file, from.dir, false).scope, state: state{tests: st.tests, maybe: st.maybe}})
	return true
}

// outside asks for a file that is not the module's, and reports whether it is one.
func (w *walker) outside(file string, line int, tests bool) bool {
	if inside(file, w.in.Folder) || strings.HasPrefix(file, "../") || strings.HasPrefix(file, "/") {
		return false
	}
	w.found.Imports = append(w.found.Imports, imports.Import{Path: file, Test: tests, At: imports.Place{File: w.file, Line: line}})
	return true
}
