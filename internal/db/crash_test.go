//go:build meshcrash

package db_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

// TestEveryEffectMayBeTheLast kills the process before and after each effect
// of opening a record and writing to it, and goes on from what is left.
func TestEveryEffectMayBeTheLast(t *testing.T) {
	t.Parallel()
	points := []string{
		"db.file.create#1:before", "db.file.create#1:after", "db.schema.migrate#1:before", "db.schema.migrate#1:after",
		"db.write.commit#1:before", "db.write.commit#1:after", // the epoch
		"db.write.commit#2:before", "db.write.commit#2:after", "db.write.commit#5:before", "db.write.commit#5:after",
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dsn := dbtest.BareSQLite(t)
			passed := filepath.Join(t.TempDir(), "effects")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "MESH_DB_WRITER="+dsn, "MESH_CRASH="+point, "MESH_EFFECTS="+passed)
			out, err := cmd.Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it ended with %v: %s", err, exit.Stderr)
			}
			if seen, err := os.ReadFile(passed); err != nil || !strings.Contains(string(seen), "crash "+point) {
				t.Fatalf("the point was not reached: %s %v", seen, err)
			}
			d := dbtest.Open(t, dsn, "victim")
			if d.Epoch() != 1 {
				t.Errorf("epoch %d", d.Epoch())
			}
			acknowledged := strings.Fields(string(out))
			var there []string
			dbtest.Read(t, d, func(tx *db.Tx) (err error) {
				there, err = db.All(tx, db.Text, `SELECT name FROM setting`)
				return err
			})
			if over := len(there) - len(acknowledged); over < 0 || over > 1 {
				t.Errorf("%d were acknowledged, and %d are there", len(acknowledged), len(there))
			}
			dbtest.Write(t, d, set("after", "it"))
		})
	}
}

// TestAnEffectThatTheDiskRefusesChangesNothing lets the commit fail as a full, a
// broken and a read-only disk would.
func TestAnEffectThatTheDiskRefusesChangesNothing(t *testing.T) { //nolint:paralleltest // it sets the environment
	for n, c := range [][2]string{{"ENOSPC", " free of "}, {"EIO", "does not read or write"}, {"EROFS", "mounted read-only"}} {
		name, says := c[0], c[1]
		dsn := dbtest.BareSQLite(t)
		d := dbtest.Open(t, dsn, "c")
		dbtest.Write(t, d, set("a", "old"))
		// Each record before this one has committed three times, and failed once.
		t.Setenv("MESH_FAIL", fmt.Sprintf("db.write.commit#%d:%s", 3+4*n, name))
		wantKind(t, d.Write(t.Context(), set("a", "new")), fault.Unavailable, filepath.Dir(strings.TrimPrefix(dsn, "sqlite:")), says)
		if got := get(t, d, "a"); got != "old" {
			t.Errorf("%s: the record says %q", name, got)
		}
		dbtest.Write(t, d, set("a", "new"))
	}
}
