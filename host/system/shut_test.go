package system

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file system that keeps neither modes nor links says no more than that it is not
// permitted.
func TestAFileSystemThatKeepsNoModesIsNamed(t *testing.T) {
	t.Parallel()
	for magic, want := range map[int64]string{
		0x4d44: "vfat", 0x2011bab0: "exfat", 0x65735546: "fuse", 0x6969: "nfs", 0xff534d42: "cifs", -0x1acb2be: "smb", 0xef53: "", 0x01021994: "", 0x9123683e: "",
	} {
		if got := foreign(magic); got != want {
			t.Errorf("%x is %q, want %q", magic, got, want)
		}
	}
	dir, r := machine(t)
	must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
	if got := r.Odd("/a"); got != "" {
		t.Errorf("it says %q of this one", got)
	}
	if got := r.Say(syscall.EPERM, "/a"); got != error(syscall.EPERM) { //nolint:errorlint // itself
		t.Errorf("it says %v where there is nothing to say", got)
	}
}

func TestWhatIsFreeIsKnown(t *testing.T) {
	t.Parallel()
	_, r := machine(t)
	top, err := r.Dir("/")
	must(t, err)
	s, err := top.Space()
	must(t, err)
	if s.Total < 1<<20 || s.Bytes > s.Total || s.Block < 512 {
		t.Errorf("%+v", s)
	}
}

func TestWhatStandsOnTheWayIsSaidOnce(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	must(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o644))
	said := r.Say(r.Say(syscall.ENOTDIR, "/f/x"), "/f/x").Error()
	if strings.Count(said, "is a file") != 1 {
		t.Errorf("it says %s", said)
	}
}
