package graph

import "slices"

// Need is what becomes of one requirement of a module.
type Need struct {
	From string
	Name string   // that is required
	To   []string // what provides it, sorted; more than one where nobody has chosen, or where the mesh has several
	Why  string   // it is not met; empty where it is
}

// Needs is a module's requirements, by name. What it provides itself is not
// among them.
func (g *Graph) Needs(module string) []Need {
	at, known := g.index[module]
	if !known {
		return nil
	}
	var all []Need
	for _, name := range slices.Compact(slices.Sorted(slices.Values(g.modules[at].Requires))) {
		needs, why := g.met(name)
		if why == "" && len(needs) == 1 && needs[0] == at {
			continue
		}
		n := Need{From: module, Name: name, Why: why}
		switch {
		case why == "" && len(needs) == 0:
			needs = g.offerers[name]
		case why != "":
			needs = slices.Concat(g.providers[name], g.offerers[name])
		}
		for _, p := range needs {
			n.To = append(n.To, g.modules[p].Name)
		}
		slices.Sort(n.To)
		n.To = slices.Compact(n.To)
		all = append(all, n)
	}
	return all
}

// Way is the shortest chain of requirements that leads from one of the roots to
// a module: none where it is a root, and false where nothing leads there. Of
// several the first by name. As in Closure, of several that are declared here
// and provide one thing all are led to.
func (g *Graph) Way(roots []string, to string) (chain []Need, there bool) {
	next := func(at string) []Need {
		var all []Need
		m, known := g.index[at]
		if !known {
			return nil
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(g.modules[m].Requires))) {
			needs, why := g.met(name)
			if p := g.providers[name]; why != "" && len(p) > 1 && g.modules[p[0]].Here {
				needs = p // nobody has chosen, and all of them stay
			}
			for _, p := range needs {
				all = append(all, Need{From: at, Name: name, To: []string{g.modules[p].Name}})
			}
		}
		return all
	}
	return Chain(roots, to, next, func(n Need) (string, string) { return n.From, n.To[0] })
}

// Chain is the first of the shortest chains of edges from one of the roots to a
// module: none where it is a root, and false where there is none. Next is the
// edges of a module in the order in which they count.
func Chain[E any](roots []string, to string, next func(string) []E, ends func(E) (from, to string)) (chain []E, there bool) {
	came := map[string]*E{}
	queue := slices.Sorted(slices.Values(roots))
	for _, root := range queue {
		came[root] = nil
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			break
		}
		for _, edge := range next(queue[0]) {
			if _, at := ends(edge); came[at] == nil && !slices.Contains(roots, at) {
				came[at] = &edge
				queue = append(queue, at)
			}
		}
	}
	edge, there := came[to]
	for ; edge != nil; edge = came[to] {
		chain = append(chain, *edge)
		to, _ = ends(*edge)
	}
	slices.Reverse(chain)
	return chain, there
}
