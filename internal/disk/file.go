package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/planted"
)

// Folder is where files are replaced: a Place, or a folder that its owner reaches
// in a way of its own. A name is one of the folder itself.
type Folder interface {
	// Open opens or makes a file, and follows no link.
	Open(name string, flags int) (*os.File, error)
	// Rename puts a file in the place of another, whole.
	Rename(from, to string) error
	// Remove takes a file away.
	Remove(name string) error
	// Sync makes what was renamed and removed durable.
	Sync() error
}

// Place is a folder at a path of this machine.
type Place string

// Open opens a file, and no link. What it makes only its owner may use.
func (p Place) Open(name string, flags int) (*os.File, error) {
	return os.OpenFile(p.path(name), flags|syscall.O_NOFOLLOW, 0o600)
}

// Rename moves one name over another.
func (p Place) Rename(from, to string) error { return os.Rename(p.path(from), p.path(to)) }

// Remove removes a file.
func (p Place) Remove(name string) error { return os.Remove(p.path(name)) }

// Sync puts the names of the folder on the disk.
func (p Place) Sync() error {
	d, err := os.Open(string(p))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (p Place) path(name string) string { return filepath.Join(string(p), name) }

// Staged is where the new content of a file lies until it is whole. What a kill
// leaves of it is in nobody's way: whoever writes the file again begins with it.
func Staged(name string) string { return name + ".new" }

// Write replaces the file at a path of this machine, as Replace does. Its error
// names the path, and what to do.
func Write(path string, body []byte) error {
	if err := Replace(Place(filepath.Dir(path)), filepath.Base(path), body); err != nil {
		return fault.Wrap(fault.Unavailable, Why(err, path), "write %q", path)
	}
	return nil
}

// Replace puts a file in place of what is there. At every moment it is the one or
// the other, whole, and after a power cut too; once Replace has returned it is the
// new one. Two at once must not replace the same file.
func Replace(in Folder, name string, parts ...[]byte) error {
	staged := Staged(name)
	err := effect.Do("disk.file.stage", func() error { return lay(in, staged, (*os.File).Sync, parts) })
	if err == nil {
		err = effect.Do("disk.file.commit", func() error { return in.Rename(staged, name) })
	}
	if err != nil {
		_ = in.Remove(staged) // half of it is of no use, and the error is already on its way
		return err
	}
	if planted.Is("a folder is not synced") {
		return nil
	}
	return effect.Do("disk.file.seal", in.Sync)
}

// Lay writes a file in its place, without waiting for the disk: after a power cut
// it may be half, or gone.
func Lay(in Folder, name string, parts ...[]byte) error {
	return lay(in, name, func(*os.File) error { return nil }, parts)
}

func lay(in Folder, name string, then func(*os.File) error, parts [][]byte) error {
	file, err := in.Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err = file.Write(part); err != nil {
			break
		}
	}
	if err == nil {
		err = then(file)
	}
	return errors.Join(err, file.Close())
}
