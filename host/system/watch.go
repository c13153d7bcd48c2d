package system

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// Watch hears of what changes in some directories. It hears no more than the
// kernel says: not what was changed through another machine of a network file
// system, nor in a directory whose way there has become another. What it does
// not hear is found by looking.
type Watch struct {
	file *os.File
	room []byte // of Next

	mu   sync.Mutex       // guards what follows
	dirs map[int32]string // by watch: the directory, as it was asked for
}

// Heard is what changed since it was asked last.
type Heard struct {
	Places []string // where: a path from the root, without links
	All    bool     // so much that the kernel remembers no more: it may be anything
	Lost   bool     // a directory itself was moved, removed or unmounted: it is not heard of until it is watched anew
}

// what is said of a directory: that something in it has other bytes, another mode or
// owner, has come or gone; and that it has itself.
const heardOf = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

const goneSelf = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT | unix.IN_IGNORED

// NewWatch is a watch over nothing yet.
func NewWatch() (*Watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fault.Wrap(fault.Conflict, err, "watch folders").With("sysctl fs.inotify.max_user_instances says how many programs of one user may")
	}
	return &Watch{file: os.NewFile(uintptr(fd), "inotify"), room: make([]byte, 16<<10), dirs: map[int32]string{}}, nil
}

// Close ends the watching, and a Next that waits.
func (w *Watch) Close() error { return w.file.Close() }

// Over makes it a watch over these directories of the root and no others. It
// returns how many it hears of: one that is not there is left out, and so are all
// from where the kernel takes no more, which is an error.
func (w *Watch) Over(r *Root, dirs []string) (int, error) {
	w.mu.Lock() // of a directory that is new here, nothing is heard before it is known which it is
	defer w.mu.Unlock()
	r.Forget()
	defer r.Forget()
	now := make(map[int32]string, len(dirs))
	var why error
	for _, p := range dirs {
		r.Trim()
		d, err := r.Dir(p)
		if err != nil {
			continue // what it holds is not there either, or cannot be reached: whoever looks says so
		}
		wd, err := w.add(d)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		if err != nil {
			why = fault.Wrap(fault.Conflict, err, "watch %q", p)
			if errors.Is(err, unix.ENOSPC) {
				why = fault.Wrap(fault.Conflict, err, "watch %q", p).With("sysctl fs.inotify.max_user_watches says how many one user may watch")
				break
			}
			continue
		}
		now[wd] = p
	}
	for wd := range w.dirs {
		if _, ok := now[wd]; !ok {
			_ = w.control(func(fd int) { _, _ = unix.InotifyRmWatch(fd, uint32(wd)) }) // where it is gone by itself there is nothing to end
		}
	}
	w.dirs = now
	return len(now), why
}

// add names a directory by its handle: by its path it could be another one.
func (w *Watch) add(d *Dir) (wd int32, err error) {
	closed := w.control(func(fd int) {
		var n int
		n, err = unix.InotifyAddWatch(fd, fmt.Sprintf("/proc/self/fd/%d", d.fd), heardOf)
		wd = int32(n)
	})
	return wd, errors.Join(closed, err)
}

func (w *Watch) control(do func(fd int)) error {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { do(int(fd)) })
}

// Next waits until something is heard, or ctx ends. It is called by one goroutine.
func (w *Watch) Next(ctx context.Context) (Heard, error) {
	stop := context.AfterFunc(ctx, func() { _ = w.file.SetReadDeadline(time.Unix(1, 0)) }) // closed: Read says so
	defer stop()
	for {
		n, err := w.file.Read(w.room)
		if ctx.Err() != nil {
			return Heard{}, ctx.Err()
		}
		if err != nil {
			return Heard{}, fault.Wrap(fault.Conflict, Cause(err), "hear what changes")
		}
		if h := w.heard(w.room[:n]); len(h.Places) > 0 || h.All || h.Lost {
			return h, nil
		}
	}
}

// heard is what the kernel's events say. Those of directories that are watched no
// more say nothing.
func (w *Watch) heard(b []byte) Heard {
	w.mu.Lock()
	defer w.mu.Unlock()
	var h Heard
	for len(b) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:min(end, len(b))], "\x00"))
		b = b[min(end, len(b)):]
		dir, known := w.dirs[wd]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			h.All = true
		case !known:
		case mask&goneSelf != 0:
			h.Lost = true
			if mask&unix.IN_IGNORED != 0 {
				delete(w.dirs, wd)
			}
		default:
			place := path.Join(dir, name)
			if n := len(h.Places); n == 0 || h.Places[n-1] != place {
				h.Places = append(h.Places, place)
			}
		}
	}
	return h
}
