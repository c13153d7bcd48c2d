package system

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"noxmesh/internal/disk"
)

// Attributes is what stands against changing something beside its mode: also root is
// refused then, and not told why.
type Attributes struct {
	Immutable  bool // chattr +i
	AppendOnly bool // chattr +a
	Mount      bool // something is mounted at it
}

// Attributes is those of what is at this name; of the directory itself where it is empty.
// None where the file system does not say.
func (d *Dir) Attributes(name string) Attributes {
	if name != "" && d.single("stat", name) != nil {
		return Attributes{}
	}
	return attributes(d.fd, name)
}

func attributes(at int, name string) Attributes {
	var s unix.Statx_t
	err := retry(func() error {
		return unix.Statx(at, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_EMPTY_PATH, 0, &s)
	})
	if err != nil {
		return Attributes{}
	}
	has := s.Attributes & s.Attributes_mask
	return Attributes{has&unix.STATX_ATTR_IMMUTABLE != 0, has&unix.STATX_ATTR_APPEND != 0, has&unix.STATX_ATTR_MOUNT_ROOT != 0}
}

// Says is what they mean for what is at this path, and what to do; empty where they
// stand against nothing.
func (a Attributes) Says(p string) (what, todo string) {
	switch {
	case a.Immutable:
		return fmt.Sprintf("%q is immutable", p), "chattr -i " + p + " undoes that"
	case a.AppendOnly:
		return fmt.Sprintf("%q is append-only", p), "chattr -a " + p + " undoes that"
	case a.Mount:
		return fmt.Sprintf("something is mounted at %q", p), "umount " + p + ", or declare another path"
	}
	return "", ""
}

// met is an error of the kernel's, with what was met and what to do about it.
type met struct {
	err        error
	what, todo string
}

func (m *met) Error() string { return m.err.Error() + ": " + m.what + "; " + m.todo }

func (m *met) Unwrap() error { return m.err }

// Say adds to an error of the file system that was met at p what there is that it
// speaks of, and what to do.
func (r *Root) Say(err error, p string) error {
	full := path.Join(r.dir, p)
	if disk.Refused(err) {
		return disk.Say(err, full)
	}
	var said *met
	if err == nil || errors.As(err, &said) {
		return err
	}
	if what, todo := r.why(err, p); what != "" {
		return &met{err, what, todo}
	}
	return err
}

func (r *Root) why(err error, p string) (what, todo string) {
	switch {
	case errors.Is(err, syscall.EPERM):
		if what, todo = r.attributed(p); what == "" {
			what, todo = keepsNothing(path.Join(r.dir, p))
		}
	case errors.Is(err, syscall.EBUSY):
		what, todo = r.attributed(p)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		what, todo = r.onTheWay(p)
	case errors.Is(err, syscall.ENAMETOOLONG):
		const most = 255
		for name := range strings.SplitSeq(p, "/") {
			if len(name) > most {
				return fmt.Sprintf("a name in it has %d bytes", len(name)), fmt.Sprintf("declare one of at most %d", most)
			}
		}
	}
	return what, todo
}

// attributed is what stands against changing p, by itself or by its folder.
func (r *Root) attributed(p string) (what, todo string) {
	for _, at := range []string{p, path.Dir(p)} {
		a := attributes(unix.AT_FDCWD, path.Join(r.dir, at))
		a.Mount = a.Mount && at == p
		if what, todo = a.Says(at); what != "" {
			return what, todo
		}
	}
	return "", ""
}

// onTheWay is the first thing on the way to p that is no directory.
func (r *Root) onTheWay(p string) (what, todo string) {
	parts := strings.Split(p, "/")
	for i := 2; i < len(parts); i++ {
		way := strings.Join(parts[:i], "/")
		if _, err := r.Dir(way); err == nil {
			continue
		} else if errors.Is(err, syscall.ELOOP) {
			return fmt.Sprintf("%q is a link that leads to itself", way), "remove it, or declare another path"
		}
		return fmt.Sprintf("%q is %s", way, r.kindAt(way)), "move it away, or declare another path"
	}
	return "", ""
}

// kindAt is what is at a path, in a word or two.
func (r *Root) kindAt(p string) string {
	info, err := lstat(unix.AT_FDCWD, path.Join(r.dir, p))
	switch {
	case err == nil && info.Mode.IsRegular():
		return "a file"
	case err == nil && info.Mode&fs.ModeSymlink != 0:
		return "a link to something else"
	}
	return "a device, socket or FIFO"
}

// keepsNothing is that the file system which would hold a path keeps no modes, no
// owners and no links of its own, and so refuses to be given them.
func keepsNothing(full string) (what, todo string) {
	on := disk.Of(full)
	if on.Mount == "" {
		return "", ""
	}
	var s unix.Statfs_t
	if unix.Statfs(on.Mount, &s) != nil {
		return "", ""
	}
	name := foreign(s.Type)
	if name == "" {
		return "", ""
	}
	return fmt.Sprintf("%q is a file system of type %s, which keeps owners, modes and links in its own way or not at all", on.Mount, name), "declare another path"
}

// foreign is the name of a type of file system that decides by itself whose a file is
// and who may use it; empty of any other.
func foreign(magic int64) string {
	names := map[int64]string{
		unix.MSDOS_SUPER_MAGIC: "vfat", unix.EXFAT_SUPER_MAGIC: "exfat", 0x5346544e: "ntfs", 0x7366746e: "ntfs3", unix.FUSE_SUPER_MAGIC: "fuse",
		unix.NFS_SUPER_MAGIC: "nfs", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb", unix.V9FS_MAGIC: "9p",
	}
	return names[magic&(1<<32-1)]
}

// Odd is that the file system which holds p keeps what it is given in its own way, or
// "" where it keeps it as it was given.
func (r *Root) Odd(p string) string {
	what, _ := keepsNothing(path.Join(r.dir, p))
	return what
}
