//go:build meshcrash

package db

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

const moves = "MESH_DB_MOVES" // the record that the test binary is to move

// older and moved are a schema and the next one.
func older() fstest.MapFS {
	return fstest.MapFS{"1_first.sql": {Data: []byte("-- +goose Up\nCREATE TABLE thing (name text PRIMARY KEY);\nINSERT INTO thing VALUES ('kept');\n")}}
}

func moved() fstest.MapFS {
	both := older()
	both["2_second.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nALTER TABLE thing ADD COLUMN size bigint NOT NULL DEFAULT 7;\n")}
	return both
}

// at opens the file and moves it to this schema.
func at(t *testing.T, path string, files fs.FS) (*DB, error) {
	t.Helper()
	e, err := parse("sqlite:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.prepare(); err != nil {
		t.Fatal(err)
	}
	d := &DB{engine: e, turn: make(chan struct{}, 1)}
	if d.writer, err = openSQLite(e.writes); err != nil {
		t.Fatal(err)
	}
	d.writer.SetMaxOpenConns(1)
	d.reader = d.writer
	t.Cleanup(func() { _ = d.writer.Close() })
	return d, d.migrateBy(t.Context(), files)
}

// TestAMoveOfTheSchemaMayBeTheLast kills the process before and after each effect
// of moving a record to a newer schema, and moves what is left.
func TestAMoveOfTheSchemaMayBeTheLast(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(moves); path != "" {
		if _, err := at(t, path, moved()); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range []string{"db.backup.copy", "db.backup.keep", "db.schema.migrate"} {
		for _, when := range []string{":before", ":after"} {
			point := name + "#1" + when
			t.Run(name+when, func(t *testing.T) { t.Parallel(); killedMove(t, "MESH_CRASH="+point) })
		}
		for _, with := range []string{":ENOSPC", ":EIO", ":EROFS"} {
			t.Run(name+with, func(t *testing.T) { t.Parallel(); killedMove(t, "MESH_FAIL="+name+"#1"+with) })
		}
	}
}

func killedMove(t *testing.T, how string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "record.db")
	d, err := at(t, path, older())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.writer.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^TestAMoveOfTheSchemaMayBeTheLast$", "-test.count=1")
	cmd.Env = append(os.Environ(), moves+"="+path, how)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("it ended well: %s", out)
	}
	if strings.HasPrefix(how, "MESH_CRASH=") && exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it was not killed: %v: %s", err, out)
	}
	if strings.HasPrefix(how, "MESH_FAIL=") && !strings.Contains(string(out), path) {
		t.Errorf("it does not say where: %s", out)
	}
	// A backup that stands there is whole.
	if _, err := os.Stat(path + ".schema-1"); err == nil {
		rowsOf(t, path+".schema-1", `SELECT count(*) FROM thing WHERE name = 'kept'`, 1)
	}
	if _, err := at(t, path, moved()); err != nil {
		t.Fatal(err)
	}
	rowsOf(t, path, `SELECT size FROM thing WHERE name = 'kept'`, 7)
	rowsOf(t, path+".schema-1", `SELECT count(*) FROM thing WHERE name = 'kept'`, 1)
	if _, err := os.Stat(path + ".schema-1.partial"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a backup is left: %v", err)
	}
}

func rowsOf(t *testing.T, path, query string, want int64) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var got int64
	if err := pool.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
		t.Errorf("%s of %s is %d (%v), want %d", query, filepath.Base(path), got, err, want)
	}
}
