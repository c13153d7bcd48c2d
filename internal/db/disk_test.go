package db_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

// small is a folder on a filesystem of its own with this much room.
func small(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a full disk is tested on a small tmpfs, which only root may mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestAFullDiskLosesNothingAndIsNamed(t *testing.T) {
	t.Parallel()
	dir := small(t, "2m")
	d := dbtest.Open(t, "sqlite:"+filepath.Join(dir, "record.db"), "c")
	dbtest.Write(t, d, set("a", "old"))
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	written := 0
	var err error
	for ; err == nil && written < 1000; written++ {
		err = d.Write(t.Context(), func(tx *db.Tx) error {
			if err := set("a", "new")(tx); err != nil {
				return err
			}
			if err := set("row/"+strconv.Itoa(written), strings.Repeat("x", 20_000))(tx); err != nil {
				return err
			}
			return set("a", "old")(tx)
		})
	}
	wantKind(t, err, fault.Unavailable, dir, "less than 1 MiB free of 2 MiB on ", "make room")
	if got := get(t, d, "a"); got != "old" {
		t.Errorf("after the disk was full the record says %q", got)
	}
	for n := range written - 1 {
		if got := get(t, d, "row/"+strconv.Itoa(n)); len(got) != 20_000 {
			t.Errorf("row %d of %d was acknowledged and has %d bytes", n, written-1, len(got))
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	dbtest.Write(t, d, set("a", "room again"))
}

func TestARecordThatCannotBeginIsUnavailable(t *testing.T) {
	t.Parallel()
	dir := small(t, "64k")
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 60<<10), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	_, err := db.Open(t.Context(), "sqlite:"+filepath.Join(dir, "record.db"))
	wantKind(t, err, fault.Unavailable, dir)
}
