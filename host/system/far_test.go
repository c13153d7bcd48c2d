package system

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/fault"
)

func TestWhatIsMounted(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n": "/mnt2 ext3",
		"36 35 0:50 / /a\\040b\\134c rw - nfs4 server:/x rw\n":                             "/a b\\c nfs4",
		"36 35 0:50 / /x rw shared:1 - fuse.sshfs me@there: rw\n":                          "/x fuse.sshfs",
		"36 35 0:50 / /x rw":      "",
		"36 35 0:50 - ext4":       "",
		"36 35 0:50 / /x rw - \n": "",
		"":                        "",
	} {
		at, kind, ok := mounted(line)
		if got := strings.TrimSpace(at + " " + kind); got != want || ok != (want != "") {
			t.Errorf("%q is %q %v, want %q", line, got, ok, want)
		}
	}
	for kind, want := range map[string]bool{"nfs4": true, "fuse.sshfs": true, "fuse": true, "ext4": false, "overlay": false, "fuseblk": false, "": false} {
		if isFar(kind) != want {
			t.Errorf("%q is far: %v", kind, !want)
		}
	}
}

// A service manager that takes the call and says nothing is not waited for.
func TestAServiceManagerThatDoesNotAnswerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "private")
	l, err := net.Listen("unix", socket)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	if _, err := unitsAt(t.Context(), socket, time.Millisecond); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), socket) {
		t.Error(err)
	}
}
