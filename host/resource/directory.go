package resource

import (
	"strings"

	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

func lookDirectory(f *found, want keep.Thing, e *eye) {
	f.body = true
	f.same = given(f.info, want)
	if !f.same {
		f.says = e.unlike(f.info, want)
	}
}

// makeDirectory makes a directory with its mode, or gives its mode to one that
// is there. It needs no commit: an empty directory is nothing that anybody reads.
func makeDirectory(pl place, f found, want keep.Thing) error {
	if f.kind == keep.Directory {
		return give(pl, f, want)
	}
	if f.kind != 0 {
		if err := effect.Do("resource.directory.clear", func() error { return pl.dir.Remove(pl.name) }); err != nil {
			return err
		}
	}
	err := effect.Do("resource.directory.make", func() error { return pl.dir.Mkdir(pl.name) })
	if err != nil {
		return err
	}
	info, err := pl.dir.Lstat(pl.name)
	if err != nil {
		return err
	}
	return give(pl, found{kind: keep.Directory, info: info}, want)
}

// removeDirectory removes an empty directory; one that is not empty names what is in it.
func removeDirectory(pl place) error {
	err := effect.Do("resource.directory.remove", func() error { return pl.dir.Remove(pl.name) })
	if err == nil || !system.NotEmpty(err) {
		return err
	}
	names, e := pl.dir.Names(pl.name, 3)
	if e != nil {
		return err
	}
	return fault.Wrap(fault.Conflict, system.Cause(err), "a directory is there that holds %s, which the host did not make", strings.Join(names, ", ")).With("move it away")
}
