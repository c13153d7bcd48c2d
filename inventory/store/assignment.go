package inventorystore

import (
	"time"

	mesh "noxmesh"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// Assign records that the module belongs on the node with these settings. An
// assignment that is there has these settings from now on.
func Assign(tx *db.Tx, a mesh.Assignment, by string, at time.Time) error {
	if err := mustExist(tx, a.Node); err != nil {
		return err
	}
	_, known, err := db.One(tx, db.Text, `SELECT name FROM module WHERE name = $1`, a.Module)
	if err != nil {
		return err
	}
	if !known {
		names, err := db.All(tx, db.Text, `SELECT name FROM module`)
		if err != nil {
			return err
		}
		return db.Missing("module", a.Module, names)
	}
	tx.Changed("assignment", a.Node)
	settings, err := db.JSON(a.Settings)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO assignment (module, node, settings, by_who, at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (module, node) DO UPDATE SET settings = excluded.settings, by_who = excluded.by_who, at = excluded.at`,
		a.Module, a.Node, settings, by, db.Millis(at))
	return err
}

// Unassign takes an assignment back.
func Unassign(tx *db.Tx, module, node string) error {
	tx.Changed("assignment", node)
	n, err := tx.Exec(`DELETE FROM assignment WHERE module = $1 AND node = $2`, module, node)
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, "module %q is not assigned to node %q", module, node).
			With("mesh node show says what is; what another module requires leaves with that module")
	}
	return err
}

const selectAssignment = `SELECT module, node, settings FROM assignment `

func scanAssignment(r db.Row) (a mesh.Assignment, err error) {
	var settings string
	if err = r.Scan(&a.Module, &a.Node, &settings); err != nil {
		return a, err
	}
	a.Settings, err = db.FromJSON[map[string]string]("the settings of "+a.Module+" on "+a.Node, settings)
	if len(a.Settings) == 0 {
		a.Settings = nil
	}
	return a, err
}

func assignmentKey(a mesh.Assignment) string { return a.Module + "\x00" + a.Node }

// Assignments is every assignment, by module and node.
func Assignments(tx *db.Tx) ([]mesh.Assignment, error) {
	all, err := db.All(tx, scanAssignment, selectAssignment)
	return db.Sorted(all, assignmentKey), err
}

// AssignmentsOf is what is assigned to this node, by module.
func AssignmentsOf(tx *db.Tx, node string) ([]mesh.Assignment, error) {
	all, err := db.All(tx, scanAssignment, selectAssignment+`WHERE node = $1`, node)
	return db.Sorted(all, assignmentKey), err
}
