package system

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"noxmesh/internal/fault"
)

// Dir is one directory, held open. Names are single: they have no slash.
type Dir struct {
	root *os.Root
	path string // without links, from the root of the tree
	info fs.FileInfo
}

func (d *Dir) identify() error {
	info, err := d.root.Stat(".")
	if err != nil {
		return err
	}
	d.info = info
	return nil
}

// Path is where the directory is, without links.
func (d *Dir) Path() string { return d.path }

// Device tells file systems apart.
func (d *Dir) Device() uint64 { return device(d.info) }

// Info is the directory itself, as it was when it was reached.
func (d *Dir) Info() fs.FileInfo { return d.info }

// Lstat is what is at this name, a link itself.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// Readlink is what the link at this name points to, as it is written.
func (d *Dir) Readlink(name string) (string, error) { return d.root.Readlink(name) }

// Read opens the regular file that info was seen of. Anything else that has
// taken its place in the meantime is refused.
func (d *Dir) Read(name string, info fs.FileInfo) (*os.File, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	at, err := f.Stat()
	if err == nil && (!at.Mode().IsRegular() || !os.SameFile(info, at)) {
		err = fault.New(fault.Conflict, "%q changed while it was being read", d.path+"/"+name)
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	return f, nil
}

// Create makes a new file that only its owner may use; there must be nothing at this name.
func (d *Dir) Create(name string) (*os.File, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Mkdir makes a directory that only its owner may use; there must be nothing at this name.
func (d *Dir) Mkdir(name string) error { return d.root.Mkdir(name, 0o700) }

// Symlink makes a link; there must be nothing at this name.
func (d *Dir) Symlink(target, name string) error { return d.root.Symlink(target, name) }

// Rename moves one name of this directory over another.
func (d *Dir) Rename(from, to string) error { return d.root.Rename(from, to) }

// Remove removes a file, a link, or an empty directory.
func (d *Dir) Remove(name string) error { return d.root.Remove(name) }

// Chmod sets the mode of the file or directory that info was seen of.
func (d *Dir) Chmod(name string, info fs.FileInfo, mode fs.FileMode) (err error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	at, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(info, at) {
		return fault.New(fault.Conflict, "%q changed while its mode was being set", d.path+"/"+name)
	}
	return f.Chmod(mode)
}

// ChmodSelf sets the mode of this directory.
func (d *Dir) ChmodSelf(mode fs.FileMode) error {
	if d.info.Mode().Perm() == mode {
		return nil
	}
	return d.root.Chmod(".", mode)
}

// Names is what is in the directory at this name, at most n of it.
func (d *Dir) Names(name string, n int) ([]string, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(n)
	if len(names) > 0 {
		return names, nil
	}
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return names, err
}

// Sync puts this directory's entries on the disk.
func (d *Dir) Sync() error { return d.with((*os.File).Sync) }

// SyncFS puts everything of this directory's file system on the disk.
func (d *Dir) SyncFS() error { return d.with(syncfs) }

func (d *Dir) with(f func(*os.File) error) error {
	dir, err := d.root.Open(".")
	if err != nil {
		return err
	}
	err = f(dir)
	if e := dir.Close(); err == nil {
		err = e
	}
	return err
}
