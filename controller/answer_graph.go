package controller

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"noxmesh/api"
	"noxmesh/delivery/graph"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
	"noxmesh/plan"
)

// The kinds of edges.
const (
	buildEdge    = "build"
	presenceEdge = "presence"
	instanceEdge = "instance"
)

// The halves of a graph that was narrowed to a module.
const (
	dependents   = "dependents"
	dependencies = "dependencies"
)

// answerGraph is modules and the edges between them, as their sources have them.
func (c *Controller) answerGraph(ctx context.Context, _ api.Who, in api.GraphIn) (api.GraphOut, error) {
	out := api.GraphOut{Module: in.Module, Of: in.Of, Modules: []api.GraphModule{}, Edges: []api.Edge{}}
	switch {
	case in.Of != "" && in.Of != dependents && in.Of != dependencies:
		return out, fault.New(fault.Invalid, "no half %q of a graph", in.Of).With("dependents or dependencies")
	case in.Of != "" && in.Module == "":
		return out, fault.New(fault.Invalid, "whose %s? There is no module with it", in.Of).With("mesh graph MODULE --%s", in.Of)
	}
	err := c.with(ctx, func(v *view) error {
		names := v.names
		all := v.edges()
		if in.Module != "" {
			if _, err := v.module(in.Module); err != nil {
				return err
			}
			names, all = narrowed(all, in)
		}
		byName := map[string][]api.Edge{}
		for _, e := range all {
			byName[e.From] = append(byName[e.From], e)
		}
		for _, name := range inOrder(names, byName) {
			out.Modules = append(out.Modules, api.GraphModule{Module: name, Against: v.againstEdges(name)})
			out.Edges = append(out.Edges, byName[name]...)
		}
		return nil
	})
	return out, err
}

// edges is every edge of every module, by name.
func (v *view) edges() []api.Edge {
	var all []api.Edge
	modules, asked := v.known.Near(v.names, nil)
	needs := map[string][]graph.Need{}
	for _, n := range plan.Needs(modules, v.known.There(asked)) {
		needs[n.From] = append(needs[n.From], n)
	}
	grants := map[string][]string{} // by kind
	for _, m := range modules {
		if m.Source != nil {
			for kind := range m.Source.Grants {
				grants[kind] = append(grants[kind], m.Name)
			}
		}
	}
	for _, name := range v.names {
		all = append(all, buildEdges(v.code.Edges(name))...)
		all = append(all, v.needEdges(needs[name])...)
		all = append(all, v.instanceEdges(name, grants)...)
	}
	return all
}

// buildEdges is what one module asks of each other.
func buildEdges(edges []graph.Edge) []api.Edge {
	var all []api.Edge
	at := map[string]int{}
	for _, e := range edges {
		i, there := at[e.From+" "+e.To]
		if !there {
			i = len(all)
			at[e.From+" "+e.To] = i
			all = append(all, api.Edge{From: e.From, To: e.To, Kind: buildEdge, Test: true})
		}
		all[i].Test = all[i].Test && e.Test
		all[i].For = append(all[i].For, api.For{Name: e.Name, Language: e.Language, Test: e.Test, File: e.At.File, Line: e.At.Line})
	}
	for i := range all { // what is compiled first
		slices.SortStableFunc(all[i].For, func(a, b api.For) int { return fewer(a.Test, b.Test) })
	}
	slices.SortStableFunc(all, func(a, b api.Edge) int { return fewer(a.Test, b.Test) })
	return all
}

// fewer puts what is not so before what is.
func fewer(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// needEdges is the edges of what a module requires, one to each that provides it.
func (v *view) needEdges(needs []graph.Need) []api.Edge {
	var all []api.Edge
	for _, n := range needs {
		for _, to := range n.To {
			all = append(all, api.Edge{
				From: n.From, To: to, Kind: presenceEdge, OneOf: n.Why != "" && len(n.To) > 1,
				For: []api.For{{Name: n.Name, File: v.manifestOf(n.From), Line: v.source(n.From).Lines.Requires[n.Name]}},
			})
		}
	}
	return all
}

// instanceEdges is the edges of what a module has made for it.
func (v *view) instanceEdges(name string, grants map[string][]string) []api.Edge {
	var all []api.Edge
	is := v.source(name)
	instances := is.Manifest.Instances
	for _, as := range slices.Sorted(maps.Keys(instances)) {
		by := grants[instances[as].Of]
		for _, to := range by {
			if to != name {
				all = append(all, api.Edge{
					From: name, To: to, Kind: instanceEdge, OneOf: len(by) > 1,
					For: []api.For{{Name: instances[as].Of, File: v.manifestOf(name), Line: is.Lines.Instances[as]}},
				})
			}
		}
	}
	return all
}

// manifestOf is where a module's manifest lies in its repository.
func (v *view) manifestOf(module string) string {
	return path.Join(v.at(module).row.Folder, manifest.Name)
}

// againstEdges is what stands against a module's edges.
func (v *view) againstEdges(name string) []string {
	var all []string
	is := v.modules[name]
	in := v.inputsOf(name)
	if in.Problem != "" {
		all = append(all, in.Problem)
	}
	found := is.source.Code.Says.Found()
	for _, language := range in.Open {
		for _, f := range found[language].Faults {
			all = append(all, fmt.Sprintf("has a file that cannot be read as %s: %s: %s", language, f.At, f.Why))
		}
	}
	modules, asked := v.known.Near([]string{name}, nil)
	for _, n := range plan.Needs(modules, v.known.There(asked)) {
		if n.From == name && n.Why != "" {
			all = append(all, n.Why)
		}
	}
	return all
}

// narrowed is what a module needs and what needs it, or one of both, with the
// edges of that.
func narrowed(all []api.Edge, in api.GraphIn) (names []string, edges []api.Edge) {
	up, down := reached(all, in.Module, true), reached(all, in.Module, false)
	set := map[string]bool{in.Module: true}
	for _, e := range all {
		needed := in.Of != dependents && down[e.From]
		needs := in.Of != dependencies && up[e.To]
		if needed || needs {
			edges = append(edges, e)
			set[e.From], set[e.To] = true, true
		}
	}
	return slices.Sorted(maps.Keys(set)), edges
}

// reached is a module and everything that leads to it, or that it leads to.
func reached(all []api.Edge, module string, up bool) map[string]bool {
	next := map[string][]string{}
	for _, e := range all {
		from, to := e.From, e.To
		if up {
			from, to = to, from
		}
		next[from] = append(next[from], to)
	}
	seen := map[string]bool{module: true}
	for todo := []string{module}; len(todo) > 0; todo = todo[1:] {
		for _, to := range next[todo[0]] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}

// inOrder is the modules, what they need before them. In a circle the first by
// name that is come to is the last of it.
func inOrder(names []string, edges map[string][]api.Edge) []string {
	wanted, seen := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var out []string
	var visit func(string)
	visit = func(name string) {
		if seen[name] || !wanted[name] {
			return
		}
		seen[name] = true
		to := map[string]bool{}
		for _, e := range edges[name] {
			to[e.To] = true
		}
		for _, p := range slices.Sorted(maps.Keys(to)) {
			visit(p)
		}
		out = append(out, name)
	}
	for _, name := range names {
		visit(name)
	}
	return out
}
