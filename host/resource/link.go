package resource

import (
	"noxmesh/host/keep"
	"noxmesh/internal/effect"
)

func lookLink(f *found, pl place, want keep.Thing, e *eye) error {
	target, err := pl.dir.ReadlinkWith(e.buffer, pl.name)
	if err != nil {
		return err
	}
	f.kind = keep.Link
	f.body = target == want.Target
	f.same = f.body
	if !f.same {
		f.says = "a link to " + target
	}
	return nil
}

// stageLink makes the link beside its place.
func stageLink(pl place, want keep.Thing) error {
	return anew(pl, func() error {
		return effect.Do("resource.link.stage", func() error { return pl.dir.Symlink(want.Target, pl.temp()) })
	})
}
