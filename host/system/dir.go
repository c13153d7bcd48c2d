package system

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// closed is the descriptor of a directory that was let go of. Nothing can be
// done in it, whatever has been opened since.
const closed = -1

// Dir is one directory, held open. Names are single: they have no slash, and are
// neither "." nor "..". A link at a name is never followed.
type Dir struct {
	fd   int
	path string // without links, from the root of the tree
	info Info
}

// openDir opens the directory that info was seen of. Whatever else has come to
// stand at its name is not entered.
func openDir(at int, name, path string) (*Dir, error) {
	fd, err := openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return holding(fd, path)
}

// holding is the directory of a descriptor, which is its own from here on.
func holding(fd int, path string) (*Dir, error) {
	d := &Dir{fd: fd, path: path}
	var err error
	if d.info, err = statOf(fd); err != nil {
		d.Close()
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return d, nil
}

// Close lets go of the directory. Those of a Root are closed by its Forget.
func (d *Dir) Close() {
	if d.fd != closed {
		_ = unix.Close(d.fd) // it was only read through
		d.fd = closed
	}
}

// Path is where the directory is, without links.
func (d *Dir) Path() string { return d.path }

// Device tells file systems apart.
func (d *Dir) Device() uint64 { return d.info.device }

// Info is the directory itself, as it was when it was reached.
func (d *Dir) Info() Info { return d.info }

// single is why name cannot be one of this directory, or nil.
func (d *Dir) single(op, name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return &fs.PathError{Op: op, Path: name, Err: syscall.EINVAL}
	}
	return nil
}

// failed is the error of one call, with the path that it was about.
func (d *Dir) failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path.Join(d.path, name), Err: err}
}

// Lstat is what is at this name, a link itself.
func (d *Dir) Lstat(name string) (Info, error) {
	if err := d.single("lstat", name); err != nil {
		return Info{}, err
	}
	info, err := lstat(d.fd, name)
	return info, d.failed("lstat", name, err)
}

// Readlink is what the link at this name points to, as it is written.
func (d *Dir) Readlink(name string) (string, error) {
	if err := d.single("readlink", name); err != nil {
		return "", err
	}
	for size := 256; ; size *= 4 {
		if target, whole, err := d.readlink(make([]byte, size), name); err != nil || whole {
			return target, err
		}
	}
}

// ReadlinkWith is Readlink in a buffer of the caller's, which must be larger than any target.
func (d *Dir) ReadlinkWith(b []byte, name string) (string, error) {
	if err := d.single("readlink", name); err != nil {
		return "", err
	}
	target, whole, err := d.readlink(b, name)
	if err == nil && !whole {
		err = d.failed("readlink", name, syscall.ENAMETOOLONG)
	}
	return target, err
}

func (d *Dir) readlink(b []byte, name string) (target string, whole bool, err error) {
	n, err := readlink(d.fd, name, b)
	if err != nil {
		return "", false, d.failed("readlink", name, err)
	}
	return string(b[:n]), n < len(b), nil
}

// Open opens a file, with the flags of os.OpenFile. What it makes only its owner may use.
func (d *Dir) Open(name string, flags int) (*os.File, error) {
	if err := d.single("open", name); err != nil {
		return nil, err
	}
	fd, err := openat(d.fd, name, flags|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, d.failed("open", name, err)
	}
	return os.NewFile(uintptr(fd), path.Join(d.path, name)), nil
}

// Mkdir makes a directory that only its owner may use; there must be nothing at this name.
func (d *Dir) Mkdir(name string) error {
	if err := d.single("mkdir", name); err != nil {
		return err
	}
	return d.failed("mkdir", name, retry(func() error { return unix.Mkdirat(d.fd, name, 0o700) }))
}

// Symlink makes a link; there must be nothing at this name.
func (d *Dir) Symlink(target, name string) error {
	if err := d.single("symlink", name); err != nil {
		return err
	}
	return d.failed("symlink", name, retry(func() error { return unix.Symlinkat(target, d.fd, name) }))
}

// Rename moves one name of this directory over another.
func (d *Dir) Rename(from, to string) error {
	if err := d.single("rename", from); err != nil {
		return err
	}
	if err := d.single("rename", to); err != nil {
		return err
	}
	return d.failed("rename", to, retry(func() error { return unix.Renameat(d.fd, from, d.fd, to) }))
}

// Remove removes a file, a link, or an empty directory.
func (d *Dir) Remove(name string) error {
	if err := d.single("remove", name); err != nil {
		return err
	}
	err := retry(func() error { return unix.Unlinkat(d.fd, name, 0) })
	if err == nil {
		return nil
	}
	asDir := retry(func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) })
	if asDir == unix.ENOTDIR { //nolint:errorlint // a bare number: the first error is the one that means something
		asDir = err
	}
	return d.failed("remove", name, asDir)
}

// Touch sets when what is at this name was last changed.
func (d *Dir) Touch(name string, at time.Time) error {
	if err := d.single("touch", name); err != nil {
		return err
	}
	t := unix.NsecToTimespec(at.UnixNano())
	return d.failed("touch", name, unix.UtimesNanoAt(d.fd, name, []unix.Timespec{t, t}, unix.AT_SYMLINK_NOFOLLOW))
}

// ChmodSelf sets the mode of this directory.
func (d *Dir) ChmodSelf(mode fs.FileMode) error {
	if d.info.Mode.Perm() == mode {
		return nil
	}
	return d.failed("chmod", "", retry(func() error { return unix.Fchmod(d.fd, uint32(mode.Perm())) }))
}

// Names is what is in the directory at this name, at most n of it where n is above 0.
func (d *Dir) Names(name string, n int) ([]string, error) {
	if err := d.single("open", name); err != nil {
		return nil, err
	}
	return d.names(name, n)
}

// Own is what is in this directory.
func (d *Dir) Own() ([]string, error) { return d.names(".", -1) }

func (d *Dir) names(name string, n int) ([]string, error) {
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, d.failed("open", name, err)
	}
	f := os.NewFile(uintptr(fd), path.Join(d.path, name))
	defer f.Close()
	names, err := f.Readdirnames(n)
	if len(names) > 0 || errors.Is(err, io.EOF) {
		return names, nil
	}
	return names, err
}

// Sync puts this directory's entries on the disk.
func (d *Dir) Sync() error {
	return d.failed("sync", "", retry(func() error { return unix.Fsync(d.fd) }))
}

// SyncOne puts the file or directory at this name on the disk, without its name.
func (d *Dir) SyncOne(name string) error {
	if err := d.single("sync", name); err != nil {
		return err
	}
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return d.failed("sync", name, err)
	}
	err = retry(func() error { return unix.Fsync(fd) })
	_ = unix.Close(fd) // nothing is written through it
	return d.failed("sync", name, err)
}

// SyncFS puts everything of this directory's file system on the disk.
func (d *Dir) SyncFS() error {
	return d.failed("sync", "", retry(func() error { return unix.Syncfs(d.fd) }))
}
