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
	return !w.found.same && !w.found.body && w.want.Kind != keep.Directory
}

// wave brings items that depend on nothing outside of it to what is declared.
// Each step is one for all of them.
func (p *pass) wave(ctx context.Context, items []*item) {
	p.look(items)
	differing := p.differing(items)
	if len(differing) == 0 {
		return
	}
	p.each(differing, func(it *item) { p.openArchive(ctx, it) })
	p.intend(differing)
	p.each(differing, p.makeDirectories)
	p.sys.Forget()
	p.each(differing, func(it *item) { p.stage(ctx, it) })
	if slices.ContainsFunc(differing, (*item).staged) {
		p.sync(differing)
	}
	p.each(differing, p.commit)
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
	if w.entry.Path == "" {
		return ""
	}
	return w.entry.Path + ": "
}

// differing says of the items that are as declared that they are, and returns the others.
func (p *pass) differing(items []*item) []*item {
	var differing []*item
	p.each(items, func(it *item) {
		if len(it.says) > 0 {
			differing = append(differing, it)
			return
		}
		it.state = report.StateOK
		if p.unsure(it) {
			p.pending = append(p.pending, it)
			return
		}
		p.settle(it)
	})
	return differing
}

// unsure reports whether something of the item was being made when a host
// stopped: it is there, and perhaps not on the disk.
func (p *pass) unsure(it *item) bool {
	found := false
	for _, w := range it.works {
		e, had := p.record.Entries[w.want.Path]
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
	for _, w := range it.works {
		p.settleThing(it, w)
	}
	if p.record.Done[it.res.ID] != it.digest {
		p.record.Done[it.res.ID] = it.digest
		p.dirty = true
	}
}

func (p *pass) settleThing(it *item, w *work) {
	real := w.want.Path
	if w.real != "" {
		real = w.real
	}
	e, had := p.entry(w.want.Path, real)
	if had && e.Phase == keep.Done && e.Thing == w.want && e.ID == it.res.ID && e.Was == "" && e.Real == w.real {
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
	e.Thing, e.ID, e.Phase, e.Was, e.Real = w.want, it.res.ID, keep.Done, "", w.real
	p.record.Entries[w.want.Path] = e
	p.dirty = true
	p.settleParents(w.want.Path)
}

// settleParents writes down that the directories on the way were made: the
// thing was read back in them.
func (p *pass) settleParents(of string) {
	for dir := path.Dir(of); dir != "/"; dir = path.Dir(dir) {
		e, had := p.record.Entries[dir]
		if !had || e.ID != "" || e.Phase == keep.Done {
			return
		}
		e.Phase = keep.Done
		p.record.Entries[dir] = e
	}
}

// stage writes what differs beside its place.
func (p *pass) stage(ctx context.Context, it *item) {
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
	var err error
	switch it.res.Type {
	case declaration.Archive:
		err = p.stageArchive(ctx, it)
	case declaration.File:
		if it.works[0].toStage() {
			err = p.stageBody(ctx, it.works[0])
		}
	case declaration.Directory, declaration.Link:
	}
	if err != nil {
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

func (p *pass) stageBody(ctx context.Context, w *work) error {
	return p.stageFile(w, func(to io.Writer) error { return p.source.Body(ctx, w.want.Digest, w.want.Size, to) })
}

func (p *pass) stageFile(w *work, fill func(io.Writer) error) error {
	pl, err := at(p.sys, w.want.Path)
	if err != nil {
		return err
	}
	w.staged = true
	return stageFile(pl, w.want, fill)
}

// unstage takes back what an item has staged: of an item, all is committed or nothing.
func (p *pass) unstage(it *item) {
	for _, w := range it.works {
		if !w.staged {
			continue
		}
		w.staged = false
		if pl, err := at(p.sys, w.want.Path); err == nil {
			_ = unstage(pl) // the record names it, and the next pass removes it
		}
	}
}

// commit makes what was staged real.
func (p *pass) commit(it *item) {
	for _, w := range it.works {
		if w.found.same || w.want.Kind == keep.Directory {
			continue
		}
		if err := p.commitThing(w); err != nil {
			it.broken("replace", w.want.Path, err)
			p.unstage(it)
			return
		}
	}
}

func (p *pass) commitThing(w *work) error {
	p.wrote, w.wrote = true, true
	if !w.found.body && w.found.kind == keep.Directory {
		p.empty(w.want.Path)
	}
	pl, err := at(p.sys, w.want.Path)
	if err != nil {
		return err
	}
	if w.found.body {
		return chmod(pl, w.found, w.want)
	}
	if err := commit(pl, w.found); err != nil {
		return err
	}
	w.staged = false
	return nil
}
