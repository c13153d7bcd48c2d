package builder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// state is a builder's folder on disk.
//
//	lock                   held by the one builder that uses it
//	identity.json          its keys, made here; they never leave it
//	joined.json            what the mesh said when it joined
//	answers/REQUEST.json   answers whose receipt has not come
//	answers/REQUEST.log    and their logs
//	git/                   git's home: known_hosts and what it fetches
//	workshop/              builds; emptied at every start
type state struct{ dir string }

// openState makes the folder where there is none.
func openState(dir string) (state, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return state{}, fault.Wrap(fault.Invalid, err, "find the state folder")
	}
	s := state{dir}
	err = effect.Do("builder.state.make", func() error { return os.MkdirAll(s.answers(), 0o700) })
	if err != nil {
		return state{}, fault.Wrap(fault.Unavailable, err, "make the state folder %q", dir)
	}
	return s, nil
}

func (s state) path(name string) string { return filepath.Join(s.dir, name) }
func (s state) answers() string         { return s.path("answers") }

// lockPatience is how long a builder waits for the lock of one that is ending:
// a program that it has just started holds the file open until it runs.
const (
	lockPatience = 2 * time.Second
	lockEvery    = 20 * time.Millisecond
)

// lock is the folder's lock, held until it is closed: two builders never share
// a state. The kernel lets it go with the process.
func (s state) lock() (*os.File, error) {
	f, err := os.OpenFile(s.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "lock the state folder")
	}
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Since(began) > lockPatience {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	_ = f.Close() // it is not ours
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fault.New(fault.Conflict, "another builder uses the state folder %q", s.dir).
			With("stop it, or give this one a folder of its own with --state")
	}
	return nil, fault.Wrap(fault.Unavailable, err, "lock the state folder %q", s.dir)
}

// sweep removes what a kill left of files that were being written.
func (s state) sweep() error {
	left, err := filepath.Glob(s.path(disk.Staged("*")))
	if err != nil {
		return fault.Wrap(fault.Broken, err, "sweep the state folder")
	}
	for _, path := range left {
		err := effect.Do("builder.state.sweep", func() error { return remove(path) })
		if err != nil {
			return stays(path, err)
		}
	}
	return nil
}

// remove removes a file that may have been removed before, for good.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.Place(filepath.Dir(path)).Sync()
}

// stays says of what could not be removed that it is still there, and why.
func stays(path string, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, disk.Why(err, path), "remove %q", path)
}
