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
	Provides []string
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
	providers map[string][]int // of a name, by the name of the module
}

// New is the graph of these modules. Of two with one name the last counts.
func New(modules []Module) *Graph {
	g := &Graph{index: make(map[string]int, len(modules)), providers: make(map[string][]int, len(modules))}
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
		g.provide(m.Name, i)
		for _, name := range m.Provides {
			g.provide(name, i)
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
func (g *Graph) provide(name string, module int) {
	if p := g.providers[name]; len(p) == 0 || p[len(p)-1] != module {
		g.providers[name] = append(p, module)
	}
}

// Provider is the one module that provides name, or why there is none.
func (g *Graph) Provider(name string) (module, why string) {
	switch p := g.providers[name]; len(p) {
	case 0:
		return "", fmt.Sprintf("requires %q, and no module provides it", name)
	case 1:
		return g.modules[p[0]].Name, ""
	default:
		names := make([]string, len(p))
		for i, module := range p {
			names[i] = g.modules[module].Name
		}
		return "", fmt.Sprintf("requires %q, and %s provide it", name, strings.Join(names, " and "))
	}
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
