package resource

import (
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
)

func lookLink(f *found, pl place, want keep.Thing, e *eye) error {
	target, err := pl.dir.ReadlinkWith(e.buffer, pl.name)
	if err != nil {
		return err
	}
	f.kind = keep.Link
	f.same = target == want.Target
	if !f.same {
		f.says = "a link to " + target
	} else if want.Owner|want.Group != 0 {
		if f.info, err = pl.dir.Lstat(pl.name); err != nil {
			return err
		}
		if f.same = owned(f.info, want); !f.same {
			f.says = e.unlike(f.info, want)
		}
	}
	f.body = f.same // a link is not changed, another one takes its place
	return nil
}

// stageLink makes the link beside its place.
func stageLink(pl place, want keep.Thing) error {
	return anew(pl, func() error {
		return effect.Do("resource.link.stage", func() error { return layLink(pl.dir, pl.temp(), want) })
	})
}

func layLink(dir *system.Dir, name string, want keep.Thing) error {
	err := dir.Symlink(want.Target, name)
	if err == nil && want.Owner|want.Group != 0 {
		err = dir.GiveLink(name, giving(want))
	}
	return err
}
