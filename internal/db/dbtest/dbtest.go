package dbtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// EachAddress runs the test on the address of a database in which there is
// nothing yet, once per database.
func EachAddress(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Postgres(t))
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

// SQLite is the address of a file that is not there yet.
func SQLite(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "record.db")
}

// The cluster of this test binary, and how many databases have been made in it.
var (
	cluster   = sync.OnceValues(start)
	databases atomic.Int64
)

// Postgres is the address of a new and empty database.
func Postgres(t testing.TB) string {
	t.Helper()
	if os.Getenv("MESH_TEST_NO_POSTGRES") == "1" {
		fmt.Fprintf(os.Stderr, "\n*** %s: NOT RUN ON POSTGRES, because MESH_TEST_NO_POSTGRES=1 ***\n", t.Name())
		t.SkipNow()
	}
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("t%d", databases.Add(1))
	if err := c.create(name); err != nil {
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
