package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"noxmesh/internal/db"
)

// Holder is who holds the records that Each opens.
const Holder = "controller-of-the-test"

// Each runs the test on an empty record that can be written, once per database.
func Each(t *testing.T, test func(t *testing.T, d *db.DB)) {
	t.Helper()
	EachAddress(t, func(t *testing.T, dsn string) {
		t.Helper()
		test(t, Open(t, dsn, Holder))
	})
}

// EachAddress runs the test on the address of an empty record, once per database.
func EachAddress(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	each(t, SQLite, Postgres, test)
}

// EachBare runs the test on the address of a database in which there is nothing
// yet, not even the tables of a record, once per database.
func EachBare(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	each(t, BareSQLite, BarePostgres, test)
}

func each(t *testing.T, sqlite, postgres func(testing.TB) string, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, postgres(t))
	})
}

// Open opens the record for a holder, who resumes it, until the test ends.
func Open(t testing.TB, dsn, holder string) *db.DB {
	t.Helper()
	d, err := db.Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := d.Resume(context.Background(), holder); err != nil {
		t.Fatal(err)
	}
	return d
}

// Empty is a SQLite file of a record in which nothing is: making the tables
// anew for each test would be a quarter of what the tests of a room cost.
var Empty = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "mesh-record-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "record.db")
	if err := makeTables("sqlite:" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func makeTables(dsn string) error {
	d, err := db.Open(context.Background(), dsn)
	if err != nil {
		return err
	}
	return d.Close()
}

// BareSQLite is the address of a file that is not there yet.
func BareSQLite(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "record.db")
}

// SQLite is the address of an empty record in a file.
func SQLite(t testing.TB) string {
	t.Helper()
	file, err := Empty()
	if err != nil {
		t.Fatal(err)
	}
	dsn := BareSQLite(t)
	if err := os.WriteFile(strings.TrimPrefix(dsn, "sqlite:"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// The cluster of this test binary, whether it has an empty record to copy, and
// how many databases have been made in it.
var (
	cluster   = sync.OnceValues(start)
	pattern   = sync.OnceValue(makePattern)
	databases atomic.Int64
)

// copied is the database that each empty record in Postgres is a copy of.
const copied = "empty"

func makePattern() error {
	c, err := cluster()
	if err != nil {
		return err
	}
	if err := c.create(copied, "template1"); err != nil {
		return err
	}
	return makeTables(c.address(copied))
}

// BarePostgres is the address of a new database with nothing in it.
func BarePostgres(t testing.TB) string {
	t.Helper()
	return newDatabase(t, "template1")
}

// Postgres is the address of an empty record in a database of its own.
func Postgres(t testing.TB) string {
	t.Helper()
	return newDatabase(t, copied)
}

func newDatabase(t testing.TB, like string) string {
	t.Helper()
	if os.Getenv("MESH_TEST_NO_POSTGRES") == "1" {
		fmt.Fprintf(os.Stderr, "\n*** %s: NOT RUN ON POSTGRES, because MESH_TEST_NO_POSTGRES=1 ***\n", t.Name())
		t.SkipNow()
	}
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	if like == copied {
		if err := pattern(); err != nil {
			t.Fatal(err)
		}
	}
	name := fmt.Sprintf("t%d", databases.Add(1))
	if err := c.create(name, like); err != nil {
		t.Fatal(err)
	}
	return c.address(name)
}

// Write runs f in a write that must commit.
func Write(t testing.TB, d *db.DB, f func(tx *db.Tx) error) {
	t.Helper()
	if err := d.Write(context.Background(), f); err != nil {
		t.Fatal(err)
	}
}

// Read runs f in a read that must succeed.
func Read(t testing.TB, d *db.DB, f func(tx *db.Tx) error) {
	t.Helper()
	if err := d.Read(context.Background(), f); err != nil {
		t.Fatal(err)
	}
}
