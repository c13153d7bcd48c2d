package rust

import (
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// how a name is written.
type how int

const (
	relative how = iota // name::…
	global              // ::name::…
	imported            // use name…
	external            // extern crate name
)

// mention is a name in code that may be a crate's.
type mention struct {
	name  string
	how   how
	use   use
	tests bool
	scope *scope
	at    imports.Place
}

func (w *walker) mention(i int, h how, s *scope, st state) {
	name := w.tokens[i].text
	if w.tokens[i].kind == ident && slices.Contains([]string{"crate", "self", "super", "Self"}, name) {
		return
	}
	w.reader.mentions = append(w.reader.mentions, mention{name, h, w.use, st.tests, s, imports.Place{File: w.file, Line: w.tokens[i].line}})
}

// useItem reads use …; of which the tree begins at i.
func (w *walker) useItem(i, j int, s *scope, st state) int {
	end := i
	for end < j && !w.is(end, j, ";") {
		if w.tokens[end].kind == opens {
			end = w.tokens[end].mate
		}
		end++
	}
	h := imported
	if w.is(i, end, "::") {
		h, i = global, i+1
	}
	w.tree(i, end, tree{how: h}, s, st)
	return end
}

// tree is what stands before a part of a use.
type tree struct {
	path []string
	how  how
}

// tree reads a path, and what stands in braces behind it.
func (w *walker) tree(i, j int, t tree, s *scope, st state) {
	if st.depth += heavy; st.depth > maxDepth {
		return
	}
	for i < j && len(t.path) < maxPath {
		switch {
		case w.is(i, j, "{"):
			w.branches(i+1, w.tokens[i].mate, t, s, st)
			return
		case w.is(i, j, "*"):
			if len(s.globs) < maxPath {
				s.globs = append(s.globs, t.path)
			}
			return
		case w.is(i, j, "::"):
			i++
			continue
		case w.is(i, j, "$"):
			i++
			t.path = append(slices.Clip(t.path), "crate")
		case !w.isName(i, j):
			return
		default:
			if len(t.path) == 0 {
				w.mention(i, t.how, s, st)
			}
			t.path = append(slices.Clip(t.path), w.tokens[i].text)
		}
		if i++; !w.is(i, j, "::") {
			w.bind(i, j, t.path, s)
			return
		}
	}
}

// branches is what stands in the braces of a use.
func (w *walker) branches(i, j int, t tree, s *scope, st state) {
	for _, part := range commas(w.tokens[i:j]) {
		w.tree(i, i+len(part), t, s, st)
		i += len(part) + 1
	}
}

// bind gives a name what was imported, unless that is a crate by its own name.
func (w *walker) bind(i, j int, path []string, s *scope) {
	if last := len(path) - 1; last > 0 && path[last] == "self" {
		path = path[:last]
	}
	name := path[len(path)-1]
	if w.is(i, j, "as") && w.isName(i+1, j) {
		name = w.tokens[i+1].text
	}
	// use quote::quote imports what is no module: it would stand in its own way.
	if name == "_" || name == path[0] {
		return
	}
	if local(path[0]) {
		s.alias(name, path)
		return
	}
	s.declare(name)
}

// externCrate reads extern crate name as other; of which the name is at i.
func (w *walker) externCrate(i, j int, s *scope, st state) int {
	name := w.tokens[i].text
	w.mention(i, external, s, st)
	if w.is(i+1, j, "as") && w.isName(i+2, j) {
		if as := w.tokens[i+2].text; as != name && as != "_" {
			s.declare(as)
			if s == s.module.root.scope {
				s.module.root.aliases[as] = true
			}
		}
		return i + 3
	}
	return i + 1
}

// resolve says which packages are meant by the names in the code of a package.
func (r *reader) resolve(c *crate) {
	used := map[string]bool{}
	var open []mention
	for _, m := range r.mentions {
		d, tests, ok := c.named(m.use, m.name)
		switch {
		case !ok && m.how != relative:
			open = append(open, m)
		case ok && !r.shadowed(c, m):
			used[m.name] = true
			r.found.Imports = append(r.found.Imports, imports.Import{Name: d.pack, Test: tests || m.tests, At: m.at})
		}
	}
	unseen := [3]bool{c.unseen(used, normal, develop), c.unseen(used, normal, develop), c.unseen(used, build)}
	// A package may call its library what it likes, and its manifest is not here:
	// where one is listed whose name is never seen, a name that is listed nowhere
	// may be what it calls it.
	for _, m := range open {
		if !unseen[m.use] || standard(m.name) || r.shadowed(c, m) {
			continue
		}
		if m.how == imported && (strings.ToLower(m.name) != m.name || m.scope.open()) {
			continue
		}
		r.found.Imports = append(r.found.Imports, imports.Import{Name: m.name, Test: m.tests, At: m.at})
	}
}

// unseen reports whether a package is listed whose name is not seen in the code.
func (c *crate) unseen(used map[string]bool, of ...use) bool {
	for _, use := range of {
		for name, d := range c.names[use] {
			if !d.fixed && !used[name] {
				return true
			}
		}
	}
	return false
}

// standard reports whether a crate belongs to the language.
func standard(name string) bool {
	return slices.Contains([]string{"std", "core", "alloc", "proc_macro", "test", "crate", "self", "super"}, name)
}

// shadowed reports whether a name means something else where it is mentioned.
func (r *reader) shadowed(c *crate, m mention) bool {
	root := m.scope.module.root
	switch {
	case m.how == external:
		return false
	case root.aliases[m.name]:
		return true
	case c.edition == "2015" && m.how != relative:
		return root.scope.declares(m.name, map[*module]bool{})
	case m.how == global:
		return false
	}
	for s := m.scope; s != nil; s = s.outer {
		if s.declares(m.name, map[*module]bool{}) {
			return true
		}
	}
	return false
}

// maxLooked is how many modules are looked into for one name that all of them may import.
const maxLooked = 64

// declares reports whether a name is declared in a scope, or in a module of the
// crate all of which is imported there.
func (s *scope) declares(name string, looked map[*module]bool) bool {
	if path, ok := s.names[name]; ok && !s.module.isValue(path, looked) {
		return true
	}
	for _, glob := range s.globs {
		m := s.module.find(glob)
		if m == nil || looked[m] || len(looked) > maxLooked {
			continue
		}
		looked[m] = true
		if m.scope.declares(name, looked) {
			return true
		}
	}
	return false
}

// isValue reports whether what was imported from a module of this crate is none of
// its types and modules: then it is a function or a macro, and in no path's way.
func (m *module) isValue(path []string, looked map[*module]bool) bool {
	last := len(path) - 1
	if last < 1 {
		return false
	}
	from := m.find(path[:last])
	if from == nil || looked[from] || len(looked) > maxLooked {
		return false
	}
	looked[from] = true
	return !from.scope.declares(path[last], looked) && !from.scope.open()
}

// local reports whether a path that begins with a name is one of this crate.
func local(name string) bool {
	return name == "crate" || name == "self" || name == "super"
}

// open reports whether names may come into a scope from where they cannot be seen.
func (s *scope) open() bool {
	for ; s != nil; s = s.outer {
		for _, glob := range s.globs {
			if s.module.find(glob) == nil {
				return true
			}
		}
	}
	return false
}

// find is the module at a path, or nil where that is not one of this crate.
func (m *module) find(path []string) *module {
	for n, name := range path {
		switch {
		case name == "crate":
			m = m.root
		case name == "super":
			m = m.parent
		case name != "self" || n > 0:
			m = m.children[name]
		}
		if m == nil {
			return nil
		}
	}
	return m
}
