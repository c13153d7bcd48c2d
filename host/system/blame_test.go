package system_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"noxmesh/host/system"
)

// What programs say of a disk is told from whatever else they say, and named by the path
// that they name with it.
func TestAProgramBlamesADisk(t *testing.T) {
	t.Parallel()
	full, shut := t.TempDir(), t.TempDir()
	for dir, how := range map[string]uintptr{full: 0, shut: syscall.MS_RDONLY} {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", how, "size=4k,nr_inodes=1"); err != nil {
			t.Skipf("only root may mount a file system: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	}
	for said, want := range map[string]struct {
		no error
		at string
	}{
		"useradd: " + full + "/passwd.12 file write error: No space left on device\nmore":            {syscall.ENOSPC, full},
		"dpkg: error:\n cannot copy for './x' to '" + full + "/x': failed (No space left on device)": {syscall.ENOSPC, full},
		"Error: open " + shut + "/lock: read-only file system":                                       {syscall.EROFS, shut},
		"E: Write error - write (28: No space left on device)":                                       {syscall.ENOSPC, full},
		"E: You don't have enough free space in " + full + "/archives/.":                             {syscall.ENOSPC, full},
		"E: List directory is missing. - Acquire (30: Read-only file system)":                        {syscall.EROFS, shut},
		"cannot read '/x' and '" + full + "/y': No space left on device":                             {syscall.ENOSPC, full},
		"useradd: UID 0 is not unique\nNo space to be seen":                                          {},
		"": {},
	} {
		err := system.Blamed(said, "/", full, shut)
		if !errors.Is(err, want.no) || want.at != "" && !strings.Contains(err.Error(), `"`+want.at+`"`) {
			t.Errorf("of %q it says %v, want %v at %s", said, err, want.no, want.at)
		}
	}
	if err := system.Blamed("x: Input/output error"); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if err := system.Unwritable("/", shut); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), shut) {
		t.Error(err)
	}
	if err := system.Unwritable("/"); err != nil {
		t.Error(err)
	}
}
