package graph

import (
	"slices"
	"strings"
)

// closure is one question: the way through what is reached, by Tarjan's
// algorithm. Each strongly connected part is left after everything that it
// leads to, which is the order that is wanted, and a part of several modules is
// a cycle. Every module and every edge is looked at a constant number of times.
type closure struct {
	graph    *Graph
	needs    [][]int // by module: its providers, by name; nil where it is not reached
	seen     []int   // when a module was first visited, from 1; 0 for not yet
	low      []int   // the earliest visit that is reached from it
	on       []bool  // it stands in stack
	visits   int
	stack    []int // visited, and its part not yet left
	order    []string
	problems []Problem
}

func newClosure(g *Graph) *closure {
	n := len(g.modules)
	return &closure{graph: g, needs: make([][]int, n), seen: make([]int, n), low: make([]int, n), on: make([]bool, n)}
}

// reach is everything that the roots need, by name, so that the way through it
// does not depend on the roots.
func (c *closure) reach(roots []string) []int {
	var reached, next []int
	for _, r := range roots {
		if m, known := c.graph.index[r]; known {
			next = append(next, m)
		}
	}
	for len(next) > 0 {
		m := next[len(next)-1]
		next = next[:len(next)-1]
		if c.needs[m] == nil {
			reached = append(reached, m)
			next = append(next, c.enter(m)...)
		}
	}
	slices.Sort(reached)
	return reached
}

// enter resolves what a module requires, and is where that leads. Of several
// that are declared here and provide one thing none is needed, since nobody has
// chosen; and all of them belong here as they did before.
func (c *closure) enter(m int) []int {
	needs := make([]int, 0, len(c.graph.modules[m].Requires))
	var kept []int
	for _, name := range slices.Compact(slices.Sorted(slices.Values(c.graph.modules[m].Requires))) {
		met, why := c.graph.met(name)
		needs = append(needs, met...)
		if why == "" {
			continue
		}
		if p := c.graph.providers[name]; len(p) > 1 && c.graph.modules[p[0]].Here {
			kept = append(kept, p...)
		}
		c.problem(c.graph.modules[m].Name, why)
	}
	slices.Sort(needs)
	needs = slices.DeleteFunc(slices.Compact(needs), func(p int) bool { return p == m }) // what it provides itself is there
	c.needs[m] = needs
	return append(kept, needs...)
}

func (c *closure) visit(m int) {
	c.visits++
	c.seen[m], c.low[m] = c.visits, c.visits
	c.stack, c.on[m] = append(c.stack, m), true
	for _, p := range c.needs[m] {
		if c.seen[p] == 0 {
			c.visit(p)
			c.low[m] = min(c.low[m], c.low[p])
		} else if c.on[p] {
			c.low[m] = min(c.low[m], c.seen[p])
		}
	}
	if c.low[m] == c.seen[m] {
		c.leave(m)
	}
}

// leave takes the part that began with m off the stack and puts it in the order.
func (c *closure) leave(m int) {
	first := len(c.stack) - 1
	for c.stack[first] != m {
		first--
	}
	part := slices.Clone(c.stack[first:])
	c.stack = c.stack[:first]
	slices.Sort(part)
	for _, p := range part {
		c.on[p] = false
		c.order = append(c.order, c.graph.modules[p].Name)
	}
	if len(part) > 1 {
		c.cycle(part)
	}
}

// cycle names a cycle whole, once, at its first module; the others of the part
// name that module. The cycle is the shortest from the first module back to it.
func (c *closure) cycle(part []int) {
	first := part[0]
	from := map[int]int{} // by module: the one that led to it
	for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
		for _, p := range c.needs[queue[0]] {
			_, known := from[p]
			if _, inside := slices.BinarySearch(part, p); inside && !known {
				from[p] = queue[0]
				queue = append(queue, p)
			}
		}
	}
	names := []string{c.graph.modules[first].Name}
	for m := from[first]; m != first; m = from[m] {
		names = append(names, c.graph.modules[m].Name)
	}
	names = append(names, c.graph.modules[first].Name)
	slices.Reverse(names)
	c.problem(names[0], "is in a cycle of requirements: "+strings.Join(names, " → "))
	for _, m := range part[1:] {
		c.problem(c.graph.modules[m].Name, "is in a cycle of requirements with \""+names[0]+"\"")
	}
}

func (c *closure) problem(module, why string) {
	c.problems = append(c.problems, Problem{module, why})
}
