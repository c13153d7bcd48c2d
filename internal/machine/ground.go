package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// grounds is where the folders of machines are: the usual one may be on an overlay,
// which carries no other.
const grounds = "/var/tmp"

const (
	groundName = "machine"
	heldName   = "held" // in a folder, and locked as long as the process lives whose it is
)

// Ground is a folder for the machines of one Net. It is of this process as long as
// that lives; of one that has ended without having taken it away, the next Ground does.
type Ground struct {
	Dir  string
	held *os.File
}

// NewGround is a new folder. What processes that were killed have left, their
// machines among it, is taken away first; swept is what stood against that.
func NewGround() (g *Ground, swept, err error) {
	if err := os.MkdirAll(Cache, 0o755); err != nil {
		return nil, nil, fault.Wrap(fault.Unavailable, err, "make the cache of machines %q", Cache)
	}
	// Between a folder and its lock nobody may look whether it has one.
	all, err := locked(filepath.Join(Cache, "grounds.lock"), unix.LOCK_EX)
	if err != nil {
		return nil, nil, err
	}
	defer all.Close()
	swept = sweep()
	dir, err := os.MkdirTemp(grounds, groundName)
	if err != nil {
		return nil, swept, fault.Wrap(fault.Unavailable, err, "make a folder for machines")
	}
	held, err := locked(filepath.Join(dir, heldName), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return nil, swept, errors.Join(err, os.RemoveAll(dir))
	}
	return &Ground{Dir: dir, held: held}, swept, nil
}

// Close takes the folder away, in which nothing may be any more.
func (g *Ground) Close() error {
	return errors.Join(os.Remove(filepath.Join(g.Dir, heldName)), os.Remove(g.Dir), g.held.Close())
}

// locked is a file, made where it is missing, that is locked as long as it is open.
func locked(name string, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "lock %q", name)
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(fault.Wrap(fault.Unavailable, err, "lock %q", name), f.Close())
	}
	return f, nil
}

// sweep takes away the folders whose process has ended.
func sweep() error {
	all, err := filepath.Glob(filepath.Join(grounds, groundName+"*", heldName))
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range all {
		held, err := os.OpenFile(name, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err = unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			err = left(filepath.Dir(name))
		} else if errors.Is(err, unix.EWOULDBLOCK) { // it lives
			err = nil
		}
		errs = append(errs, err, held.Close())
	}
	return errors.Join(errs...)
}
