package db

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"noxmesh/internal/fault"
)

// newer is the migrations that a later version has: this one's, already done, and one more.
func newer(statement string) fstest.MapFS {
	files := fstest.MapFS{fmt.Sprintf("%04d_next.sql", schema()+1): {Data: []byte("-- +goose Up\nCREATE TABLE next (a bigint);\n" + statement)}}
	for n := range schema() {
		files[fmt.Sprintf("%04d_done.sql", n+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE never (a bigint);\n")}
	}
	return files
}

// schema is the newest schema that this program knows.
func schema() int {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return 0
	}
	return len(files)
}

func start(t *testing.T, path string) *DB {
	t.Helper()
	d, err := Open(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if _, err := d.Resume(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	err = d.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO setting (name, value) VALUES ('a', 'kept') ON CONFLICT DO NOTHING`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func kept(t *testing.T, path string) string {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var value string
	if err := pool.QueryRow(`SELECT value FROM setting WHERE name = 'a'`).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestANewerSchemaBeginsWithACheckedBackup(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "record.db")
	d := start(t, path)
	backup := fmt.Sprintf("%s.schema-%d", path, schema())
	if _, err := os.Stat(backup); err == nil {
		t.Fatal("a backup was made of a record that had just begun")
	}
	for _, left := range []string{backup, backup + ".partial"} { // an earlier try was cut short
		if err := os.WriteFile(left, []byte("half a copy"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.migrateBy(t.Context(), newer("")); err != nil {
		t.Fatal(err)
	}
	if got := kept(t, backup); got != "kept" {
		t.Errorf("the backup says %q", got)
	}
	if _, err := os.Stat(backup + ".partial"); err == nil {
		t.Error("the unfinished copy was left behind")
	}
	info, err := os.Stat(backup)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", info.Mode(), err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), "sqlite:"+path) // this program does not know the next
	if fault.KindOf(err) != fault.Conflict || fault.HintOf(err) == "" {
		t.Errorf("a record of a newer version: %v", err)
	}
	if got := kept(t, path); got != "kept" {
		t.Errorf("the record says %q", got)
	}
}

func TestASchemaThatFailsLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "record.db")
	d := start(t, path)
	if err := d.migrateBy(t.Context(), newer("CREATE TABLE setting (a bigint);")); err == nil {
		t.Fatal("a migration that fails did not")
	}
	var n int64
	if err := d.writer.QueryRow(`SELECT count(*) FROM sqlite_master WHERE name = 'next'`).Scan(&n); err != nil || n != 0 {
		t.Errorf("half of the migration is there: %d, %v", n, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, path)
}

// fill makes the record larger than one page of anything.
func fill(t *testing.T, d *DB) {
	t.Helper()
	err := d.Write(t.Context(), func(tx *Tx) error {
		for i := range int64(200) {
			_, err := tx.Exec(`INSERT INTO trouble (name, fingerprint, says, since, count, last) VALUES ($1, '', $2, 0, 0, 0)`,
				string(rune('a'+i%26))+string(bytes.Repeat([]byte{'x'}, int(i))), string(bytes.Repeat([]byte("words "), 100)))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestADamagedFileIsRefusedAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(b []byte) []byte{
		"flipped pages": func(b []byte) []byte {
			for at := 3 * 4096; at+4096 <= len(b); at += 2 * 4096 {
				copy(b[at:], bytes.Repeat([]byte{0xff}, 600))
			}
			return b
		},
		"one page of one table": func(b []byte) []byte {
			page := bytes.LastIndex(b, []byte("words words")) / 4096 * 4096
			copy(b[page:], bytes.Repeat([]byte{0xff}, 8))
			return b
		},
		"header":         func(b []byte) []byte { copy(b, "something else..."); return b },
		"not a database": func([]byte) []byte { return bytes.Repeat([]byte("a letter to a friend\n"), 400) },
		"cut short":      func(b []byte) []byte { return b[:len(b)/2/4096*4096] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "record.db")
			d := start(t, path)
			fill(t, d)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b = damage(b)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Open(context.Background(), "sqlite:"+path)
			if fault.KindOf(err) != fault.Broken || fault.HintOf(err) == "" {
				t.Fatalf("opened with %v (%v), hint %q", err, fault.KindOf(err), fault.HintOf(err))
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(after, b) {
				t.Errorf("the damaged file was changed (%v)", err)
			}
		})
	}
}
