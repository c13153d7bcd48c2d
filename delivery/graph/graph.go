package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Module is what the graph needs to know of one.
type Module struct {
	Name     string
	Provides []string
	Requires []string
}

// Problem is why a module cannot be brought onto a node.
type Problem struct {
	Module string
	Why    string
}

// Graph answers questions about a set of modules. It does not change.
type Graph struct {
	modules   map[string]Module
	providers map[string][]string // sorted
}

// New is the graph of these modules. Of two with one name the last counts.
func New(modules []Module) *Graph {
	g := &Graph{modules: map[string]Module{}, providers: map[string][]string{}}
	for _, m := range modules {
		g.modules[m.Name] = m
	}
	for _, name := range slices.Sorted(maps.Keys(g.modules)) {
		offers := append([]string{name}, g.modules[name].Provides...)
		slices.Sort(offers)
		for _, offer := range slices.Compact(offers) {
			g.providers[offer] = append(g.providers[offer], name)
		}
	}
	return g
}

// Provider is the one module that provides name, or why there is none.
func (g *Graph) Provider(name string) (module, why string) {
	switch p := g.providers[name]; len(p) {
	case 0:
		return "", fmt.Sprintf("requires %q, and no module provides it", name)
	case 1:
		return p[0], ""
	default:
		return "", fmt.Sprintf("requires %q, and %s provide it", name, strings.Join(p, " and "))
	}
}

// Closure is what belongs with roots: each root and everything that it needs,
// providers first. A module with a problem is in problems and not in the order,
// and neither is what needs it.
func (g *Graph) Closure(roots []string) (order []string, problems []Problem) {
	w := walk{graph: g, state: map[string]visit{}}
	for _, r := range slices.Sorted(slices.Values(roots)) {
		w.visit(r)
	}
	slices.SortFunc(w.problems, func(a, b Problem) int { return strings.Compare(a.Module+"\x00"+a.Why, b.Module+"\x00"+b.Why) })
	return w.order, w.problems
}

type visit int

const (
	unseen visit = iota
	open
	good
	bad
)

// walk is one depth-first search; path is the way from a root to here.
type walk struct {
	graph    *Graph
	state    map[string]visit
	path     []string
	order    []string
	problems []Problem
}

func (w *walk) visit(name string) bool {
	switch w.state[name] {
	case good:
		return true
	case bad:
		return false
	case open:
		cycle := append(slices.Clone(w.path[slices.Index(w.path, name):]), name)
		w.problem(name, "is in a cycle of requirements: "+strings.Join(cycle, " → "))
		return false
	case unseen:
	}
	m, known := w.graph.modules[name]
	if !known {
		w.state[name] = bad
		w.problem(name, "is not a module that the mesh knows, or its manifest has never been read")
		return false
	}
	w.state[name] = open
	w.path = append(w.path, name)
	ok := w.needs(m)
	w.path = w.path[:len(w.path)-1]
	if !ok {
		w.state[name] = bad
		return false
	}
	w.state[name] = good
	w.order = append(w.order, name)
	return true
}

func (w *walk) needs(m Module) bool {
	ok := true
	for _, need := range slices.Sorted(slices.Values(m.Requires)) {
		provider, why := w.graph.Provider(need)
		switch {
		case why != "":
			w.problem(m.Name, why)
			ok = false
		case provider == m.Name:
		case !w.visit(provider):
			w.problem(m.Name, fmt.Sprintf("requires %q, and %q cannot be brought here", need, provider))
			ok = false
		}
	}
	return ok
}

func (w *walk) problem(module, why string) {
	p := Problem{module, why}
	if !slices.Contains(w.problems, p) {
		w.problems = append(w.problems, p)
	}
}
