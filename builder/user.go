package builder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Users is the range of users that builds run as where the builder is root: a
// build has one for itself, or a limit on its processes would count those of
// others, and one build could end another's.
type Users struct{ First, Last uint32 }

// DefaultUsers are given to nobody by systemd and the distributions, and are
// there in a container too.
func DefaultUsers() Users { return Users{65520, 65533} }

func (u Users) String() string { return fmt.Sprintf("%d-%d", u.First, u.Last) }

// Set takes "65520-65533".
func (u *Users) Set(s string) error {
	first, last, _ := strings.Cut(s, "-")
	a, errA := strconv.ParseUint(first, 10, 32)
	b, errB := strconv.ParseUint(last, 10, 32)
	if errA != nil || errB != nil || a < 1000 || b < a || b >= 1<<32-1 {
		return fault.New(fault.Invalid, "%q is no range of users, want FIRST-LAST from 1000 up, as %s", s, DefaultUsers())
	}
	*u = Users{uint32(a), uint32(b)}
	return nil
}

// userLocks says which users of this machine are a build's now: the kernel lets
// a lock go with the builder that holds it.
const userLocks = "/run/mesh-builder"

// userWait is how long a build waits until a user is free.
const userWait = 30 * time.Second

// user is who one build is outside of its sandbox. Nil is this user.
type user struct {
	*syscall.Credential
	lock *os.File
}

// take is a user of whom nothing runs on this machine and whom no other builder
// has taken.
func (u Users) take() (*user, error) {
	for over := time.Now().Add(userWait); ; <-time.After(100 * time.Millisecond) {
		var taken *user
		err := effect.Do("builder.user.take", func() (err error) {
			taken, err = u.tryAll()
			return err
		})
		if err != nil {
			return nil, fault.Add(err, "take a user of %s for the build", u)
		}
		if taken != nil {
			return taken, nil
		}
		if time.Now().After(over) {
			return nil, fault.New(fault.Unavailable, "each of the users %s has a build or a process", u).With("give the builder more, with --users FIRST-LAST")
		}
	}
}

func (u Users) tryAll() (*user, error) {
	if err := os.MkdirAll(userLocks, 0o700); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "make %q", userLocks)
	}
	busy, err := running("/proc")
	if err != nil {
		return nil, err
	}
	for id := u.First; id <= u.Last; id++ {
		if busy[id] {
			continue
		}
		taken, err := tryUser(id)
		if err != nil || taken != nil {
			return taken, err
		}
	}
	return nil, nil //nolint:nilnil // none is free
}

func tryUser(id uint32) (*user, error) {
	path := filepath.Join(userLocks, strconv.FormatUint(uint64(id), 10))
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "open %q", path)
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return &user{&syscall.Credential{Uid: id, Gid: id, Groups: []uint32{}}, lock}, nil
	}
	if closed := lock.Close(); closed != nil || !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fault.Wrap(fault.Unavailable, errors.Join(err, closed), "lock %q", path)
	}
	return nil, nil //nolint:nilnil // another build has it
}

// free lets somebody else have the user.
func (u *user) free() error {
	if u == nil {
		return nil
	}
	return u.lock.Close()
}

// running is every user of whom a process is there.
func running(proc string) (map[uint32]bool, error) {
	all, err := os.ReadDir(proc)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "look who runs")
	}
	users := map[uint32]bool{}
	for _, e := range all {
		if e.Name()[0] < '0' || e.Name()[0] > '9' {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "look who runs")
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			users[s.Uid] = true
		}
	}
	return users, nil
}
