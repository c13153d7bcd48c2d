package db_test

import (
	"fmt"
	"testing"

	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
)

// A record in Postgres is copied before its schema moves, as one in SQLite is:
// each table to one beside it, which says what it said.
func TestARecordInPostgresIsKeptBesideTheNewOne(t *testing.T) {
	t.Parallel()
	dsn := dbtest.BarePostgres(t)
	d := dbtest.Open(t, dsn, "c")
	dbtest.Write(t, d, func(tx *db.Tx) error {
		_, err := tx.Exec(`INSERT INTO setting (name, value) VALUES ('a', 'kept')`)
		return err
	})
	var value string
	query := fmt.Sprintf(`SELECT value || (SELECT count(*) FROM before_%[1]d_fence) FROM before_%[1]d_setting WHERE name = 'a'`, db.Schema())
	if err := db.MoveOnAndAsk(t.Context(), dsn, query, &value); err != nil || value != "kept1" {
		t.Errorf("%q %v", value, err)
	}
}
