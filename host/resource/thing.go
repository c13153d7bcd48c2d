package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// other is the kind of what no resource makes: a device, a socket, a FIFO.
const other keep.Kind = 1 << 7

// found is what is at a path.
type found struct {
	info system.Info
	says string    // what is there, where it differs
	kind keep.Kind // 0 for nothing
	same bool      // as it should be
	body bool      // of the right kind, with the right bytes: at most the mode and the owner differ
	tied bool      // a file that has other names, which are not given away with it
}

// place is where a path is: its directory, and its name in it.
type place struct {
	dir  *system.Dir
	name string
}

func (p place) real() string {
	if dir := p.dir.Path(); dir != "/" {
		return dir + "/" + p.name
	}
	return "/" + p.name
}

// temp is where the new thing waits for its commit. It is the same name every
// time, so that what a killed host left is found again.
func (p place) temp() string {
	sum := sha256.Sum256([]byte(p.name))
	return ".mesh-new-" + hex.EncodeToString(sum[:8])
}

// at is the place of a path, which must not be reserved by whatever way it is
// reached. It is good until the next one is asked for.
func at(sys *system.Root, p string) (place, error) {
	sys.Trim()
	dir, err := sys.Dir(parent(p))
	if err != nil {
		return place{}, err
	}
	pl := place{dir, path.Base(p)}
	if sys.Far() {
		if err := sys.Answers(pl.real()); err != nil {
			return place{}, err
		}
	}
	if !near(dir.Path()) {
		return pl, nil
	}
	if why := declaration.ReservedPath(pl.real()); why != "" {
		return place{}, fault.New(fault.Denied, "%q is %s", pl.real(), why)
	}
	return pl, nil
}

// near reports whether what lies in a directory may be reserved. It costs less
// than to know, and nearly every directory is far.
func near(dir string) bool {
	if strings.Contains(dir, "/systemd/system") || dir == path.Dir(declaration.SysctlFiles) {
		return true
	}
	for _, r := range declaration.Reserved() {
		if strings.HasPrefix(dir, r) || strings.HasPrefix(r, dir) {
			return true
		}
	}
	return false
}

// parent is what a clean, absolute path lies in.
func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// nothing is what is said of a path with nothing at it.
const nothing = "nothing"

// reach is the place of a path, or none where there is not even a directory for it.
func reach(sys *system.Root, p string) (place, error) {
	pl, err := at(sys, p)
	if system.Absent(err) || system.NotDirectory(err) {
		return place{}, nil
	}
	return pl, err
}

// look reads what is at a thing's path. Nothing there is no error.
func look(sys *system.Root, want keep.Thing, e *eye) (found, place, error) {
	pl, err := reach(sys, want.Path)
	if err != nil || pl.dir == nil {
		return found{says: nothing}, place{}, err
	}
	f, err := lookAt(pl, want, e)
	return f, pl, err
}

// lookAt reads what is at a place.
func lookAt(pl place, want keep.Thing, e *eye) (found, error) {
	if want.Kind == keep.Link {
		if f := (found{}); lookLink(&f, pl, want, e) == nil { // what is no link cannot be read as one
			return f, nil
		}
	}
	info, err := pl.dir.Lstat(pl.name)
	if system.Absent(err) {
		return found{says: nothing}, nil
	}
	if err != nil {
		return found{}, err
	}
	f := found{kind: kindOf(info), info: info}
	if f.kind != want.Kind {
		f.says = "a " + called(f.kind)
		return f, nil
	}
	switch want.Kind {
	case keep.File:
		err = lookFile(&f, pl, want, e)
	case keep.Directory:
		lookDirectory(&f, want, e)
	case keep.Link:
		err = lookLink(&f, pl, want, e)
	}
	return f, err
}

func kindOf(info system.Info) keep.Kind {
	switch info.Mode.Type() {
	case 0:
		return keep.File
	case fs.ModeDir:
		return keep.Directory
	case fs.ModeSymlink:
		return keep.Link
	}
	return other
}

func called(k keep.Kind) string {
	if k == other {
		return "device, socket or FIFO"
	}
	return k.String()
}

// unstage removes what waits for a commit that will not come.
func unstage(pl place) error {
	if _, err := pl.dir.Lstat(pl.temp()); system.Absent(err) {
		return nil
	}
	return effect.Do("resource.staged.remove", func() error { return pl.dir.Remove(pl.temp()) })
}

// anew makes a staged thing, in place of what a killed host may have left there.
func anew(pl place, make func() error) error {
	err := make()
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := unstage(pl); err != nil {
		return err
	}
	return make()
}

// commit puts the staged thing in its place. An empty directory that stood there goes.
func commit(pl place, f found) error {
	if f.kind == keep.Directory {
		if err := removeDirectory(pl); err != nil {
			return err
		}
	}
	return effect.Do("resource.staged.commit", func() error { return pl.dir.Rename(pl.temp(), pl.name) })
}

// remove removes what the host made.
func remove(pl place, kind keep.Kind) error {
	if kind == keep.Directory {
		return removeDirectory(pl)
	}
	return effect.Do("resource.thing.remove", func() error { return pl.dir.Remove(pl.name) })
}
