package system

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// linkLimit is how many symbolic links may stand on the way to one directory, as in the kernel.
const linkLimit = 40

// handleLimit is how many directories are held open at once.
const handleLimit = 256

// Root is the tree that the host keeps: "/", or a folder that plays its part.
// It is used by one goroutine at a time.
type Root struct {
	dir     string
	top     *Dir
	held    map[string]*Dir // by the path that was asked for
	all     []*Dir
	guarded []guarded
	far     map[string]*far // by where they are mounted
	step    func()          // nil where nobody counts
	within  string          // what the machine is within, once that was found out: it stays so until it is started anew
}

type guarded struct {
	path string // as it is without links
	info Info   // zero where nothing is there
}

// Open is the tree at dir, which must exist.
func Open(dir string) (*Root, error) {
	fd, err := openat(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, err, "open the root %q", dir).With("give an existing folder to --root")
	}
	top, err := holding(fd, "/")
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, Cause(err), "open the root %q", dir)
	}
	return &Root{dir: dir, top: top, held: map[string]*Dir{}}, nil
}

// Name is the folder in the real file system that is the root.
func (r *Root) Name() string { return r.dir }

// Guard shuts these directories: from here on Dir refuses to enter them, by
// whatever way they are reached (a link, another mount of the same directory).
func (r *Root) Guard(paths ...string) {
	for _, p := range paths {
		g := guarded{path: p}
		if d, err := r.Dir(p); err == nil {
			g.path, g.info = d.path, d.info
		}
		r.guarded = append(r.guarded, g)
	}
	r.Forget()
}

// Dir is the directory at this absolute path; links on the way are followed
// inside the root. The handle is good until Forget.
func (r *Root) Dir(p string) (*Dir, error) {
	r.Step()
	return r.reach(path.Clean(p), 0)
}

// OnStep has somebody told of each step that is made on the machine, small as it
// may be: whoever does not hear of one for long knows that it stands still. It is
// told by several goroutines side by side.
func (r *Root) OnStep(do func()) { r.step = do }

// Step is one more.
func (r *Root) Step() {
	if r.step != nil {
		r.step()
	}
}

// Forget closes the handles: what is asked for next is looked up afresh.
func (r *Root) Forget() {
	for _, d := range r.all {
		d.Close()
	}
	r.all = r.all[:0]
	clear(r.held)
}

// Trim forgets when many handles are open. Call it where none is in use.
func (r *Root) Trim() {
	if r.Crowded() {
		r.Forget()
	}
}

// Crowded reports whether the next Trim forgets.
func (r *Root) Crowded() bool { return len(r.all) >= handleLimit }

// Close ends the use of the tree.
func (r *Root) Close() error {
	r.Forget()
	r.top.Close()
	return nil
}

func (r *Root) reach(p string, links int) (*Dir, error) {
	if p == "/" {
		return r.top, nil
	}
	if d, ok := r.held[p]; ok {
		return d, nil
	}
	parent, err := r.reach(path.Dir(p), links)
	if err != nil {
		return nil, err
	}
	d, err := r.enter(parent, path.Base(p), p, links)
	if err != nil {
		return nil, err
	}
	r.held[p] = d
	return d, nil
}

// enter opens one name of a directory. What is opened must be the very
// directory that was seen there, so that nothing can be put in between.
func (r *Root) enter(parent *Dir, name, asked string, links int) (*Dir, error) {
	if r.Far() {
		if err := r.Answers(path.Join(parent.path, name)); err != nil {
			return nil, err
		}
	}
	info, err := parent.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode&fs.ModeSymlink != 0:
		return r.through(parent, name, asked, links)
	case !info.Mode.IsDir():
		return nil, &fs.PathError{Op: "open", Path: asked, Err: syscall.ENOTDIR}
	}
	d, err := openDir(parent.fd, name, path.Join(parent.path, name))
	if err != nil {
		return nil, err
	}
	r.all = append(r.all, d)
	if !info.Same(d.info) {
		return nil, fault.New(fault.Conflict, "%q changed while it was being opened", asked)
	}
	if g := r.guards(d); g != "" {
		return nil, fault.New(fault.Denied, "%q is %q, which is the host's own or the kernel's", asked, g)
	}
	return d, nil
}

func (r *Root) through(parent *Dir, name, asked string, links int) (*Dir, error) {
	if links >= linkLimit {
		return nil, &fs.PathError{Op: "open", Path: asked, Err: syscall.ELOOP}
	}
	target, err := parent.Readlink(name)
	if err != nil {
		return nil, err
	}
	if !path.IsAbs(target) {
		target = path.Join(parent.path, target)
	}
	return r.reach(path.Clean("/"+target), links+1)
}

func (r *Root) guards(d *Dir) string {
	for _, g := range r.guarded {
		if d.path == g.path || strings.HasPrefix(d.path, g.path+"/") || g.info.Same(d.info) {
			return g.path
		}
	}
	return ""
}

// Cause is the bare reason of a file system's error, without the names that
// the caller says better.
func Cause(err error) error {
	var said *fault.Error
	if errors.As(err, &said) {
		return err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// Absent reports whether err says that there is nothing at a path: neither the
// thing, nor perhaps the directory that it would be in.
func Absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Full reports whether err says that there is no room.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// NotEmpty reports whether err says that a directory is not empty.
func NotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

// OneNameOnly reports whether err says that a file can have no other name here.
func OneNameOnly(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EOPNOTSUPP)
}

// NotDirectory reports whether err says that something on the way is no directory.
func NotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// Sub is the directory at this path, held until Close: for the host's own state.
func (r *Root) Sub(p string) (*Dir, error) {
	d, err := r.Dir(p)
	if err != nil {
		return nil, err
	}
	fd, err := openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	return holding(fd, d.path)
}
