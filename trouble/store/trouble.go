package troublestore

import (
	"noxmesh/internal/db"
	"noxmesh/trouble"
)

// Save records the trouble under its key.
func Save(tx *db.Tx, t trouble.Trouble) error {
	others := ""
	if len(t.Others) > 0 {
		var err error
		if others, err = db.JSON(t.Others); err != nil {
			return err
		}
	}
	tx.Changed("trouble", t.Key)
	_, err := tx.Exec(`INSERT INTO trouble (name, fingerprint, says, since, count, last, others) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, says = excluded.says, since = excluded.since,
		count = excluded.count, last = excluded.last, others = excluded.others`,
		t.Key, t.Fingerprint, t.Says, db.Millis(t.Since), t.Count, db.Millis(t.Last), others)
	return err
}

// Clear takes the trouble away; where there is none, nothing changes.
func Clear(tx *db.Tx, key string) error {
	tx.Changed("trouble", key)
	_, err := tx.Exec(`DELETE FROM trouble WHERE name = $1`, key)
	return err
}

const selectTrouble = `SELECT name, fingerprint, says, since, count, last, others FROM trouble `

func scan(r db.Row) (t trouble.Trouble, err error) {
	var since, last int64
	var others string
	if err = r.Scan(&t.Key, &t.Fingerprint, &t.Says, &since, &t.Count, &last, &others); err != nil {
		return t, err
	}
	t.Since, t.Last = db.Time(since), db.Time(last)
	t.Others, err = db.FromJSON[[]trouble.Other]("the trouble of "+t.Key, others)
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
