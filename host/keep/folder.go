package keep

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"noxmesh/document"
	"noxmesh/host/system"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Path is where the state lies below the root.
const Path = "/var/lib/mesh-host"

const (
	lockFile    = "lock"
	reserveFile = "reserve"
	// A full disk still takes the state and the report of a host that has some
	// thousand resources: this much is given back to it.
	reserveSize = 1 << 20
)

// Folder is the state of one host, held by one process.
type Folder struct {
	root *system.Dir
	name string // in the real file system, for people
	lock *os.File

	changing bool // there is, or may be, a note of what is being put back
}

// Open takes the state below this root, and makes the folder where there is
// none. A second process is refused.
func Open(sys *system.Root) (*Folder, error) {
	f, err := at(sys, true)
	if err != nil {
		return nil, err
	}
	if err := f.take(); err != nil {
		f.root.Close()
		return nil, err
	}
	f.hold()
	return f, nil
}

// Look is the state for reading alone, beside a host that may be running. A
// folder that is not there is fault.NotFound.
func Look(sys *system.Root) (*Folder, error) { return at(sys, false) }

func at(sys *system.Root, create bool) (*Folder, error) {
	name := path.Join(sys.Name(), Path)
	if create {
		err := effect.Do("keep.folder.make", func() error { return makeFolder(sys) })
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, sys.Say(system.Cause(err), Path), "make the state folder %q", name)
		}
	}
	if _, err := sys.Dir(Path); err != nil {
		if system.Absent(err) {
			return nil, fault.New(fault.NotFound, "there is no state in %q: no host has run here", name)
		}
		return nil, fault.Wrap(fault.Unavailable, sys.Say(system.Cause(err), Path), "open the state folder %q", name)
	}
	dir, err := sys.Sub(Path)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, sys.Say(system.Cause(err), Path), "open the state folder %q", name)
	}
	return &Folder{root: dir, name: name}, nil
}

// makeFolder makes the folder and what it lies in, and shuts it to all others.
func makeFolder(sys *system.Root) error {
	defer sys.Forget()
	for _, p := range []string{"/var", "/var/lib", Path} {
		d, err := sys.Dir(path.Dir(p))
		if err != nil {
			return err
		}
		_, err = d.Lstat(path.Base(p))
		if err != nil && !system.Absent(err) {
			return err
		}
		if err != nil {
			if err := makeShut(d, p); err != nil {
				return err
			}
		}
	}
	d, err := sys.Dir(Path)
	if err != nil {
		return err
	}
	return d.ChmodSelf(0o700)
}

func makeShut(d *system.Dir, p string) error {
	if err := d.Mkdir(path.Base(p)); err != nil {
		return err
	}
	if p != Path {
		if err := openToAll(d, path.Base(p)); err != nil {
			return err
		}
	}
	return d.Sync()
}

func openToAll(d *system.Dir, name string) error {
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	return d.Give(name, info, system.Given{UID: system.Anybody, GID: system.Anybody, Mode: 0o755})
}

func (f *Folder) take() error {
	lock, err := f.root.Open(lockFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fault.Wrap(fault.Unavailable, f.cause(err), "open the lock in %q", f.name)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		held, _ := io.ReadAll(lock) // only for the words
		_ = lock.Close()            // nothing was written
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fault.Wrap(fault.Unavailable, err, "lock %q", f.name)
		}
		return fault.New(fault.Conflict, "another mesh-host (pid %s) holds %q", strings.TrimSpace(string(held)), f.name).
			With("stop it first (systemctl stop nox-mesh-host), or give another folder to --root")
	}
	f.lock = lock
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if err := lock.Truncate(0); err != nil && !system.Full(err) {
		return fault.Wrap(fault.Unavailable, f.cause(err), "write the lock in %q", f.name)
	}
	_, err = lock.WriteAt([]byte(pid), 0)
	if err != nil && !system.Full(err) { // the lock holds without its words
		return fault.Wrap(fault.Unavailable, f.cause(err), "write the lock in %q", f.name)
	}
	return nil
}

// cause is why the file system did not do as it was told.
func (f *Folder) cause(err error) error { return disk.Say(system.Cause(err), f.name) }

// Close gives the state back.
func (f *Folder) Close() error {
	f.root.Close()
	var err error
	if f.lock != nil {
		// Said, and not left to the last descriptor: a process that is just being
		// started holds a copy of each.
		err = errors.Join(syscall.Flock(int(f.lock.Fd()), syscall.LOCK_UN), f.lock.Close())
	}
	return err
}

// Running reports whether another process holds the state, and its id in words.
func (f *Folder) Running() (pid string, running bool) {
	lock, err := f.root.Open(lockFile, os.O_RDONLY)
	if err != nil {
		return "", false
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return "", false
	}
	b, err := io.ReadAll(lock)
	if err != nil {
		return "", true
	}
	return strings.TrimSpace(string(b)), true
}

// Name is the folder in the real file system.
func (f *Folder) Name() string { return f.name }

// hold keeps room for the day when the disk is full. It is no fault where there
// is none to keep: then there was nothing to lose.
func (f *Folder) hold() {
	if info, err := f.root.Lstat(reserveFile); err == nil && info.Size == reserveSize {
		return
	}
	_ = effect.Do("keep.reserve.make", func() error {
		file, err := f.root.Open(reserveFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
		if err != nil {
			return err
		}
		if err = system.Reserve(file, reserveSize); err != nil {
			_, err = file.Write(make([]byte, reserveSize))
		}
		return errors.Join(err, file.Close())
	})
}

// write replaces a file, durably. On a full disk it tries once more with the
// reserve given back.
func (f *Folder) write(name string, body []byte) error {
	head := []byte(header(document.Sum(body)))
	err := disk.Replace(f.root, name, head, body)
	if err != nil && system.Full(err) {
		if e := f.root.Remove(reserveFile); e == nil {
			err = disk.Replace(f.root, name, head, body)
		}
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, f.cause(err), "write %q", f.name+"/"+name)
	}
	return nil
}

func (f *Folder) remove(name string) error {
	err := effect.Do("keep.file.remove", func() error {
		if err := f.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil // it is gone, whoever has removed it
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, f.cause(err), "remove %q", f.name+"/"+name)
	}
	return nil
}

// read is a file's body, or fault.NotFound where there is no such file yet.
func (f *Folder) read(name string) ([]byte, error) {
	var b bytes.Buffer
	err := f.load(name, &b)
	return b.Bytes(), err
}

// text is read for whoever keeps parts of what was read.
func (f *Folder) text(name string) (string, error) {
	var b strings.Builder
	err := f.load(name, &b)
	return b.String(), err
}

// body is where a file's body is read to.
type body interface {
	io.Writer
	Grow(n int)
}

func (f *Folder) load(name string, to body) error {
	file, err := f.root.Open(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "there is no %q", f.name+"/"+name)
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, f.cause(err), "read %q", f.name+"/"+name)
	}
	defer file.Close()
	whole, err := verified(file, to)
	if err != nil {
		return fault.Wrap(fault.Unavailable, f.cause(err), "read %q", f.name+"/"+name)
	}
	if !whole {
		return f.damaged(name, errors.New("its digest is not that of its content"))
	}
	return nil
}

// verified reads a file's body, and reports whether it is the one that its first line names.
func verified(file *os.File, to body) (bool, error) {
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	head := make([]byte, len(header(document.Sum(nil))))
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	size := max(info.Size()-int64(n), 0)
	to.Grow(int(size))
	sum := sha256.New()
	buffer := make([]byte, min(size+1, 32<<10))
	if _, err := io.CopyBuffer(io.MultiWriter(sum, to), struct{ io.Reader }{file}, buffer); err != nil {
		return false, err
	}
	return string(head[:n]) == header(document.FromHash(sum.Sum(nil))), nil
}

func header(body document.Digest) string { return "mesh-host 1 " + string(body) + "\n" }

// damaged says what a file's loss means and what to do. The host does not go on
// without it, for "nothing yet" would be a lie.
func (f *Folder) damaged(name string, cause error) error {
	e := fault.Wrap(fault.Invalid, cause, "the state file %q is damaged", f.name+"/"+name)
	full := f.name + "/" + name
	switch name {
	case identityFile, joinedFile:
		return e.With("restore it from a backup; without one, move %q away and join again with a new token", f.name)
	case recordFile:
		return e.With("restore it from a backup; or move it away (mv %s %s.damaged): what is on this machine is then treated as if it had been there before, and never removed", full, full)
	}
	return e.With("restore it from a backup; or move it away (mv %s %s.damaged) and start the host again", full, full)
}
