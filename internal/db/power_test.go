//go:build meshcrash && power

package db_test

import (
	"bufio"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/power"
)

// writes is how many writes the writer has acknowledged when it is ended.
const writes = 5

// cutWriter runs this binary as a program with a record on the disk. It gives
// what it said before the power was cut at the point, or before it was ended; and
// how much more it said while it was ended, when no disk was there any more.
func cutWriter(t *testing.T, d *power.Disk, variable string, env ...string) (said []string, more int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), env...), variable+"=sqlite:"+d.Dir+"/record.db")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if len(said) == writes {
			more++
			continue
		}
		if said = append(said, lines.Text()); len(said) == writes {
			d.Fail(power.Lost) // or the writer would go on
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it is killed, or has ended
	return said, more
}

// eachCut runs the test with each cut of a run.
func eachCut(t *testing.T, run func(effects string), test func(t *testing.T, c power.Cut)) {
	t.Helper()
	passed := filepath.Join(t.TempDir(), "effects")
	run("MESH_EFFECTS=" + passed)
	text, err := os.ReadFile(passed)
	if err != nil {
		t.Fatal(err)
	}
	cuts := power.Cuts(string(text))
	t.Logf("%d power cuts", len(cuts))
	if len(cuts) < 10 {
		t.Fatalf("only %v", cuts)
	}
	for _, c := range cuts {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

func TestPowerIsCutWhileTheRecordIsWritten(t *testing.T) {
	t.Parallel()
	blank := power.Blank(t, "16M")
	eachCut(t, func(effects string) { cutWriter(t, blank.Mount(t), "MESH_DB_WRITER", effects) }, func(t *testing.T, c power.Cut) {
		disk := blank.Mount(t)
		acknowledged, more := cutWriter(t, disk, "MESH_DB_WRITER", power.Disks{disk}.Env(c)...)
		disk.Back()
		d := dbtest.Open(t, "sqlite:"+disk.Dir+"/record.db", "victim")
		var there []string
		dbtest.Read(t, d, func(tx *db.Tx) (err error) {
			there, err = db.All(tx, db.Text, `SELECT name FROM setting`)
			return err
		})
		for _, name := range acknowledged {
			if !slices.Contains(there, name) {
				t.Errorf("%s was acknowledged, and there is %v", name, there)
			}
		}
		if over := len(there) - len(acknowledged); over > more+1 {
			t.Errorf("%v and %d more were acknowledged, and %v are there", acknowledged, more, there)
		}
		dbtest.Write(t, d, set("after", "it"))
	})
}

func TestPowerIsCutWhileTheSchemaMoves(t *testing.T) {
	t.Parallel()
	disk := power.New(t, "16M")
	d, err := db.Open(t.Context(), "sqlite:"+disk.Dir+"/record.db")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Resume(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		dbtest.Write(t, d, set(strconv.Itoa(n), strings.Repeat("kept", 1000)))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	before := disk.Image()
	eachCut(t, func(effects string) { cutWriter(t, before.Mount(t), "MESH_DB_MOVE_ON", effects) }, func(t *testing.T, c power.Cut) {
		disk := before.Mount(t)
		cutWriter(t, disk, "MESH_DB_MOVE_ON", power.Disks{disk}.Env(c)...)
		if c.Point == power.End {
			disk.Fail(c.Log)
		}
		disk.Back()
		path := disk.Dir + "/record.db"
		moved := movedOn(t, path)
		copies, err := filepath.Glob(path + ".schema-*[0-9]")
		if err != nil {
			t.Fatal(err)
		}
		if moved && len(copies) != 1 || c.Point == power.End && !moved {
			t.Errorf("moved on: %v, with the copies %v", moved, copies)
		}
		for _, c := range copies {
			if movedOn(t, c) {
				t.Errorf("the copy %s has the newer schema", c)
			}
		}
		if !moved { // a version that has moved on opens it no more with fewer
			cutWriter(t, disk, "MESH_DB_MOVE_ON")
		}
		if !movedOn(t, path) {
			t.Error("it does not go on from there")
		}
	})
}

// movedOn reads a whole record, of either schema.
func movedOn(t *testing.T, path string) bool {
	t.Helper()
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var says string
	if err := pool.QueryRow("PRAGMA quick_check").Scan(&says); err != nil || says != "ok" {
		t.Fatalf("%s is damaged: %s %v", path, says, err)
	}
	var rows, tables int
	if err := pool.QueryRow("SELECT count(*) FROM setting WHERE length(value) = 4000").Scan(&rows); err != nil || rows != 40 {
		t.Errorf("%s holds %d of 40 rows, %v", path, rows, err)
	}
	if err := pool.QueryRow("SELECT count(*) FROM sqlite_master WHERE name = 'next'").Scan(&tables); err != nil {
		t.Fatal(err)
	}
	return tables == 1
}
