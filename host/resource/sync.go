package resource

import (
	"errors"
	"io/fs"
	"slices"

	"noxmesh/host/keep"
	"noxmesh/internal/effect"
)

// handful is how many things are put on the disk one by one. A sync of the whole
// file system costs the same for any number, but waits for what others have
// written there as well.
const handful = 8

// flushing is one sync of what some items have changed.
type flushing struct {
	*pass
	items   []*item
	touched func(*work) bool
	thing   func(place, *work) error // puts one thing on the disk
	hook    func(func() error) error
}

// sync puts all that was staged on the disk, before it gets its names.
func (p *pass) sync(items []*item) {
	flushing{
		p, slices.DeleteFunc(slices.Clone(items), (*item).settled), func(w *work) bool { return !w.found.same }, syncStaged,
		func(f func() error) error { return effect.Do("resource.wave.sync", f) },
	}.run()
}

// seal puts all that was made, and was read back, on the disk, and then it is
// written down. One sync of each file system does for all waves: until then the
// record says of all of it that it is being made.
func (p *pass) seal() {
	flushing{
		p, p.pending, func(w *work) bool { return w.again }, syncCommitted,
		func(f func() error) error { return effect.Do("resource.wave.seal", f) },
	}.run()
	p.sys.Forget()
	err := p.sealMachine()
	for _, it := range p.pending {
		if err != nil && it.has().held != nil {
			it.fail(err)
		}
		if it.right() {
			p.settle(it)
		}
	}
}

// run syncs each file system on which something was touched. What could not be
// is lost for every item there: the kernel says so only once.
func (f flushing) run() {
	f.sys.Forget()
	devices := map[uint64]string{}
	things, last := 0, ""
	for _, it := range f.items {
		last = f.devices(it, last, func(device uint64, dir string) { devices[device] = dir })
		for _, w := range it.works {
			if f.touched(w) {
				things++
			}
		}
	}
	for device, at := range devices {
		if err := f.one(device, at, things); err != nil {
			f.lost(device, err)
		}
	}
}

func (f flushing) one(device uint64, at string, things int) error {
	dir, err := f.sys.Dir(at)
	if err != nil {
		return err
	}
	if things > handful || f.paved {
		return f.hook(dir.SyncFS)
	}
	return f.hook(func() error {
		err := f.each(device)
		if errors.Is(err, fs.ErrPermission) { // it cannot be opened, and can be synced with all others
			f.sys.Forget()
			if dir, err = f.sys.Dir(at); err == nil {
				err = dir.SyncFS()
			}
		}
		return err
	})
}

// each syncs what was touched on a file system, thing by thing.
func (f flushing) each(device uint64) error {
	for _, it := range f.items {
		for _, w := range it.works {
			if !f.touched(w) {
				continue
			}
			pl, err := at(f.sys, w.want.Path)
			if err == nil && pl.dir.Device() == device {
				err = f.thing(pl, w)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func syncStaged(pl place, w *work) error {
	switch {
	case !w.staged:
		return nil
	case w.want.Kind == keep.File:
		return pl.dir.SyncOne(pl.temp())
	}
	return pl.dir.Sync()
}

func syncCommitted(pl place, w *work) error {
	if w.want.Kind != keep.Link && !w.placed {
		if err := pl.dir.SyncOne(pl.name); err != nil {
			return err
		}
	}
	return pl.dir.Sync()
}

// devices names the file systems of the item's things that were touched. Last is
// the directory that was named before; the one that is now is returned.
func (f flushing) devices(it *item, last string, yield func(device uint64, dir string)) string {
	for _, w := range it.works {
		at := parent(w.want.Path)
		if at == last || !f.touched(w) {
			continue
		}
		f.sys.Trim()
		if dir, err := f.sys.Dir(at); err == nil {
			yield(dir.Device(), at)
			last = at
		}
	}
	return last
}

func (f flushing) lost(device uint64, err error) {
	for _, it := range f.items {
		hit := false
		f.devices(it, "", func(d uint64, _ string) { hit = hit || d == device })
		if hit {
			it.broken("put on the disk", it.res.Path, err)
			f.unstage(it)
		}
	}
}
