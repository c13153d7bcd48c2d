package db_test

import (
	"testing"

	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
)

func TestOpenGivesAnEmptyRecord(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if d.Epoch() != 1 {
			t.Errorf("epoch %d, want 1", d.Epoch())
		}
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2)`, "a", "b\x00c")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = d.Read(t.Context(), func(tx *db.Tx) error {
			s, found, err := db.One(tx, db.Text, `SELECT value FROM setting WHERE name = $1`, "a")
			if s != "b\uFFFDc" || !found {
				t.Errorf("%q %v", s, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
