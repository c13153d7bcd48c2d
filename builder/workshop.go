package builder

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// workshop is where builds are made, each on a bench of its own. Nothing in it
// is ever read again: it is emptied when a builder starts.
type workshop struct {
	dir   string
	state string // whose it is
	users *Users // whom builds run as; nil: this user
}

// shared is where workshops are that cannot be beside their states, and what
// their names begin with.
const shared = "/var/tmp/mesh-builder-"

// ofFile says in a workshop whose it is.
const ofFile = "of"

// openWorkshop makes sure of an empty workshop: at the chosen place, or beside
// the state where the sandbox's user can get there, or in /var/tmp.
func openWorkshop(chosen, state string, users *Users) (*workshop, error) {
	w := &workshop{dir: chosen, state: state, users: users}
	if w.dir == "" {
		ok, err := reachable(filepath.Dir(state))
		if err != nil {
			return nil, err
		}
		w.dir = filepath.Join(state, "workshop")
		if !ok && users != nil {
			w.dir = shared + w.sum()
		} else if err := os.Chmod(state, w.through()); err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "open %q for the sandbox's user", state)
		}
	}
	err := effect.Do("builder.workshop.open", w.open)
	if err != nil {
		return nil, fault.Wrap(cmp.Or(fault.KindOf(err), fault.Unavailable), disk.Say(err, w.dir), "make the workshop %q", w.dir)
	}
	return w, nil
}

// sum is short for whose the workshop is.
func (w *workshop) sum() string {
	sum := sha256.Sum256([]byte(w.state))
	return hex.EncodeToString(sum[:6])
}

// ours is what the names of this builder's control groups begin with.
func (w *workshop) ours() string { return "mesh-builder-" + w.sum() + "-" }

// through is the mode of a folder that the sandbox's user must go through.
func (w *workshop) through() fs.FileMode {
	if w.users == nil {
		return 0o700
	}
	return 0o711
}

func (w *workshop) open() error {
	if err := os.MkdirAll(filepath.Dir(w.dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(w.dir, w.through()); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(w.dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Geteuid() {
		return fault.New(fault.Denied, "%q is not a folder of this user", w.dir).With("remove it, or choose another with --workshop")
	}
	if err := os.Chmod(w.dir, w.through()); err != nil {
		return err
	}
	all, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		if err := removeAll(filepath.Join(w.dir, e.Name())); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(w.dir, ofFile), []byte(w.state), 0o600); err != nil {
		return err
	}
	if err := w.writeEtc(); err != nil {
		return err
	}
	if !strings.HasPrefix(w.dir, shared) {
		return nil
	}
	return removeOrphans(shared)
}

// removeOrphans removes the workshops of builders that were killed and whose
// states are gone: they will never be started again to do it themselves.
func removeOrphans(prefix string) error {
	all, err := filepath.Glob(prefix + "*")
	if err != nil {
		return fault.Wrap(fault.Broken, err, "look for workshops of nobody")
	}
	for _, dir := range all {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(owner.Uid) != os.Geteuid() {
			continue
		}
		of, err := os.ReadFile(filepath.Join(dir, ofFile))
		if err != nil || !filepath.IsAbs(string(of)) {
			continue
		}
		if _, err := os.Stat(string(of)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	return nil
}

func (w *workshop) etc() string { return filepath.Join(w.dir, "etc") }

// writeEtc writes what a sandbox sees in /etc: the same on every builder.
func (w *workshop) writeEtc() error {
	files := map[string]string{ //nolint:gosec // nobody's password
		"passwd":        "root:x:0:0:root:/:/bin/false\nbuild:x:1000:1000:build:/home/build:/bin/sh\n",
		"group":         "root:x:0:\nbuild:x:1000:\n",
		"hosts":         "127.0.0.1 localhost build\n::1 localhost build\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	}
	if err := os.Mkdir(w.etc(), 0o755); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(w.etc(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(w.etc(), 0o755); err != nil {
		return err
	}
	return nil
}

// bench is the place of one build: the tree that the sandbox sees, and what was
// packed of it, which the sandbox does not.
type bench struct {
	dir string
	as  *user // who its build is outside of the sandbox; nil: this user
}

// fresh is an empty bench.
func (w *workshop) fresh(name string) (*bench, error) {
	b := &bench{dir: filepath.Join(w.dir, name)}
	var err error
	if w.users != nil {
		if b.as, err = w.users.take(); err != nil {
			return nil, err
		}
	}
	err = effect.Do("builder.workshop.make", func() error {
		if err := removeAll(b.dir); err != nil {
			return err
		}
		for _, dir := range []string{b.dir, b.tree(), b.packed()} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
		}
		return os.Chmod(b.dir, w.through())
	})
	if err != nil {
		return nil, errors.Join(fault.Wrap(fault.Unavailable, disk.Say(err, b.dir), "make a bench for %q", name), b.as.free())
	}
	return b, nil
}

func (b *bench) tree() string   { return filepath.Join(b.dir, "tree") }
func (b *bench) packed() string { return filepath.Join(b.dir, "packed") }

// laid is what commands see at /mesh, where there is anything.
func (b *bench) laid() string { return filepath.Join(b.dir, "laid") }

// clear removes the bench. What stays behind is removed at the next start.
func (b *bench) clear() error {
	err := stays(b.dir, effect.Do("builder.workshop.clear", func() error { return removeAll(b.dir) }))
	return errors.Join(err, b.as.free())
}

// handOver gives the tree to the sandbox's user, with modes and times that do
// not depend on who checked it out, when, or under which umask. It is called
// before any command of the module has run: nothing moves while it walks.
func (b *bench) handOver() error {
	err := effect.Do("builder.workshop.handover", func() error {
		return filepath.WalkDir(b.tree(), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return b.handOverOne(path, d)
		})
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, b.dir), "hand the tree %q to the sandbox", b.tree())
	}
	return nil
}

func (b *bench) handOverOne(path string, d fs.DirEntry) error {
	if b.as != nil {
		if err := os.Lchown(path, int(b.as.Uid), int(b.as.Gid)); err != nil {
			return err
		}
	}
	if d.Type()&fs.ModeSymlink == 0 {
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if d.IsDir() || info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
	}
	return dated(path)
}

// dated gives a path the time that every build is made at.
func dated(path string) error {
	at := unix.NsecToTimespec(sandboxDate * int64(time.Second))
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
}

// leftovers is how long what a killed builder has left running may still write: a
// git that nobody reads from any more ends by itself.
const leftovers = 3 * time.Second

// removeAll removes path and all below it, folders without permissions included.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	for over := time.Now().Add(leftovers); errors.Is(err, syscall.ENOTEMPTY) && time.Now().Before(over); err = os.RemoveAll(path) {
		<-time.After(20 * time.Millisecond)
	}
	if err == nil {
		return nil
	}
	open := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(p, 0o700) //nolint:gosec // nothing runs in it any more
		}
		return err
	})
	if open != nil && !errors.Is(open, fs.ErrNotExist) {
		return open
	}
	return os.RemoveAll(path)
}
