package deliverystore

import (
	"time"

	mesh "noxmesh"
	"noxmesh/delivery"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// ModuleRow is one module and who decided what about it.
type ModuleRow struct {
	mesh.Module
	AddedBy  string
	AddedAt  time.Time
	Policy   string // manual or auto
	PolicyBy string // empty where nobody chose it
	PolicyAt time.Time
}

const moduleColumns = `name, repository, ref, folder, added_by, added_at, policy, policy_by, policy_at`

func scanModule(r db.Row) (m ModuleRow, err error) {
	var added, policy int64
	err = r.Scan(&m.Name, &m.Repository, &m.Ref, &m.Folder, &m.AddedBy, &added, &m.Policy, &m.PolicyBy, &policy)
	m.AddedAt, m.PolicyAt = db.Time(added), db.Time(policy)
	return m, err
}

// AddModule records a module, under the policy manual.
func AddModule(tx *db.Tx, m mesh.Module, by string, at time.Time) error {
	if !mesh.ValidModuleName(m.Name) {
		return fault.New(fault.Invalid, "%q is not a module's name: lower-case letters, digits and inner hyphens, at most 63", m.Name)
	}
	n, err := tx.Exec(`INSERT INTO module (`+moduleColumns+`, part) VALUES ($1, $2, $3, $4, $5, $6, $7, '', 0, $8) ON CONFLICT (name) DO NOTHING`,
		m.Name, m.Repository, m.Ref, m.Folder, by, db.Millis(at), string(delivery.Manual), partOf(m.Name))
	if err != nil {
		return err
	}
	tx.Changed("module", m.Name)
	if n == 0 {
		return fault.New(fault.Conflict, "there is a module %q already", m.Name).With("mesh module show %s says where it comes from", m.Name)
	}
	if err := saveCode(tx, m.Name, ""); err != nil {
		return err
	}
	tx.Changed("source", m.Name)
	_, err = tx.Exec(`DELETE FROM module_left WHERE name = $1`, m.Name)
	return err
}

// RemoveModule takes a module out of the record, with its source and whatever
// was still asked of the builders. What was built and declared stays as
// history. A module that is still assigned or declared stays too: Conflict.
func RemoveModule(tx *db.Tx, name string, now time.Time) error {
	if _, err := Module(tx, name); err != nil {
		return err
	}
	on, _, err := db.One(tx, db.Number, `SELECT count(*) FROM declared WHERE module = $1`, name)
	if err != nil {
		return err
	}
	assigned, _, err := db.One(tx, db.Number, `SELECT count(*) FROM assignment WHERE module = $1`, name)
	if err != nil {
		return err
	}
	if on > 0 || assigned > 0 {
		return fault.New(fault.Conflict, "module %q is assigned to %d nodes and declared on %d", name, assigned, on).
			With("mesh unassign %s NODE for each of them first", name)
	}
	tx.Changed("module", name)
	tx.Changed("source", name)
	if err := dropRequests(tx, `module = $1 AND state <> 'done'`, name); err != nil {
		return err
	}
	if err := dropCode(tx, name); err != nil {
		return err
	}
	if _, err = tx.Exec(`DELETE FROM module WHERE name = $1`, name); err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO module_left (name, at) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET at = excluded.at`, name, db.Millis(now))
	return err
}

// SetPolicy records who declares the module's builds from now on: manual or auto.
func SetPolicy(tx *db.Tx, name, policy, by string, at time.Time) error {
	p, ok := delivery.ParsePolicy(policy)
	if !ok {
		return fault.New(fault.Invalid, "there is no policy %q", policy).With("give manual or auto")
	}
	tx.Changed("module", name)
	n, err := tx.Exec(`UPDATE module SET policy = $1, policy_by = $2, policy_at = $3 WHERE name = $4`, string(p), by, db.Millis(at), name)
	if err == nil && n == 0 {
		_, err = Module(tx, name)
	}
	return err
}

// Module is the module with this name; NotFound names the nearest.
func Module(tx *db.Tx, name string) (ModuleRow, error) {
	m, found, err := OneModule(tx, name)
	if err != nil || found {
		return m, err
	}
	names, err := db.All(tx, db.Text, `SELECT name FROM module`)
	if err != nil {
		return m, err
	}
	return m, db.Missing("module", name, names)
}

// OneModule is the module with this name, and false where there is none.
func OneModule(tx *db.Tx, name string) (ModuleRow, bool, error) {
	return db.One(tx, scanModule, `SELECT `+moduleColumns+` FROM module WHERE name = $1`, name)
}

// Modules is every module, sorted by name.
func Modules(tx *db.Tx) ([]ModuleRow, error) {
	all, err := db.All(tx, scanModule, `SELECT `+moduleColumns+` FROM module`)
	return db.Sorted(all, func(m ModuleRow) string { return m.Name }), err
}
