package resource

import (
	"path"
	"strings"

	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// intend writes down, durably, all that the wave is about to make or change,
// and whose each thing is: from then on a kill at any moment leaves nothing
// behind whose origin is not known.
func (p *pass) intend(items []*item) {
	p.each(items, p.meanSwap)
	for _, it := range items {
		for _, w := range it.works {
			if w.found.same || it.settled() {
				continue
			}
			if err := p.mean(it, w); err != nil {
				it.broken("replace", w.want.Path, err)
				break
			}
		}
	}
	p.saveFor(items)
}

// saveFor saves the record before the effects of these items; without it they have none.
func (p *pass) saveFor(items []*item) {
	if !p.dirty && (len(p.lightly) == 0 || p.note() == nil) {
		return
	}
	if err := p.saveRecord(); err != nil {
		for _, it := range items {
			if !it.settled() {
				it.fail(fault.Wrap(fault.Conflict, err, "record what is about to be made"))
			}
		}
	}
}

// mean is the line of the record for one thing that differs.
func (p *pass) mean(it *item, w *work) error {
	if err := p.replaceable(w, p.ours(w)); err != nil {
		return err
	}
	if err := p.shut(w); err != nil {
		return err
	}
	if err := p.meanParents(path.Dir(w.want.Path)); err != nil {
		return err
	}
	real, err := p.realOf(w.want.Path)
	if err != nil {
		return err
	}
	e, had := p.entry(w.want.Path, real)
	switch {
	case !had && w.found.kind == 0:
		e.Origin, e.Phase = keep.Made, keep.Making
	case !had:
		e.Origin, e.Phase = keep.TakenOver, keep.Making
	case e.Phase == keep.Making:
		p.paved = true // by a pass of which nobody knows how far it came
		if p.foreign(e, w) {
			e.Origin = keep.TakenOver
		}
	case p.putBack(e, it, w, real):
		e.Phase = keep.Changing
		p.record.Entries.Put(e)
		p.lightly[w.want.Path] = true
		return nil
	default:
		p.dirty = p.dirty || p.lightly[w.want.Path]
		e.Was = turned(e, w)
		e.Phase = keep.Changing
	}
	e.Thing, e.ID, e.Real = w.want, it.res.ID, elsewhere(w.want.Path, real)
	if is, _ := p.record.Entries.Get(w.want.Path); is != e {
		p.record.Entries.Put(e)
		p.dirty = true
	}
	if w.want.Kind == keep.Directory {
		p.coming[w.want.Path] = real
	} else if w.found.kind == keep.Directory {
		p.meanBelow(real)
	}
	return nil
}

// turned is the kind that a thing which becomes another one has been. Where an earlier
// change has come to nothing, it is still what it was before that.
func turned(e keep.Entry, w *work) keep.Kind {
	if e.Thing.Kind != w.want.Kind && (e.Was == 0 || w.found.kind == e.Thing.Kind) {
		return e.Thing.Kind
	}
	return e.Was
}

// putBack reports whether the thing has only drifted from what the record on the
// disk has, and may be noted beside it: not all that is written there is durable.
// A power cut takes nothing from that: what is read after one is what is on the disk.
func (p *pass) putBack(e keep.Entry, it *item, w *work, real string) bool {
	return (e.Phase == keep.Done || p.lightly[w.want.Path]) && e.Thing == w.want && e.ID == it.res.ID && e.Place() == real &&
		w.want.Kind != keep.Directory && w.found.kind != keep.Directory
}

// meanBelow is about what lies in a directory that a file or a link comes in the
// place of: it goes with it.
func (p *pass) meanBelow(dir string) {
	for e := range p.record.Entries.All() {
		if (e.Phase == keep.Done || p.lightly[e.Thing.Path]) && strings.HasPrefix(e.Place(), dir+"/") {
			e.Phase = keep.Changing
			p.record.Entries.Put(e)
			p.dirty = true
		}
	}
}

// entry is the path's line of the record, where it is about this place. A path
// that leads elsewhere by now has left behind what was made at the old place:
// that gets a line of its own, and is removed with what is no longer declared.
// And a place that has a line under another path, no longer declared, keeps it.
func (p *pass) entry(at, real string) (keep.Entry, bool) {
	e, had := p.record.Entries.Get(at)
	if !had {
		return p.inherit(real)
	}
	if e.Place() == real {
		return e, true
	}
	p.record.Entries.Drop(at)
	p.dirty = true
	old := e
	old.Thing.Path, old.Real = e.Place(), ""
	if _, taken := p.record.Entries.Get(old.Thing.Path); !taken && e.Origin == keep.Made {
		p.record.Entries.Put(old)
	}
	return p.inherit(real)
}

// inherit takes over the line of a place that was reached by another path.
func (p *pass) inherit(real string) (keep.Entry, bool) {
	at, had := p.heir(real)
	if !had {
		return keep.Entry{}, false
	}
	e, _ := p.record.Entries.Get(at)
	p.record.Entries.Drop(at)
	p.dirty = true
	return e, true
}

// ours reports whether the record has what is at a thing's place, perhaps by another path.
func (p *pass) ours(w *work) bool {
	if _, had := p.record.Entries.Get(w.want.Path); had || w.found.kind == 0 {
		return had
	}
	real, err := p.realOf(w.want.Path)
	if err != nil {
		return false
	}
	_, had := p.heir(real)
	return had
}

// heir is the path under which the record has what is at a place, where that is no
// longer declared.
func (p *pass) heir(real string) (string, bool) {
	if p.alias == nil {
		p.alias = map[string]string{}
		for e := range p.record.Entries.All() {
			if e.Real != "" {
				p.alias[e.Real] = e.Thing.Path
			}
		}
	}
	for _, at := range []string{real, p.alias[real]} {
		if e, had := p.record.Entries.Get(at); had && !p.wants(at) && e.Place() == real {
			return at, true
		}
	}
	return "", false
}

// realOf is where the path leads, or will, where directories on the way are
// about to be made.
func (p *pass) realOf(at string) (string, error) {
	rest := path.Base(at)
	for dir := path.Dir(at); ; dir = path.Dir(dir) {
		if real, ok := p.coming[dir]; ok {
			return path.Join(real, rest), nil
		}
		d, err := p.sys.Dir(dir)
		if err == nil {
			return path.Join(d.Path(), rest), nil
		}
		if !system.Absent(err) || dir == "/" {
			return "", err
		}
		rest = path.Join(path.Base(dir), rest)
	}
}

// foreign reports whether what is there is not what a killed host was making.
func (p *pass) foreign(e keep.Entry, w *work) bool {
	if w.found.kind == 0 || e.Origin == keep.TakenOver {
		return false
	}
	if e.Thing == w.want {
		return !w.found.body
	}
	f, _, err := look(p.sys, e.Thing, &p.eyes[0])
	return err != nil || !f.body
}

// replaceable is what stands against putting the thing where something else is.
// A file gives way to a file or a link; a directory gives way where it is empty,
// which only its removal can tell.
func (p *pass) replaceable(w *work, ours bool) error {
	f, want := w.found, w.want
	switch {
	case f.kind == other:
		return fault.New(fault.Conflict, "a %s is there", called(f.kind)).With("move it away")
	case want.Kind == keep.Directory && f.kind != 0 && f.kind != want.Kind && !ours:
		return fault.New(fault.Conflict, "a %s is there that the host did not make", called(f.kind)).With("move it away")
	}
	return nil
}

// meanParents adds the directories that are missing on the way.
func (p *pass) meanParents(dir string) error {
	if _, ok := p.coming[dir]; ok || dir == "/" {
		return nil // perhaps in the place of something else
	}
	_, err := p.sys.Dir(dir)
	if err == nil {
		return nil
	}
	if !system.Absent(err) {
		return err
	}
	if err := p.meanParents(path.Dir(dir)); err != nil {
		return err
	}
	return p.meanParent(dir)
}

func (p *pass) meanParent(dir string) error {
	if pl, err := at(p.sys, dir); err == nil {
		if _, err := pl.dir.Lstat(pl.name); err == nil {
			return fault.New(fault.Conflict, "%q is a link that leads nowhere, which the host did not make", dir).With("remove it, or make what it leads to")
		}
	}
	real, err := p.realOf(dir)
	if err != nil {
		return err
	}
	p.coming[dir] = real
	if e, had := p.entry(dir, real); had && e.Thing.Kind == keep.Directory {
		return nil // what is in the record and is no directory has been taken out of the way
	}
	p.record.Entries.Put(keep.Entry{
		Thing: keep.Thing{Path: dir, Kind: keep.Directory, Mode: 0o755}, Real: elsewhere(dir, real), Origin: keep.Made, Phase: keep.Making,
	})
	p.dirty = true
	return nil
}

// makeDirectories makes what the item's things lie in, and its own directories.
func (p *pass) makeDirectories(it *item) {
	if it.swap {
		if err := p.makeParents(path.Dir(it.res.Path)); err != nil {
			it.broken("make", it.res.Path, err)
		}
		return
	}
	for _, w := range it.works {
		if w.found.same {
			continue
		}
		err := p.makeParents(path.Dir(w.want.Path))
		if err == nil && w.want.Kind == keep.Directory {
			err = p.makeDirectory(w)
		}
		if err != nil {
			it.broken("make", w.want.Path, err)
			return
		}
	}
}

func (p *pass) makeDirectory(w *work) error {
	pl, err := at(p.sys, w.want.Path)
	if err != nil {
		return err
	}
	// An earlier item of the wave may have made it, as the way to something.
	if info, err := pl.dir.Lstat(pl.name); err == nil && kindOf(info) == keep.Directory {
		w.found.kind, w.found.info = keep.Directory, info
		if given(info, w.want) {
			return nil
		}
	}
	p.wrote, w.wrote, p.paved = true, true, true
	if w.found.kind != 0 && w.found.kind != keep.Directory {
		defer p.sys.Forget() // handles may have been reached through what stood there
	}
	return makeDirectory(pl, w.found, w.want)
}

func (p *pass) makeParents(dir string) error {
	_, err := p.sys.Dir(dir)
	switch {
	case dir == "/" || err != nil && !system.Absent(err):
		return err
	case err == nil:
		return p.openParent(dir)
	}
	if err := p.makeParents(path.Dir(dir)); err != nil {
		return err
	}
	pl, err := at(p.sys, dir)
	if err != nil {
		return err
	}
	p.wrote, p.paved = true, true
	err = effect.Do("resource.parent.make", func() error { return pl.dir.Mkdir(pl.name) })
	if err != nil {
		return err
	}
	info, err := pl.dir.Lstat(pl.name)
	if err != nil {
		return err
	}
	return give(pl, found{info: info}, keep.Thing{Mode: 0o755})
}

// openParent gives its mode to a directory that a killed host had made on the
// way to something: it is still shut, and nothing is in it.
func (p *pass) openParent(dir string) error {
	e, had := p.record.Entries.Get(dir)
	if !had || e.ID != "" || e.Phase != keep.Making || e.Thing.Kind != keep.Directory {
		return nil
	}
	pl, err := at(p.sys, dir)
	if err != nil {
		return err
	}
	info, err := pl.dir.Lstat(pl.name)
	if err != nil || kindOf(info) != keep.Directory || info.Mode&keep.AllBits != 0o700 {
		return err
	}
	if in, err := pl.dir.Names(pl.name, 1); err != nil || len(in) > 0 {
		return err
	}
	p.wrote = true
	return give(pl, found{info: info}, e.Thing)
}
