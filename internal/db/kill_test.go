package db_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dsn := os.Getenv("MESH_DB_WRITER"); dsn != "" {
		if err := writeForEver(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dsn := os.Getenv("MESH_DB_MOVE_ON"); dsn != "" {
		if err := db.MoveOn(context.Background(), dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// writeForEver writes one number after another, and says each once it is acknowledged.
func writeForEver(dsn string) error {
	ctx := context.Background()
	d, err := db.Open(ctx, dsn)
	if err != nil {
		return err
	}
	if _, err := d.Resume(ctx, "victim"); err != nil {
		return err
	}
	for {
		var n int64
		err := d.Write(ctx, func(tx *db.Tx) (err error) {
			if n, _, err = db.One(tx, db.Number, `SELECT count(*) FROM setting`); err != nil {
				return err
			}
			return set(strconv.FormatInt(n, 10), "written")(tx)
		})
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	t.Parallel()
	dbtest.EachBare(t, func(t *testing.T, dsn string) {
		last := int64(-1)
		for range 6 {
			last = max(last, runAndKill(t, dsn, 1+rand.IntN(40)))
			d := dbtest.Open(t, dsn, "victim")
			dbtest.Read(t, d, func(tx *db.Tx) error {
				names, err := db.All(tx, db.Text, `SELECT name FROM setting`)
				there := map[string]bool{}
				for _, n := range names {
					there[n] = true
				}
				for n := range last + 1 {
					if !there[strconv.FormatInt(n, 10)] {
						t.Errorf("write %d was acknowledged and is lost", n)
					}
				}
				if over := int64(len(names)) - 1 - last; over < 0 || over > 1 {
					t.Errorf("%d rows after %d was acknowledged last", len(names), last)
				}
				last = int64(len(names)) - 1
				return err
			})
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// runAndKill lets a process write until it has said so often, kills it, and
// returns the last number that it said.
func runAndKill(t *testing.T, dsn string, after int) (last int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MESH_DB_WRITER="+dsn)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last = -1
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if last, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
			t.Errorf("the writer said %q", lines.Text())
		}
		if after--; after == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the writer ended by itself")
	}
	return last
}
