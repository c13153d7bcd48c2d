package deliverystore

import (
	"slices"
	"strconv"
	"time"

	"noxmesh/delivery"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// DeclareWrite is one decision: this build of the module on these nodes.
type DeclareWrite struct {
	ID     int64 // given by Declare; only ever goes up
	Module string
	Build  document.Digest
	Nodes  []string // ids
	By     string
	At     time.Time
	Why    string
}

// DeclaredRow is the build of a module that is declared on a node, and by which write.
type DeclaredRow struct {
	Module string
	Node   string
	Build  document.Digest
	Write  int64
	By     string
	At     time.Time
	Why    string
}

// Declare records one declare-write and lets its nodes name the build, all of
// them or none. A build that is not of the module, not fit, or gone from the
// registry is a Conflict, whoever asks.
func Declare(tx *db.Tx, w DeclareWrite) (int64, error) {
	nodes := slices.Compact(slices.Sorted(slices.Values(w.Nodes)))
	if len(nodes) == 0 {
		return 0, fault.New(fault.Invalid, "declare %q: on no node", w.Module)
	}
	if err := eligible(tx, w); err != nil {
		return 0, err
	}
	text, err := db.JSON(nodes)
	if err != nil {
		return 0, err
	}
	// Writes come one after another, so that nobody else takes the same id.
	last, _, err := db.One(tx, db.Number, `SELECT coalesce(max(id), 0) FROM declare_write`)
	if err != nil {
		return 0, err
	}
	id := last + 1
	_, err = tx.Exec(`INSERT INTO declare_write (id, module, build, nodes, by_who, at, why) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		id, w.Module, string(w.Build), text, w.By, db.Millis(w.At), w.Why)
	if err != nil {
		return 0, err
	}
	tx.Changed("declare_write", strconv.FormatInt(id, 10))
	for _, n := range nodes {
		tx.Changed("declared", n)
		_, err := tx.Exec(`INSERT INTO declared (module, node, build, write_id) VALUES ($1, $2, $3, $4)
			ON CONFLICT (module, node) DO UPDATE SET build = excluded.build, write_id = excluded.write_id`, w.Module, n, string(w.Build), id)
		if err != nil {
			return 0, err
		}
	}
	return id, forget(tx, w.Module)
}

// writesKept is how many of a policy's declare-writes of a module are kept for
// people to read; they are forgotten when there are twice as many. What still
// decides something is kept beside them, see delivery.Forgettable.
const writesKept = 128

func forget(tx *db.Tx, module string) error {
	n, _, err := db.One(tx, db.Number, `SELECT count(*) FROM declare_write WHERE module = $1`, module)
	if err != nil || n < 2*writesKept || n%writesKept != 0 {
		return err
	}
	rows, err := DeclareWrites(tx, module, 0)
	if err != nil {
		return err
	}
	writes := make([]delivery.Write, 0, len(rows))
	for _, w := range rows {
		writes = append(writes, delivery.Write{ID: w.ID, Build: w.Build, Nodes: w.Nodes, Policy: w.By == delivery.ByPolicy, At: w.At})
	}
	for _, id := range delivery.Forgettable(writes, writesKept) {
		tx.Changed("declare_write", strconv.FormatInt(id, 10))
		_, err := tx.Exec(`DELETE FROM declare_write WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM declared WHERE module = $2 AND write_id = $1)`, id, module)
		if err != nil {
			return err
		}
	}
	return nil
}

func eligible(tx *db.Tx, w DeclareWrite) error {
	if _, err := Module(tx, w.Module); err != nil {
		return err
	}
	b, err := Build(tx, w.Build)
	if err != nil {
		return err
	}
	switch {
	case b.Module != w.Module:
		return fault.New(fault.Conflict, "declare %q: build %s is of module %q", w.Module, b.ID.Short(), b.Module)
	case !b.Verdict.Eligible():
		return fault.New(fault.Conflict, "declare %q: build %s is %s", w.Module, b.ID.Short(), b.Verdict).
			With("mesh logs %s shows why; only a fit build is ever declared", b.Request)
	case !b.Collected.IsZero():
		return fault.New(fault.Conflict, "declare %q: build %s has no bytes any more: it was collected on %s, when nothing named it", w.Module, b.ID.Short(), b.Collected.UTC().Format(time.DateOnly)).
			With("commit what it was made of again, and it is built again; mesh builds %s shows which have their bytes", w.Module)
	case b.Gone:
		return fault.New(fault.Conflict, "declare %q: build %s is gone from the registry", w.Module, b.ID.Short()).
			With("mesh status %s says whether it is built again; look again in a while", w.Module)
	}
	return nil
}

// Undeclare lets these nodes name no build of the module any more.
func Undeclare(tx *db.Tx, module string, nodes ...string) error {
	for _, n := range nodes {
		tx.Changed("declared", n)
		if _, err := tx.Exec(`DELETE FROM declared WHERE module = $1 AND node = $2`, module, n); err != nil {
			return err
		}
	}
	return nil
}

const selectDeclared = `SELECT d.module, d.node, d.build, d.write_id, w.by_who, w.at, w.why
	FROM declared d JOIN declare_write w ON w.id = d.write_id `

func scanDeclared(r db.Row) (d DeclaredRow, err error) {
	var made string
	var at int64
	err = r.Scan(&d.Module, &d.Node, &made, &d.Write, &d.By, &at, &d.Why)
	d.Build, d.At = document.Digest(made), db.Time(at)
	return d, err
}

func declaredKey(d DeclaredRow) string { return d.Module + "\x00" + d.Node }

// Declared is every build that is declared on a node, by module and node.
func Declared(tx *db.Tx) ([]DeclaredRow, error) {
	all, err := db.All(tx, scanDeclared, selectDeclared)
	return db.Sorted(all, declaredKey), err
}

// DeclaredOn is every build that is declared on this node, by module.
func DeclaredOn(tx *db.Tx, node string) ([]DeclaredRow, error) {
	all, err := db.All(tx, scanDeclared, selectDeclared+`WHERE d.node = $1`, node)
	return db.Sorted(all, declaredKey), err
}

// DeclareWrites is the module's declare-writes, newest first; all of them where limit is 0.
func DeclareWrites(tx *db.Tx, module string, limit int) ([]DeclareWrite, error) {
	n := int64(limit)
	if n <= 0 {
		n = every
	}
	return db.All(tx, scanWrite, selectWrite+`
		WHERE module = $1 ORDER BY id DESC LIMIT $2`, module, n)
}

const selectWrite = `SELECT id, module, build, nodes, by_who, at, why FROM declare_write `

// AllDeclareWrites is every declare-write that is kept.
func AllDeclareWrites(tx *db.Tx) ([]DeclareWrite, error) { return db.All(tx, scanWrite, selectWrite) }

// OneDeclareWrite is the declare-write with this id, and false where there is none.
func OneDeclareWrite(tx *db.Tx, id string) (DeclareWrite, bool, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return DeclareWrite{}, false, fault.Wrap(fault.Broken, err, "read declare-write %q", id)
	}
	return db.One(tx, scanWrite, selectWrite+`WHERE id = $1`, n)
}

func scanWrite(r db.Row) (w DeclareWrite, err error) {
	var made, nodes string
	var at int64
	if err = r.Scan(&w.ID, &w.Module, &made, &nodes, &w.By, &at, &w.Why); err != nil {
		return w, err
	}
	w.Build, w.At = document.Digest(made), db.Time(at)
	w.Nodes, err = db.FromJSON[[]string]("the nodes of a declare-write", nodes)
	return w, err
}
