package troublestore

import (
	"noxmesh/internal/db"
	"noxmesh/trouble"
)

// Save records the trouble under its key.
func Save(tx *db.Tx, t trouble.Trouble) error {
	tx.Changed("trouble", t.Key)
	_, err := tx.Exec(`INSERT INTO trouble (name, fingerprint, says, since, count, last) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, says = excluded.says, since = excluded.since,
		count = excluded.count, last = excluded.last`,
		t.Key, t.Fingerprint, t.Says, db.Millis(t.Since), t.Count, db.Millis(t.Last))
	return err
}

// Clear takes the trouble away; where there is none, nothing changes.
func Clear(tx *db.Tx, key string) error {
	tx.Changed("trouble", key)
	_, err := tx.Exec(`DELETE FROM trouble WHERE name = $1`, key)
	return err
}

const selectTrouble = `SELECT name, fingerprint, says, since, count, last FROM trouble `

func scan(r db.Row) (t trouble.Trouble, err error) {
	var since, last int64
	err = r.Scan(&t.Key, &t.Fingerprint, &t.Says, &since, &t.Count, &last)
	t.Since, t.Last = db.Time(since), db.Time(last)
	return t, err
}

func key(t trouble.Trouble) string { return t.Key }

// One is the trouble under this key, and false where there is none.
func One(tx *db.Tx, key string) (trouble.Trouble, bool, error) {
	return db.One(tx, scan, selectTrouble+`WHERE name = $1`, key)
}

// All is every trouble, by key.
func All(tx *db.Tx) ([]trouble.Trouble, error) {
	all, err := db.All(tx, scan, selectTrouble)
	return db.Sorted(all, key), err
}

// ByPrefix is every trouble whose key begins with prefix, by key.
func ByPrefix(tx *db.Tx, prefix string) ([]trouble.Trouble, error) {
	all, err := db.All(tx, scan, selectTrouble+`WHERE substr(name, 1, length($1)) = $1`, prefix)
	return db.Sorted(all, key), err
}
