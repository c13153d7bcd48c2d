package resource

import (
	"context"
	"io"
	"path"
	"slices"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// toStage reports whether the thing must be written anew, beside its place.
func (w *work) toStage() bool {
	return !w.found.same && (!w.found.body || w.found.tied || w.anew) && w.want.Kind != keep.Directory
}

// wave brings items that depend on nothing outside of it to what is declared.
// Each step is one for all of them.
func (p *pass) wave(ctx context.Context, items []*item) {
	files, others := apart(items)
	p.waveOfFiles(ctx, files)
	p.hold(ctx, others)
}

func (p *pass) waveOfFiles(ctx context.Context, items []*item) {
	p.owners(items)
	p.look(items)
	if later := p.beyond(items); len(later) > 0 {
		items = slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return slices.Contains(later, it) })
		defer p.waveOfFiles(ctx, later)
	}
	differing := p.differing(items)
	if len(differing) == 0 {
		return
	}
	p.each(differing, p.sweep)
	p.each(differing, p.markSwap)
	p.each(differing, func(it *item) { p.openArchive(ctx, it) })
	p.room(differing)
	p.intend(differing)
	p.each(differing, p.makeDirectories)
	p.sys.Forget()
	p.stageAll(ctx, differing)
	if slices.ContainsFunc(differing, (*item).staged) {
		p.sync(differing)
	}
	p.commitAll(differing)
	p.sys.Forget()
	p.readBack(differing)
}

func (p *pass) each(items []*item, do func(*item)) {
	for _, it := range items {
		if !it.settled() {
			do(it)
		}
	}
}

// elsewhere is real where it is not p itself.
func elsewhere(p, real string) string {
	if real == p {
		return ""
	}
	return real
}

// name is which thing of an item is meant; there is nothing to say of its only one.
func name(w *work) string {
	if w.entry == nil {
		return ""
	}
	return w.entry.Path + ": "
}

// differing says of the items that are as declared that they are, and returns the others.
func (p *pass) differing(items []*item) []*item {
	var differing []*item
	p.each(items, func(it *item) {
		switch {
		case len(it.has().says) > 0 && p.tolerated(it, func() bool { return !p.unsure(it) }):
			it.state = report.StateDiffers
			return
		case len(it.has().says) > 0:
			differing = append(differing, it)
			return
		}
		p.raise(it)
		if p.unsure(it) {
			if p.sweep(it); it.settled() {
				return
			}
			it.state = report.StateOK
			p.pending = append(p.pending, it)
			return
		}
		it.state = report.StateOK
		p.settle(it)
		p.rest(it)
	})
	return differing
}

// unsure reports whether something of the item was being made when a host
// stopped: it is there, and perhaps not on the disk.
func (p *pass) unsure(it *item) bool {
	found := false
	for _, w := range it.works {
		e, had := p.record.Entries.Get(w.want.Path)
		w.again = had && e.Phase != keep.Done
		found = found || w.again
	}
	p.paved = p.paved || found // by a pass of which nobody knows how far it came
	return found
}

// staged reports whether something of the item waits beside its place.
func (it *item) staged() bool {
	return !it.settled() && slices.ContainsFunc(it.works, func(w *work) bool { return w.staged })
}

// settle writes down that an item was read back.
func (p *pass) settle(it *item) {
	if h := it.has().held; h != nil {
		p.settleHolding(h)
		return
	}
	for _, w := range it.works {
		p.settleThing(it, w)
	}
	if p.record.Done[it.res.ID] != p.digestOf(it) {
		p.record.Done[it.res.ID] = p.digestOf(it)
		p.dirty = true
	}
}

func (p *pass) settleThing(it *item, w *work) {
	real := w.want.Path
	if w.real != "" {
		real = w.real
	}
	e, had := p.entry(w.want.Path, real)
	if had && e.Phase == keep.Done && e.Thing == w.want && e.ID == it.res.ID && e.Was == 0 && e.Real == w.real {
		return
	}
	if !had {
		e.Origin = keep.TakenOver // it is as declared, and nobody here made it so
	}
	if had && e.Phase != keep.Done && !w.wrote {
		if pl, err := at(p.sys, w.want.Path); err == nil {
			_ = unstage(pl) // what a killed host left beside; the next change does it again
		}
	}
	e.Thing, e.ID, e.Phase, e.Was, e.Real = w.want, it.res.ID, keep.Done, 0, w.real
	p.record.Entries.Put(e)
	if p.lightly[w.want.Path] {
		delete(p.lightly, w.want.Path) // as the record on the disk has it
	} else {
		p.dirty = true
	}
	p.settleParents(w.want.Path)
}

// settleParents writes down that the directories on the way were made: the
// thing was read back in them.
func (p *pass) settleParents(of string) {
	for dir := path.Dir(of); dir != "/"; dir = path.Dir(dir) {
		e, had := p.record.Entries.Get(dir)
		if !had || e.ID != "" || e.Phase == keep.Done {
			return
		}
		e.Phase = keep.Done
		p.record.Entries.Put(e)
	}
}

// stageAll writes what differs beside its place: files side by side.
func (p *pass) stageAll(ctx context.Context, items []*item) {
	files := p.files(items, (*work).toStage)
	for _, it := range files {
		it.works[0].staged = true // or perhaps, and then it is taken back
	}
	j := jobs{pass: p, do: func(s *sight, e *eye) {
		want := s.w.want
		s.err = stageFile(s.pl, want, e, func(to io.Writer) error { return p.write(ctx, s.it.res, to) })
	}, failed: func(s *sight) {
		s.it.unwritten(s.err)
		p.unstage(s.it)
	}}
	j.everything(files)
	p.each(items, func(it *item) {
		if it.res.Type != declaration.File {
			p.stage(ctx, it)
		}
	})
}

// files is the items that are a file, with which something is to be done.
func (p *pass) files(items []*item, pick func(*work) bool) []*item {
	var files []*item
	p.each(items, func(it *item) {
		if it.res.Type == declaration.File && pick(it.works[0]) {
			files = append(files, it)
		}
	})
	return files
}

// stage writes what differs of an item that is no file.
func (p *pass) stage(ctx context.Context, it *item) {
	if it.swap {
		if err := p.stageSwap(ctx, it); err != nil {
			it.unwritten(err)
			p.unstage(it)
		}
		return
	}
	for _, w := range it.works {
		if w.want.Kind != keep.Link || !w.toStage() {
			continue
		}
		if err := p.stageLink(w); err != nil {
			it.broken("write", w.want.Path, err)
			p.unstage(it)
			return
		}
	}
	if it.res.Type != declaration.Archive {
		return
	}
	if err := p.stageArchive(ctx, it); err != nil {
		it.unwritten(err)
		p.unstage(it)
	}
}

// unwritten says of an item why its bytes cannot be written.
func (it *item) unwritten(err error) {
	if fault.KindOf(err) == fault.Unavailable {
		it.fail(err)
	} else {
		it.broken("write", it.res.Path, err)
	}
}

func (p *pass) stageLink(w *work) error {
	pl, err := at(p.sys, w.want.Path)
	if err != nil {
		return err
	}
	w.staged = true
	return stageLink(pl, w.want)
}

// stageEntry writes one file of an archive.
func (p *pass) stageEntry(w *work, body io.Reader) error {
	pl, err := at(p.sys, w.want.Path)
	if err != nil {
		return err
	}
	w.staged = true
	return stageFile(pl, w.want, &p.eyes[0], func(to io.Writer) error {
		_, err := io.Copy(to, body)
		return err
	})
}

// unstage takes back what an item has staged: of an item, all is committed or nothing.
func (p *pass) unstage(it *item) {
	for _, w := range it.works {
		if !w.staged {
			continue
		}
		w.staged = false
		if pl, err := at(p.sys, w.want.Path); err == nil {
			_ = p.clear(pl) // the record names it, and the next pass removes it
		}
	}
}

// commitAll makes what was staged real: side by side what takes the place of
// nothing or of a file.
func (p *pass) commitAll(items []*item) {
	plain := func(w *work) bool { return w.staged && w.found.kind != keep.Directory }
	files := p.files(items, plain)
	for _, it := range files {
		p.wrote, it.works[0].wrote = true, true
	}
	j := jobs{pass: p, do: func(s *sight, _ *eye) {
		if s.err = commit(s.pl, s.w.found); s.err == nil {
			s.w.staged, s.w.placed = false, true
		}
	}, failed: func(s *sight) { p.uncommitted(s.it, s.w, s.err) }}
	j.everything(files)
	p.each(items, func(it *item) {
		if it.res.Type != declaration.File || !it.works[0].wrote {
			p.commit(it)
		}
	})
}

// commit is that of one item, thing by thing.
func (p *pass) commit(it *item) {
	if it.swap {
		if err := p.commitSwap(it); err != nil {
			p.uncommitted(it, it.works[0], err)
		}
		return
	}
	for _, w := range it.works {
		if w.found.same || w.want.Kind == keep.Directory {
			continue
		}
		if err := p.commitThing(w); err != nil {
			p.uncommitted(it, w, err)
			return
		}
	}
}

func (p *pass) uncommitted(it *item, w *work, err error) {
	it.broken("replace", w.want.Path, err)
	p.unstage(it)
}

func (p *pass) commitThing(w *work) error {
	p.wrote, w.wrote = true, true
	pl, err := at(p.sys, w.want.Path)
	if err == nil && !w.found.body && w.found.kind == keep.Directory {
		p.empty(pl.real())
		pl, err = at(p.sys, w.want.Path)
	}
	if err != nil {
		return err
	}
	if !w.staged {
		return give(pl, w.found, w.want)
	}
	if err := commit(pl, w.found); err != nil {
		return err
	}
	w.staged, w.placed = false, true
	return nil
}
