package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Module is what the graph needs to know of one.
type Module struct {
	Name     string
	Provides []string // good for the node that it is on
	Offers   []string // good for the whole mesh; its own name may be one of them
	Requires []string
	Here     bool // it is declared in the place that is asked about
}

// Problem is why a module cannot be worked out.
type Problem struct {
	Module string
	Why    string
}

// Graph answers questions about a set of modules. It does not change.
type Graph struct {
	modules   []Module         // by name
	index     map[string]int   // of a module by its name
	providers map[string][]int // of a name on a node, by the name of the module
	offerers  map[string][]int // of a name for the whole mesh, likewise
	there     map[string]bool  // the names for which one of those stands on some node
}

// New is the graph of these modules. Of two with one name the last counts. There
// is every name that something provides for the whole mesh which is declared on
// some node.
func New(modules []Module, there []string) *Graph {
	g := &Graph{
		index: make(map[string]int, len(modules)), providers: make(map[string][]int, len(modules)),
		offerers: map[string][]int{}, there: make(map[string]bool, len(there)),
	}
	for _, name := range there {
		g.there[name] = true
	}
	last := make(map[string]Module, len(modules))
	for _, m := range modules {
		last[m.Name] = m
	}
	g.modules = make([]Module, 0, len(last))
	for _, m := range last {
		g.modules = append(g.modules, m)
	}
	slices.SortFunc(g.modules, func(a, b Module) int { return cmp.Compare(a.Name, b.Name) })
	for i, m := range g.modules {
		g.index[m.Name] = i
		if !slices.Contains(m.Offers, m.Name) {
			provide(g.providers, m.Name, i)
		}
		for _, name := range m.Provides {
			provide(g.providers, name, i)
		}
		for _, name := range m.Offers {
			provide(g.offerers, name, i)
		}
	}
	for name, all := range g.providers {
		if here := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return !g.modules[i].Here }); len(here) > 0 {
			g.providers[name] = here
		}
	}
	return g
}

// provide adds a provider once; they come in the order of their names.
func provide(providers map[string][]int, name string, module int) {
	if p := providers[name]; len(p) == 0 || p[len(p)-1] != module {
		providers[name] = append(p, module)
	}
}

// met is what meets a requirement on this node: the one module that has to be
// here, none where the mesh has the thing, or why it is not met. Those declared
// here come first, then what the mesh has, then what only could be.
func (g *Graph) met(name string) (needs []int, why string) {
	here, offered := g.providers[name], g.offerers[name]
	declared := len(here) > 0 && g.modules[here[0]].Here
	switch {
	case declared && len(here) == 1:
		return here, ""
	case !declared && g.there[name]:
		return nil, ""
	case len(here)+len(offered) == 0:
		return nil, fmt.Sprintf("requires %q, and no module provides it", name)
	case len(here) == 0:
		return nil, fmt.Sprintf("requires %q of the mesh, and it is declared on no node: %s", name, g.provide(offered, ""))
	case len(here) == 1 && len(offered) == 0:
		return here, ""
	case declared || len(offered) == 0:
		return nil, fmt.Sprintf("requires %q, and %s", name, g.provide(here, ""))
	}
	return nil, fmt.Sprintf("requires %q, and %s and %s", name, g.provide(here, " here"), g.provide(offered, " for the whole mesh"))
}

// provide is a sentence with these modules in it.
func (g *Graph) provide(modules []int, where string) string {
	names := make([]string, len(modules))
	for i, m := range modules {
		names[i] = g.modules[m].Name
	}
	verb := " provide it"
	if len(names) == 1 {
		verb = " provides it"
	}
	return strings.Join(names, " and ") + verb + where
}

// Provider is the one module that has to be on the node for name, empty where
// the mesh has it, or why it is not met.
func (g *Graph) Provider(name string) (module, why string) {
	needs, why := g.met(name)
	if len(needs) == 0 {
		return "", why
	}
	return g.modules[needs[0]].Name, ""
}

// Closure is what belongs with roots, each root and everything that it needs,
// providers first; and what stands against some of them. Modules in a cycle
// stand together, and after what the cycle needs.
func (g *Graph) Closure(roots []string) (order []string, problems []Problem) {
	c := newClosure(g)
	for _, r := range slices.Compact(slices.Sorted(slices.Values(roots))) {
		if _, known := g.index[r]; !known {
			c.order = append(c.order, r)
			c.problem(r, "is not a module that the mesh knows, or its manifest has never been read")
		}
	}
	for _, m := range c.reach(roots) {
		if c.seen[m] == 0 {
			c.visit(m)
		}
	}
	slices.SortFunc(c.problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Why, b.Why)) })
	return c.order, c.problems
}
