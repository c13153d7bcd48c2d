package db_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

func set(name, value string) func(*db.Tx) error {
	return func(tx *db.Tx) error {
		_, err := tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
		return err
	}
}

func get(t *testing.T, d *db.DB, name string) (value string) {
	t.Helper()
	dbtest.Read(t, d, func(tx *db.Tx) (err error) {
		value, _, err = db.One(tx, db.Text, `SELECT value FROM setting WHERE name = $1`, name)
		return err
	})
	return value
}

func wantKind(t *testing.T, err error, kind fault.Kind, says ...string) {
	t.Helper()
	if fault.KindOf(err) != kind {
		t.Fatalf("error %v is %v, want %v", err, fault.KindOf(err), kind)
	}
	for _, s := range says {
		if !strings.Contains(err.Error()+"\n"+fault.HintOf(err), s) {
			t.Errorf("error %q with hint %q does not say %q", err, fault.HintOf(err), s)
		}
	}
}

func TestOpenRefusesAddresses(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{
		"relative":        "sqlite:record.db",
		"not clean":       "sqlite:/tmp/../etc/record.db",
		"another scheme":  "mysql://root@localhost/mesh",
		"nothing":         "",
		"not an address":  "postgres://user:geheim@host:port/mesh",
		"folder is there": "sqlite:/nowhere-at-all/record.db",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := db.Open(t.Context(), dsn)
			if err == nil {
				t.Fatal(d.Close())
			}
			wantKind(t, err, fault.Invalid)
			if strings.Contains(err.Error()+fault.HintOf(err), "geheim") {
				t.Errorf("the error holds the password: %q", err)
			}
		})
	}
}

func TestAnUnreachableServerIsUnavailableAndKeepsThePassword(t *testing.T) {
	t.Parallel()
	_, err := db.Open(t.Context(), "postgres://mesh:geheim@/mesh?host="+t.TempDir())
	wantKind(t, err, fault.Unavailable, "mesh")
	if strings.Contains(err.Error(), "geheim") {
		t.Errorf("the error holds the password: %q", err)
	}
}

func TestWriteIsDurableAndReadsBack(t *testing.T) {
	t.Parallel()
	dbtest.EachBare(t, func(t *testing.T, dsn string) {
		d, err := db.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Resume(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
		dbtest.Write(t, d, set("a", "b\x00c\xff"))
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = dbtest.Open(t, dsn, "c1")
		if got := get(t, d, "a"); got != "b\uFFFDc\uFFFD" {
			t.Errorf("read back %q", got)
		}
		if d.Epoch() != 1 {
			t.Errorf("a restart moved the epoch to %d", d.Epoch())
		}
	})
}

func TestAWriteThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Write(t, d, set("a", "old"))
		mine := fault.New(fault.Denied, "no")
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			if err := set("a", "new")(tx); err != nil {
				return err
			}
			return mine
		})
		if !errors.Is(err, mine) {
			t.Errorf("error %v, want the one that was returned", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = d.Write(t.Context(), func(tx *db.Tx) error {
				_ = set("a", "new")(tx)
				panic("in the middle")
			})
		}()
		ctx, cancel := context.WithCancel(t.Context())
		err = d.Write(ctx, func(tx *db.Tx) error {
			cancel()
			return set("a", "new")(tx)
		})
		wantKind(t, err, fault.Unavailable)
		wantKind(t, d.Write(ctx, set("a", "new")), fault.Unavailable)
		if got := get(t, d, "a"); got != "old" {
			t.Errorf("read %q, want what was there", got)
		}
		dbtest.Write(t, d, set("a", "later"))
	})
}

func TestAReadIsOneStateAndChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Write(t, d, set("a", "old"))
		dbtest.Read(t, d, func(tx *db.Tx) error {
			look := func() string {
				v, _, err := db.One(tx, db.Text, `SELECT value FROM setting WHERE name = 'a'`)
				if err != nil {
					t.Error(err)
				}
				return v
			}
			before := look()
			dbtest.Write(t, d, set("a", "new"))
			if after := look(); after != before {
				t.Errorf("one read saw %q and then %q", before, after)
			}
			return nil
		})
		if err := d.Read(t.Context(), set("a", "by a read")); err == nil {
			t.Error("a read could write")
		}
		if got := get(t, d, "a"); got != "new" {
			t.Errorf("read %q", got)
		}
	})
}

func TestRowsAndConstraints(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(`INSERT INTO declared (module, node, build, write_id) VALUES ('a', 'b', 'c', 1)`)
			return err
		}), fault.Conflict)
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(`INSERT INTO no_such_table (a) VALUES (1)`)
			return err
		}), fault.Broken)
		dbtest.Read(t, d, func(tx *db.Tx) error {
			_, found, err := db.One(tx, db.Text, `SELECT value FROM setting WHERE name = 'none'`)
			if found {
				t.Error("found what is not there")
			}
			return err
		})
	})
}

func TestTheFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	dsn := dbtest.BareSQLite(t)
	d := dbtest.Open(t, dsn, "c1")
	dbtest.Write(t, d, set("a", "b"))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(strings.TrimPrefix(dsn, "sqlite:") + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("the file %q has mode %v", info.Name(), info.Mode())
		}
	}
}

func TestMissingNamesTheNearest(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"sit": `did you mean "site"?`, "stie": `did you mean "site"?`, "kubernetes": "", "": ""} {
		err := db.Missing("module", name, []string{"site", "dotfiles", "base"})
		wantKind(t, err, fault.NotFound)
		if got := fault.HintOf(err); got != want {
			t.Errorf("%q: hint %q, want %q", name, got, want)
		}
	}
}

func TestAFileMayBeCalledAnything(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a?mode=memory", "a#b%20c", "a b;DROP TABLE 'x'", "ä\n"} {
		path := filepath.Join(t.TempDir(), name)
		dbtest.Write(t, dbtest.Open(t, "sqlite:"+path, "c"), set("a", "b"))
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q: the record is elsewhere: %v", path, err)
		}
	}
}

// Whoever has a record anew begins as whoever opens it does.
func TestARecordAnewKnowsNothing(t *testing.T) {
	t.Parallel()
	dbtest.EachAddress(t, func(t *testing.T, dsn string) {
		gone := dbtest.Open(t, dsn, "c")
		dbtest.Write(t, gone, set("a", "1"))
		d := gone.Anew()
		wantKind(t, d.Write(t.Context(), set("a", "2")), fault.Broken, "neither resumed nor taken over")
		if _, err := d.Resume(t.Context(), "another"); fault.KindOf(err) != fault.Conflict {
			t.Errorf("another resumes it: %v", err)
		}
		if _, err := d.Resume(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		dbtest.Write(t, d, set("a", "3"))
		if got := get(t, d, "a"); got != "3" {
			t.Errorf("it is %q", got)
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			since, err := tx.Since(0)
			if since.Known {
				t.Errorf("it knows what the one before has written: %+v", since)
			}
			return err
		})
	})
}

// A write whose context ends before it is committed is not.
func TestAWriteThatIsGivenUpIsNotCommitted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, end := context.WithCancel(t.Context())
		err := d.Write(ctx, func(tx *db.Tx) error {
			defer end()
			return set("a", "1")(tx)
		})
		if err == nil {
			t.Error("it is said to be durable")
		}
		if got := get(t, d, "a"); got != "" {
			t.Errorf("it is %q", got)
		}
		dbtest.Write(t, d, set("a", "2"))
	})
}
