package system

import (
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// Anybody is the number that leaves a file's user or its group as it is.
const Anybody = ^uint32(0)

// Given is whom something is to belong to, and who may use it.
type Given struct {
	UID, GID uint32 // Anybody: as it is
	Mode     fs.FileMode
}

// at is g where whoever it is of now is named.
func (g Given) at(i Info) Given {
	if g.UID == Anybody {
		g.UID = i.UID
	}
	if g.GID == Anybody {
		g.GID = i.GID
	}
	return g
}

func (g Given) others(h Given) bool { return g.UID != h.UID || g.GID != h.GID }

// steps is what it is to be one after another, which is of others or has another mode
// in each. In none may anybody use it who may neither before nor after: what only one
// of the two allows is taken away first, for a mode means others when the owner is
// another.
func (g Given) steps(info Info) []Given {
	was := Given{info.UID, info.GID, info.Mode & bits}
	to := g.at(info)
	steps := make([]Given, 0, 3)
	if to.others(was) {
		if both := was.Mode & to.Mode; both != was.Mode {
			steps = append(steps, Given{was.UID, was.GID, both})
		}
		steps = append(steps, Given{to.UID, to.GID, was.Mode & to.Mode})
	}
	return append(steps, to)
}

const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// give gives what is open as fd, and was info, to whom it is to belong to.
func (g Given) give(fd int, info Info) error {
	is := Given{UID: info.UID, GID: info.GID}
	for _, next := range g.steps(info) {
		err := retry(func() error {
			if next.others(is) {
				return unix.Fchown(fd, int(int32(next.UID)), int(int32(next.GID)))
			}
			return unix.Fchmod(fd, bitsOf(next.Mode))
		})
		if err != nil {
			return err
		}
		is = next
	}
	return nil
}

// Give gives the file or directory that info was seen of to whom it is to belong to.
// A file that has other names is not given away under them.
func (d *Dir) Give(name string, info Info, to Given) error {
	fd, now, err := d.seen(name, info, "given its mode")
	if err != nil {
		return err
	}
	if now.Tied() && to.at(now).others(Given{UID: now.UID, GID: now.GID}) {
		err = fault.New(fault.Conflict, "%q changed while it was being given its owner", path.Join(d.path, name))
	} else {
		err = d.failed("give", name, to.give(fd, now))
	}
	_ = unix.Close(fd) // neither is written through it
	return err
}

// GiveLink gives a link that has just been made, and nothing else that may have come
// to stand at its name, to whom it is to belong to.
func (d *Dir) GiveLink(name string, to Given) error {
	if err := d.single("open", name); err != nil {
		return err
	}
	fd, err := openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return d.failed("open", name, err)
	}
	info, err := statOf(fd)
	if err == nil && (info.Mode&fs.ModeSymlink == 0 || info.Tied()) {
		err = fault.New(fault.Conflict, "%q changed while it was being given its owner", path.Join(d.path, name))
	}
	if err == nil {
		err = d.failed("chown", name, retry(func() error {
			return unix.Fchownat(fd, "", int(int32(to.UID)), int(int32(to.GID)), unix.AT_EMPTY_PATH)
		}))
	}
	_ = unix.Close(fd) // nothing is written through it
	return err
}

// Give gives the file to whom it is to belong to. Until then only the host may use it.
func (w Writer) Give(to Given) error {
	var info Info // of no use where its owner stays as it is
	if to.UID != Anybody || to.GID != Anybody {
		var err error
		if info, err = statOf(w.fd); err != nil {
			return &fs.PathError{Op: "stat", Err: err}
		}
	}
	if err := to.give(w.fd, info); err != nil {
		return &fs.PathError{Op: "give", Err: err}
	}
	return nil
}
