package identitystore

import (
	"time"

	"noxmesh/identity"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// LoginRow is a person's login.
type LoginRow struct {
	ID     string
	Name   string
	Role   identity.Role
	Hash   string // of the secret
	MadeAt time.Time
}

const loginColumns = `id, name, role, secret_hash, made_at`

func scanLogin(r db.Row) (l LoginRow, err error) {
	var made int64
	err = r.Scan(&l.ID, &l.Name, (*string)(&l.Role), &l.Hash, &made)
	l.MadeAt = db.Time(made)
	return l, err
}

// AddLogin records a login. A name that another login has is a Conflict.
func AddLogin(tx *db.Tx, l LoginRow) error {
	n, err := tx.Exec(`INSERT INTO login (`+loginColumns+`) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		l.ID, l.Name, string(l.Role), l.Hash, db.Millis(l.MadeAt))
	if err == nil && n == 0 {
		return fault.New(fault.Conflict, "there is a login %q already", l.Name)
	}
	return err
}

// Login is the login with this id.
func Login(tx *db.Tx, id string) (LoginRow, error) {
	l, found, err := db.One(tx, scanLogin, `SELECT `+loginColumns+` FROM login WHERE id = $1`, id)
	if err == nil && !found {
		err = fault.New(fault.NotFound, "there is no login %q", id)
	}
	return l, err
}

// Logins is every login, sorted by name.
func Logins(tx *db.Tx) ([]LoginRow, error) {
	all, err := db.All(tx, scanLogin, `SELECT `+loginColumns+` FROM login`)
	return db.Sorted(all, func(l LoginRow) string { return l.Name }), err
}

// RemoveLogin ends a login, by its name.
func RemoveLogin(tx *db.Tx, name string) error {
	n, err := tx.Exec(`DELETE FROM login WHERE name = $1`, name)
	if err != nil || n > 0 {
		return err
	}
	names, err := db.All(tx, db.Text, `SELECT name FROM login`)
	if err != nil {
		return err
	}
	return db.Missing("login", name, names)
}
