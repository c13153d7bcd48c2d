package controller

import (
	"maps"
	"slices"

	mesh "noxmesh"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/plan"
)

// declaredOn is one module on one node.
type declaredOn struct{ module, node string }

// leavesWith is what is declared and no longer belongs where it is once this
// write has been made: a build that requires less than the one before lets go of
// what nothing else brings there. To bring it back is a new decision.
//
// Only decisions let go. A commit of a module that is not declared yet may
// require less than its last one did; what is declared on the node stays until
// that module is declared there, or unassigned.
func (v *view) leavesWith(w deliverystore.DeclareWrite) []declaredOn {
	var out []declaredOn
	for _, id := range w.Nodes {
		n := v.nodes[id]
		if n == nil {
			continue
		}
		declared := maps.Clone(n.declared)
		declared[w.Module] = w.Build
		out = append(out, v.gone(n, w.Module, n.assigned, declared)...)
	}
	return out
}

// leavesWithout is what is declared on the node and no longer belongs there
// without this assignment.
func (v *view) leavesWithout(node, module string) []declaredOn {
	n := v.nodes[node]
	if n == nil {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(n.assigned), func(a mesh.Assignment) bool { return a.Module == module })
	return v.gone(n, module, rest, n.declared)
}

// gone is what is declared on the node and is let go of by this decision about
// the module, after which these are assigned and declared.
func (v *view) gone(n *nodeView, module string, assigned []mesh.Assignment, declared map[string]document.Digest) []declaredOn {
	stay := roots(assigned)
	if n.declared[module] != "" { // otherwise it may be what the rest stayed for
		before := v.closure(roots(n.assigned), n.declared)
		for m := range n.declared {
			if !slices.Contains(before, m) {
				stay = append(stay, m)
			}
		}
	}
	belong := v.closure(stay, declared)
	var out []declaredOn
	for _, m := range slices.Sorted(maps.Keys(declared)) {
		if !slices.Contains(belong, m) {
			out = append(out, declaredOn{m, n.ID})
		}
	}
	return out
}

func (v *view) closure(roots []string, declared map[string]document.Digest) []string {
	modules, asked := v.known.Near(roots, v.declaredOn(declared))
	belong, _ := plan.Belong(modules, v.known.There(asked), roots)
	return belong
}

// undeclare takes back what is declared and does not belong there any more.
func undeclare(tx *db.Tx, all []declaredOn) error {
	for _, d := range all {
		if err := deliverystore.Undeclare(tx, d.module, d.node); err != nil {
			return err
		}
	}
	return nil
}
