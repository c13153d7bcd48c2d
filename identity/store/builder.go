package identitystore

import (
	"time"

	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// BuilderRow is a builder that has joined, and what it last said of itself.
type BuilderRow struct {
	ID       string
	Name     string
	Sign     link.PublicKey
	Nats     string
	AddedAt  time.Time
	Version  string
	Platform string // empty: it has not asked for work yet
	Sandbox  string // why it has none; empty where it has one
	Unwell   string // why it takes no work now; empty where it does
	Lacks    string // which limits of a build its machine does not hold
	Speaks   []int
	Counter  int64     // of its last question for work
	LastSeen time.Time // by the controller's clock
}

const builderColumns = `id, name, sign, nats, added_at, version, platform, sandbox, unwell, lacks, speaks, counter, last_seen`

func scanBuilder(r db.Row) (b BuilderRow, err error) {
	var added, seen int64
	var speaks string
	err = r.Scan(&b.ID, &b.Name, (*string)(&b.Sign), &b.Nats, &added, &b.Version, &b.Platform, &b.Sandbox, &b.Unwell, &b.Lacks, &speaks, &b.Counter, &seen)
	if err != nil {
		return b, err
	}
	b.AddedAt, b.LastSeen = db.Time(added), db.Time(seen)
	b.Speaks, err = db.FromJSON[[]int]("what builder "+b.ID+" speaks", speaks)
	return b, err
}

// AddBuilder records a builder that joins. A name that another builder has is a
// Conflict, and so is an id that was ever given.
func AddBuilder(tx *db.Tx, b BuilderRow) error {
	_, taken, err := db.One(tx, db.Text, `SELECT id FROM builder WHERE name = $1 AND removed_at = 0`, b.Name)
	if err != nil {
		return err
	}
	if taken {
		return fault.New(fault.Conflict, "there is a builder %q already", b.Name).With("mesh builder remove %s first, if another is to have the name", b.Name)
	}
	tx.Changed("builder", b.ID)
	n, err := tx.Exec(`INSERT INTO builder (`+builderColumns+`, removed_at) VALUES ($1, $2, $3, $4, $5, $6, '', '', '', '', '', 0, 0, 0) ON CONFLICT (id) DO NOTHING`,
		b.ID, b.Name, string(b.Sign), b.Nats, db.Millis(b.AddedAt), b.Version)
	if err == nil && n == 0 {
		return fault.New(fault.Conflict, "the id %q was given to a builder before", b.ID)
	}
	return err
}

// RemoveBuilder takes a builder out of the mesh, with its credentials. Its id
// is never given again; its name is free.
func RemoveBuilder(tx *db.Tx, id string, at time.Time) error {
	tx.Changed("builder", id)
	n, err := tx.Exec(`UPDATE builder SET removed_at = $1 WHERE id = $2 AND removed_at = 0`, db.Millis(at), id)
	if err != nil {
		return err
	}
	if n == 0 {
		return missingBuilder(tx, id)
	}
	_, err = tx.Exec(`DELETE FROM registry_secret WHERE id = $1`, id)
	return err
}

// SeeBuilder records what a builder says of itself when it asks for work. A
// question that is not newer than the last is a Conflict, and changes nothing.
func SeeBuilder(tx *db.Tx, w link.Work, at time.Time) error {
	speaks, err := db.JSON(w.Speaks)
	if err != nil {
		return err
	}
	tx.Changed("builder", w.Builder)
	n, err := tx.Exec(`UPDATE builder SET counter = $1, version = $2, platform = $3, sandbox = $4, speaks = $5, last_seen = $6, unwell = $8, lacks = $9
		WHERE id = $7 AND removed_at = 0 AND counter < $1`,
		w.Counter, w.Version, w.Platform, w.Sandbox, speaks, db.Millis(at), w.Builder, w.Unwell, w.Lacks)
	if err != nil || n == 1 {
		return err
	}
	b, err := Builder(tx, w.Builder)
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "question %d of builder %q is not newer than its last, %d", w.Counter, b.Name, b.Counter)
}

// Builder is the builder with this id or, failing that, this name; NotFound
// names the nearest.
func Builder(tx *db.Tx, nameOrID string) (BuilderRow, error) {
	b, found, err := db.One(tx, scanBuilder, `SELECT `+builderColumns+` FROM builder WHERE removed_at = 0 AND (id = $1 OR name = $1)
		ORDER BY CASE WHEN id = $1 THEN 0 ELSE 1 END LIMIT 1`, nameOrID)
	if err == nil && !found {
		err = missingBuilder(tx, nameOrID)
	}
	return b, err
}

// AnyBuilder is the builder with this id, also one that was removed: what it has
// signed outlives it.
func AnyBuilder(tx *db.Tx, id string) (BuilderRow, error) {
	b, found, err := db.One(tx, scanBuilder, `SELECT `+builderColumns+` FROM builder WHERE id = $1`, id)
	if err == nil && !found {
		err = fault.New(fault.NotFound, "there never was a builder %q", id)
	}
	return b, err
}

// Builders is every builder that was not removed, sorted by name.
func Builders(tx *db.Tx) ([]BuilderRow, error) {
	all, err := db.All(tx, scanBuilder, `SELECT `+builderColumns+` FROM builder WHERE removed_at = 0`)
	return db.Sorted(all, func(b BuilderRow) string { return b.Name }), err
}

// BuilderNames is what every builder is called, by its id, those that were
// removed too: what the record says of them outlives them.
func BuilderNames(tx *db.Tx) (map[string]string, error) {
	names := map[string]string{}
	all, err := db.All(tx, scanBuilder, `SELECT `+builderColumns+` FROM builder`)
	for _, b := range all {
		names[b.ID] = b.Name
	}
	return names, err
}

// RevokedKeys is the broker keys of every builder that was removed.
func RevokedKeys(tx *db.Tx) ([]string, error) {
	keys, err := db.All(tx, db.Text, `SELECT nats FROM builder WHERE removed_at > 0 AND nats <> ''`)
	return db.Sorted(keys, func(s string) string { return s }), err
}

func missingBuilder(tx *db.Tx, name string) error {
	names, err := db.All(tx, db.Text, `SELECT name FROM builder WHERE removed_at = 0`)
	if err != nil {
		return err
	}
	return db.Missing("builder", name, names)
}
