package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
)

// small is a file system of its own, mounted like this.
func small(t *testing.T, flags uintptr, with string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, with); err != nil {
		t.Skipf("only root may mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestARefusalSaysWhereAndWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags uintptr
		with  string
		files int
		want  []string
	}{
		"no room":   {0, "size=8m", 1, []string{"no space left on device", "less than 1 MiB free of 8 MiB on ", "make room there"}},
		"no inodes": {0, "size=1m,nr_inodes=3", 3, []string{"no space left on device", "hardly any of the 3 inodes of ", "remove files there"}},
		"read-only": {syscall.MS_RDONLY, "size=64k", 1, []string{"read-only file system", "mounted read-only", "mount -o remount,rw "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := small(t, c.flags, c.with)
			var err error
			for n := 0; n < c.files && err == nil; n++ {
				size := 10 << 20 / (c.files * c.files * c.files * c.files)
				err = os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), make([]byte, size), 0o600)
			}
			if err == nil {
				t.Fatal("nothing was refused")
			}
			for _, path := range []string{"", dir, filepath.Join(dir, "not/there/yet")} {
				said := disk.Say(fault.Wrap(fault.Conflict, err, "write"), path)
				for _, want := range append(c.want, dir) {
					if !strings.Contains(said.Error(), want) {
						t.Errorf("%q lacks %q", said, want)
					}
				}
				if why := disk.Why(err, dir).Error(); strings.Contains(why, "open ") || !strings.Contains(why, dir) {
					t.Errorf("%q is not the bare reason", why)
				}
				if fault.KindOf(said) != fault.Conflict || !errors.Is(said, err) {
					t.Errorf("%q is no longer what it was", said)
				}
				if again := disk.Say(fault.Add(said, "again"), "/"); strings.Count(again.Error(), dir+`"`) != strings.Count(said.Error(), dir+`"`) {
					t.Errorf("it is said twice: %q", again)
				}
			}
		})
	}
}

// named is a refusal in words of its own.
type named struct{ error }

func (n named) Error() string        { return "disk 7: " + n.error.Error() }
func (n named) Is(target error) bool { return errors.Is(n.error, target) }

func TestOnlyARefusalIsExplained(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("no space left on device"), fs.ErrNotExist, syscall.EACCES} {
		if got := disk.Say(err, "/"); !errors.Is(got, err) || fmt.Sprint(got) != fmt.Sprint(err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if got := disk.Say(syscall.ENOSPC, ""); got != error(syscall.ENOSPC) { //nolint:errorlint // itself
		t.Errorf("of nobody's path it says %v", got)
	}
	within := fault.Wrap(fault.Unavailable, errors.Join(&fs.PathError{Op: "write", Path: "/made-up", Err: named{syscall.ENOSPC}}, fs.ErrClosed), "copy")
	if got := disk.Why(within, "/").Error(); !strings.HasPrefix(got, "disk 7: no space left on device: ") {
		t.Errorf("the innermost error is no longer what it was: %q", got)
	}
	for no, want := range map[syscall.Errno]string{syscall.EIO: `the disk under "/" does not read or write`, syscall.EDQUOT: `a quota on "/"`} {
		if got := disk.Say(no, "/").Error(); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// A file that is replaced is the old one or the new one, and what was left of
// another attempt is in nobody's way.
func TestAFileIsReplacedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(disk.Staged(path), []byte("half of something longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"first", "", "second"} {
		if err := disk.Write(path, []byte(body)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != body {
			t.Errorf("it has %q, want %q: %v", got, body, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("its mode is %v: %v", info.Mode(), err)
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 1 {
		t.Errorf("left behind: %v, %v", all, err)
	}
}

func TestARefusedFileLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	dir := small(t, 0, "size=64k")
	path := filepath.Join(dir, "file")
	if err := disk.Write(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	err := disk.Write(path, make([]byte, 1<<20))
	for _, want := range []string{`write "` + path + `"`, "no space left on device", "make room there"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "old" {
		t.Errorf("it has %q: %v", got, err)
	}
	if _, err := os.Lstat(disk.Staged(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the half is still there: %v", err)
	}
}
