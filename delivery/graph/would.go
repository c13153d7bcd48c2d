package graph

import (
	"cmp"
	"slices"
)

// Change is what other code of one module would lead to.
type Change struct {
	Rebuilt        []Rebuild // in the order in which they are built
	Added, Removed []Edge    // of all modules, by name
	Open           []string  // the languages in which the module may ask for more than could be read
	Nobodys        []Edge    // what the module asks for in a language that is whole and nobody owns
}

// Rebuild is one module that would be built again.
type Rebuild struct {
	Module  string
	Moved   bool     // its own tree, or what is laid out for it: it is built in any case
	Against []string // those before it that it is built against; only if one of them comes out another, unless it has moved itself
	Problem string   // why it could not be built; empty where it could
}

// Would is what the change from one graph to another leads to, in which only
// this module's code is another. Tree says whether its tree is another too, so
// that whatever it makes may be.
func Would(was, is *Builds, module string, tree bool) Change {
	var c Change
	moved, gives := map[string]bool{}, map[string]bool{} // gives: what it gives to others may be another too
	laid := is.Laid(module)
	c.Open, c.Nobodys = laid.Open, laid.Nobodys
	touched := c.compare(was, is, module)
	for _, name := range is.Above(touched) { // what is laid out for those that lead there may be something else
		before, after := was.Laid(name), is.Laid(name)
		moved[name] = (before.Problem == "") != (after.Problem == "") || !alike(before.Layers, after.Layers)
		gives[name] = moved[name] && !alike(was.compiled(name), is.compiled(name))
	}
	if tree {
		moved[module], gives[module] = true, true
	}
	var roots []string
	for name, is := range moved {
		if is {
			roots = append(roots, name)
		}
	}
	names := is.Rebuilt(roots)
	circles := is.circles(names)
	for _, name := range names {
		r := Rebuild{Module: name, Moved: moved[name], Against: is.laidOf(name, gives)}
		if circles || is.coded[is.idOf(name)].torn {
			r.Problem = is.Laid(name).Problem
		}
		if r.Moved || len(r.Against) > 0 || r.Problem != "" {
			gives[name] = gives[name] || is.compiledAgainst(name, r.Against)
			c.Rebuilt = append(c.Rebuilt, r)
		}
	}
	return c
}

// circles reports whether any of these may lead to a circle: one walk for all of
// them, where there is none.
func (b *Builds) circles(modules []string) bool {
	var roots []int32
	for _, name := range modules {
		id := b.idOf(name)
		roots = append(append(roots, id), b.edges[id].tests...)
	}
	w := &walk{builds: b, next: func(m int32) []int32 { return b.edges[m].compile }}
	w.from(roots)
	return slices.ContainsFunc(w.parts, func(part []int32) bool { return len(part) > 1 })
}

// alike reports whether the same is laid out, in whatever order.
func alike(a, b []Layer) bool {
	sorted := func(layers []Layer) []Layer {
		return slices.SortedFunc(slices.Values(layers), func(a, b Layer) int {
			return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Language, b.Language), cmp.Compare(a.Name, b.Name))
		})
	}
	return slices.Equal(sorted(a), sorted(b))
}

// compiled is what is laid out for a module but for its tests.
func (b *Builds) compiled(module string) []Layer {
	id, there := b.id(module)
	if !there {
		return nil
	}
	var all []Layer
	for _, n := range b.coded[id].in {
		for m := range b.compiledIn(n, func(int32) bool { return true }) {
			all = append(all, Layer{Module: b.coded[m].code.Module, Language: b.languages[n.in].Name()})
		}
	}
	return all
}

// laidOf is those of a set that the code of a module asks for itself and that
// are laid out for it: what only tests ask for and closes a circle is not.
func (b *Builds) laidOf(module string, set map[string]bool) []string {
	is := &b.edges[b.idOf(module)]
	var out []string
	for _, to := range is.compile {
		if name := b.coded[to].code.Module; set[name] {
			out = append(out, name)
		}
	}
	if len(is.tests) == 0 {
		return out
	}
	laid := b.Laid(module)
	for _, to := range is.tests {
		name := b.coded[to].code.Module
		if set[name] && slices.ContainsFunc(laid.Layers, func(l Layer) bool { return l.Module == name }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// compiledAgainst reports whether more than a module's tests asks for one of these.
func (b *Builds) compiledAgainst(module string, names []string) bool {
	return slices.ContainsFunc(b.edges[b.idOf(module)].compile, func(to int32) bool { return slices.Contains(names, b.coded[to].code.Module) })
}

// compare finds the edges that come and go, and the modules that they are of:
// this one alone, where it owns what it did.
func (c *Change) compare(was, is *Builds, module string) (touched []string) {
	names := []string{module}
	if !ownsAlike(was.codeOf(module), is.codeOf(module)) {
		names = is.namesOf(is.order)
	}
	for _, name := range names {
		before, after := was.Edges(name), is.Edges(name)
		added, removed := missing(after, before), missing(before, after)
		c.Added, c.Removed = append(c.Added, added...), append(c.Removed, removed...)
		if len(added)+len(removed) > 0 || !slices.Equal(was.Against(name), is.Against(name)) {
			touched = append(touched, name)
		}
	}
	for _, edges := range [][]Edge{c.Added, c.Removed} {
		slices.SortFunc(edges, Edge.compare)
	}
	return touched
}

func (b *Builds) codeOf(module string) Code {
	if id, there := b.id(module); there {
		return b.coded[id].code
	}
	return Code{}
}

// missing is those of the edges that others do not have, wherever they are said.
func missing(edges, others []Edge) []Edge {
	type key struct {
		to, language, name string
		test               bool
	}
	of := func(e Edge) key { return key{e.To, e.Language, e.Name, e.Test} }
	has := make(map[key]bool, len(others))
	for _, e := range others {
		has[of(e)] = true
	}
	var out []Edge
	for _, e := range edges {
		if !has[of(e)] {
			out = append(out, e)
		}
	}
	return out
}

func (e Edge) compare(o Edge) int {
	return cmp.Or(cmp.Compare(e.From, o.From), cmp.Compare(e.To, o.To), cmp.Compare(e.Language, o.Language), cmp.Compare(e.Name, o.Name))
}
