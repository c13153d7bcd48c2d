package controller

import (
	"context"
	"maps"
	"slices"

	"noxmesh/api"
	"noxmesh/delivery/graph"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/plan"
)

// answerWhy is why a module needs another, or why it is on a node.
func (c *Controller) answerWhy(ctx context.Context, _ api.Who, in api.WhyIn) (out api.WhyOut, err error) {
	err = c.with(ctx, func(v *view) error {
		if _, err := v.module(in.Module); err != nil {
			return err
		}
		if _, err := v.module(in.What); err == nil && in.What != in.Module {
			out.Modules = whyModules(v.edges(), in.What, in.Module)
		}
		if n, err := v.node(in.What); err == nil {
			if out.Node, err = v.whyNode(n, in.Module); err != nil {
				return err
			}
		}
		switch {
		case out != (api.WhyOut{}):
			return nil
		case in.What == in.Module:
			return fault.New(fault.Invalid, "%q is %q", in.What, in.Module).With("mesh graph %s shows what it needs, and what needs it", in.Module)
		}
		return db.Missing("module or node", in.What, slices.AppendSeq(slices.Clone(v.names), maps.Keys(v.byName)))
	})
	return out, err
}

func whyModules(all []api.Edge, from, to string) *api.WhyModules {
	out := &api.WhyModules{From: from, To: to, Direct: []api.Edge{}, Chain: []api.Edge{}}
	byName := map[string][]api.Edge{}
	for _, e := range all {
		byName[e.From] = append(byName[e.From], e)
		if e.From == from && e.To == to {
			out.Direct = append(out.Direct, e)
		}
	}
	chain := func(a, b string) []api.Edge {
		edges, _ := graph.Chain([]string{a}, b, func(at string) []api.Edge { return byName[at] }, func(e api.Edge) (string, string) { return e.From, e.To })
		return edges
	}
	if len(out.Direct) > 0 {
		return out
	}
	if out.Chain = chain(from, to); len(out.Chain) > 0 {
		return out
	}
	out.Chain = []api.Edge{}
	if out.Back = chain(to, from); len(out.Back) > 0 {
		return out
	}
	mine, theirs := reached(all, from, false), reached(all, to, false)
	for name := range mine {
		if theirs[name] {
			out.Both = append(out.Both, name)
		}
	}
	for _, e := range byName[from] {
		out.Nearest = append(out.Nearest, e.To)
	}
	slices.Sort(out.Both)
	slices.Sort(out.Nearest)
	out.Nearest = slices.Compact(out.Nearest)
	return out
}

// whyNode is why a module is on a node: an assignment, or the chain of
// requirements from one.
func (v *view) whyNode(n *nodeView, module string) (*api.WhyNode, error) {
	out := &api.WhyNode{
		Node: n.ID, Name: n.Name, Module: module, Belongs: v.modules[module].on[n.ID], Build: string(n.declared[module]),
		Chain: []api.Edge{}, Assigns: slices.Sorted(slices.Values(roots(n.assigned))),
	}
	for _, a := range n.assigned {
		if a.Module == module {
			out.Assigned, out.Settings = true, a.Settings
		}
	}
	modules, asked := v.near(n)
	there := v.known.There(asked)
	needs, is := plan.Way(modules, there, roots(n.assigned), module)
	if !is && out.Belongs {
		out.Stays = true
		needs, _ = plan.Way(modules, there, slices.AppendSeq(roots(n.assigned), maps.Keys(n.declared)), module)
	}
	out.Chain = append(out.Chain, v.needEdges(needs)...)
	if !out.Belongs {
		out.On = names(v, v.nodesOf(module))
		return out, nil
	}
	w, err := v.inShort(n)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Concat(w.held, w.leftOut) {
		if r.Module == module && r.Why != plan.NotDeclared {
			out.Stands = r.Why
		}
	}
	return out, nil
}
