package controller

import (
	"slices"

	mesh "noxmesh"
	"noxmesh/internal/fault"
	"noxmesh/plan"
)

// mayAssign refuses an assignment of which it is known now that it cannot come
// to anything: what it requires is provided by nobody or by several, or it claims
// what another module has there. What stood against the node before is no part
// of it, and what cannot be told yet is not refused: the plan says it.
func (v *view) mayAssign(a mesh.Assignment) error {
	n := v.nodes[a.Node]
	if n == nil {
		return fault.New(fault.NotFound, "there is no node with the id %q", a.Node)
	}
	before := v.against(n, n.assigned)
	rest := slices.DeleteFunc(slices.Clone(n.assigned), func(o mesh.Assignment) bool { return o.Module == a.Module })
	for _, r := range v.against(n, append(rest, a)) {
		if !slices.Contains(before, r) {
			return fault.New(fault.Conflict, "assign %q to %q: %s: %s", a.Module, n.Name, r.Module, r.Why).
				With("mesh module show %s says what it requires, and mesh plan %s what belongs on the node", r.Module, n.Name)
		}
	}
	return nil
}

// against is what is known to stand against these assignments on the node. As
// long as there is a module of which nothing was ever read, nobody can say that
// a name is provided by none.
func (v *view) against(n *nodeView, assigned []mesh.Assignment) []plan.Reason {
	modules, asked := v.known.Near(roots(assigned), v.declaredOn(n.declared))
	f := v.planFacts(n, modules, asked)
	f.Assigned, f.Had = assigned, n.belong // who is there has it, and who comes claims it
	out := plan.Conflicts(f)
	if v.anyUnread() {
		return out
	}
	_, problems := plan.Belong(modules, f.There, slices.Concat(roots(assigned), f.Stays))
	for _, p := range problems {
		out = append(out, plan.Reason{Module: p.Module, Why: p.Why})
	}
	return out
}

func (v *view) anyUnread() bool {
	return slices.ContainsFunc(v.names, func(name string) bool { return v.modules[name].source.Commit == "" })
}
