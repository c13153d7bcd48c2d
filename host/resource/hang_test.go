package resource

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"noxmesh/declaration"
	"noxmesh/report"
)

// silent mounts a file system at dir whose program never answers. It returns what
// ends that program.
func silent(t *testing.T, dir string) (end func()) {
	t.Helper()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("a file system that does not answer takes root and /dev/fuse: %v", err)
	}
	must(t, os.MkdirAll(dir, 0o755))
	err = unix.Mount("silent", dir, "fuse.silent", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse.Fd()))
	if err != nil {
		must(t, fuse.Close())
		t.Skipf("no file system of a program can be mounted here: %v", err)
	}
	end = sync.OnceFunc(func() {
		must(t, fuse.Close()) // whoever waits for it is told that it is gone
		must(t, unix.Unmount(dir, unix.MNT_DETACH))
	})
	t.Cleanup(end)
	return end
}

// A file system that does not answer is named by whatever lies in it, and holds up
// nothing else; when it has gone, all is well.
func TestAFileSystemThatDoesNotAnswerHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := m.depot
	end := silent(t, m.at("net/share"))
	must(t, os.Symlink("/net/share/deep", m.at("way")))
	all := []declaration.Resource{
		d.file("m/a", "/etc/a", "one"), d.file("m/b", "/net/share/x/b", "two"), directory("m/c", "/net/share", "0755"),
		d.file("m/d", "/way/d", "three"), d.file("m/e", "/net/e", "four"), d.file("m/f", "/f", "five"),
	}
	all[5].After = []string{"m/b"}
	for range 2 {
		r := m.apply(all...)
		for i, want := range []report.State{"", report.StateBlocked, report.StateFailed, report.StateFailed, "", report.StateBlocked} {
			got := r.Resources[i]
			if want == "" && got.State != report.StateOK && got.State != report.StateChanged || want != "" && got.State != want {
				t.Errorf("%+v", got)
			}
			if want == report.StateFailed && !strings.Contains(got.Error, `the file system at "/net/share" (fuse.silent) does not answer`) {
				t.Errorf("%s: %s", got.ID, got.Error)
			}
		}
		if b, f := r.Resources[1].Error, r.Resources[5].Error; b != `"m/c" comes first, and is failed` || f != `"m/b" comes first, and is blocked` {
			t.Errorf("%s; %s", b, f)
		}
	}
	end()
	must(t, os.MkdirAll(m.at("net/share/deep"), 0o755))
	if r := m.apply(all...); r.Outcome != report.OutcomeApplied {
		t.Errorf("it has gone: %+v", r.Resources)
	}
}
