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
func (v *view) leavesWith(w deliverystore.DeclareWrite) []declaredOn {
	var out []declaredOn
	for _, id := range w.Nodes {
		n := v.nodes[id]
		if n == nil {
			continue
		}
		declared := maps.Clone(n.declared)
		declared[w.Module] = w.Build
		out = append(out, v.gone(id, n.assigned, declared)...)
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
	return v.gone(node, rest, n.declared)
}

func (v *view) gone(node string, assigned []mesh.Assignment, declared map[string]document.Digest) []declaredOn {
	modules, _ := v.known.Near(roots(assigned), v.declaredOn(declared))
	belong, _ := plan.Belong(modules, roots(assigned))
	var out []declaredOn
	for _, module := range slices.Sorted(maps.Keys(declared)) {
		if !slices.Contains(belong, module) {
			out = append(out, declaredOn{module, node})
		}
	}
	return out
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
