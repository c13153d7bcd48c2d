package system

import (
	"errors"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// Enter opens the directory at this name, and nothing else that may have come to stand
// there: no link is followed, and nothing that is mounted is entered. Close it.
func (d *Dir) Enter(name string) (*Dir, error) {
	if err := d.single("open", name); err != nil {
		return nil, err
	}
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	}
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat2(d.fd, name, &how)
		return err
	})
	if errors.Is(err, unix.EXDEV) {
		return nil, fault.New(fault.Conflict, "something is mounted at %q", path.Join(d.path, name))
	}
	if err != nil {
		return nil, d.failed("open", name, err)
	}
	return holding(fd, path.Join(d.path, name))
}

// Exchange gives each of two names of this directory what the other one has, at once.
func (d *Dir) Exchange(a, b string) error {
	if err := d.single("exchange", a); err != nil {
		return err
	}
	if err := d.single("exchange", b); err != nil {
		return err
	}
	err := retry(func() error { return unix.Renameat2(d.fd, a, d.fd, b, unix.RENAME_EXCHANGE) })
	switch {
	case errors.Is(err, unix.EXDEV):
		return fault.New(fault.Conflict, "it is partly of a lower layer of an overlay, which cannot be renamed").With("declare it without \"swap\"")
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return fault.New(fault.Conflict, "its file system does not let two names change places").With("declare it without \"swap\"")
	}
	return d.failed("exchange", b, err)
}

// Link gives the file that info was seen of one more name, in another directory, where
// there must be nothing at it.
func (d *Dir) Link(name string, info Info, to *Dir, as string) error {
	if err := d.single("link", name); err != nil {
		return err
	}
	if err := to.single("link", as); err != nil {
		return err
	}
	if err := retry(func() error { return unix.Linkat(d.fd, name, to.fd, as, 0) }); err != nil {
		return to.failed("link", as, err)
	}
	now, err := to.Lstat(as)
	if err == nil && (!now.Same(info) || now.Mode.Type() != fs.FileMode(0)) {
		err = fault.New(fault.Conflict, "%q changed while it was being linked", path.Join(d.path, name))
	}
	if err != nil {
		_ = to.Remove(as) // nobody has seen it yet
	}
	return err
}
