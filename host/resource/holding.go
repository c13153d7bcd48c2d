package resource

import (
	"context"
	"slices"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// hasKind reports whether a resource of this type is no file, and known.
func (e *Engine) hasKind(t declaration.Type) bool {
	return slices.ContainsFunc(e.kinds, func(k rankedKind) bool { return k.of == t })
}

// apart is the items of a wave that are files, and those that are not.
func apart(items []*item) (files, others []*item) {
	if !slices.ContainsFunc(items, func(it *item) bool { return !it.res.Type.IsFile() }) {
		return items, nil
	}
	for _, it := range items {
		if it.res.Type.IsFile() {
			files = append(files, it)
		} else {
			others = append(others, it)
		}
	}
	return files, others
}

// hold brings the items of a wave that are no files to what is declared.
func (p *pass) hold(ctx context.Context, items []*item) {
	for _, k := range p.kinds {
		var all []*holding
		for _, it := range items {
			if it.res.Type == k.of && !it.settled() {
				all = append(all, p.holding(it))
			}
		}
		if len(all) > 0 && ctx.Err() == nil {
			p.holdKind(ctx, k, all)
		}
	}
}

func (p *pass) holding(it *item) *holding {
	h := &holding{it: it, want: it.res.Said()}
	subject := it.res.Subject()
	h.hold, h.known = p.record.Holds[subject]
	h.hold.Subject, h.hold.ID = subject, it.res.ID
	return h
}

// holdKind is one wave of one type: look, record what is about to be done, do it,
// look again.
func (p *pass) holdKind(ctx context.Context, k rankedKind, all []*holding) {
	k.look(ctx, p, all)
	all = sound(all, "look at")
	if k.of.Asks() {
		for _, h := range all {
			h.it.state = report.StateOK
		}
		return
	}
	differing := p.unlike(all)
	if len(differing) == 0 {
		return
	}
	k.mean(p, differing)
	differing = p.meanAll(sound(differing, "change"))
	if len(differing) == 0 {
		return
	}
	p.wrote, p.moved = true, true
	k.change(ctx, p, differing)
	differing = sound(differing, "change")
	for _, h := range differing {
		h.found = stand{memory: h.found.memory}
	}
	k.look(ctx, p, differing)
	for _, h := range sound(differing, "read back") {
		p.readBackHolding(h)
	}
}

// sound is those that have not failed; the items of the others have.
func sound(all []*holding, doing string) []*holding {
	left := make([]*holding, 0, len(all))
	for _, h := range all {
		if h.err == nil {
			left = append(left, h)
			continue
		}
		h.it.fail(doingTo(h, doing))
	}
	return left
}

// doingTo is what stands against something that is no file, with what was being done.
func doingTo(h *holding, doing string) error {
	kind := fault.KindOf(h.err)
	if kind == fault.Unknown {
		kind = fault.Conflict
	}
	return fault.Wrap(kind, system.Cause(h.err), "%s %q", doing, h.hold.Subject)
}

// unlike settles what is as declared, and what is to be reported and no more. It
// returns the others.
func (p *pass) unlike(all []*holding) []*holding {
	var differing []*holding
	for _, h := range all {
		it := h.it
		if !h.found.same {
			it.more().says = append(it.more().says, h.found.says)
		}
		switch {
		case !h.found.same && p.tolerated(it, func() bool { return !h.known || h.hold.Phase == keep.Done }):
			it.state, it.hollow = report.StateDiffers, h.found.hollow
		case !h.found.same:
			differing = append(differing, h)
		case h.known && h.hold.Phase != keep.Done:
			it.state = report.StateOK // a killed host has made it so, and perhaps not put it on the disk
			p.moved = true
			p.held(h)
		default:
			it.state = report.StateOK
			if !h.known {
				h.hold.Origin = keep.TakenOver // it is as declared, and nobody here made it so
			}
			p.settleHolding(h)
		}
	}
	return differing
}

// tolerated reports whether an item that is not as declared is only reported: it
// was as declared once, something else has changed it, and its policy says so or it
// is left alone for now. Where a host was killed over it, it is still being made.
func (p *pass) tolerated(it *item, whole func() bool) bool {
	spared := p.spared[it.res.ID] == p.digestOf(it)
	return (spared || it.res.Said().Drift == declaration.DriftReport) && p.record.Done[it.res.ID] == p.digestOf(it) && whole()
}

// meanAll writes down, durably, what is about to be changed, and whose it is. It
// returns what may be changed.
func (p *pass) meanAll(all []*holding) []*holding {
	items := make([]*item, 0, len(all))
	for _, h := range all {
		was := p.record.Holds[h.hold.Subject]
		switch {
		case !h.known && !h.found.there:
			h.hold.Origin, h.hold.Phase = keep.Made, keep.Making
		case !h.known:
			h.hold.Origin, h.hold.Phase = keep.TakenOver, keep.Making
		case h.hold.Phase == keep.Making:
			if h.found.there && !h.found.half {
				h.hold.Origin = keep.TakenOver // not what a killed host was making
			}
		case !h.found.there:
			h.hold.Origin, h.hold.Phase = keep.Made, keep.Changing // whosever it was, it is gone, and this one is the host's
		default:
			h.hold.Phase = keep.Changing
		}
		if was != h.hold {
			p.record.Holds[h.hold.Subject] = h.hold
			p.dirty = true
		}
		items = append(items, h.it)
	}
	p.saveFor(items)
	return slices.DeleteFunc(all, func(h *holding) bool { return h.it.settled() })
}

func (p *pass) readBackHolding(h *holding) {
	it := h.it
	if !h.found.same {
		it.fail(fault.New(fault.Conflict, "read back %q: it is not as declared: %s", h.hold.Subject, h.found.says).With("%s", h.found.todo))
		return
	}
	it.fixed = p.record.Done[it.res.ID] == p.digestOf(it)
	it.state = report.StateChanged
	p.held(h)
}

// held is read back, and perhaps not on the disk yet.
func (p *pass) held(h *holding) {
	h.it.more().held = h
	p.pending = append(p.pending, h.it)
}

// settleHolding writes down that it was read back.
func (p *pass) settleHolding(h *holding) {
	h.hold.Phase = keep.Done
	if p.record.Holds[h.hold.Subject] != h.hold {
		p.record.Holds[h.hold.Subject] = h.hold
		p.dirty = true
	}
	if p.record.Done[h.it.res.ID] != p.digestOf(h.it) {
		p.record.Done[h.it.res.ID] = p.digestOf(h.it)
		p.dirty = true
	}
}

// sealMachine puts on the disk what programs and services of the machine have
// written: they rename, and leave the rest to the kernel.
func (p *pass) sealMachine() error {
	if !p.moved {
		return nil
	}
	p.sys.Forget()
	done := map[uint64]bool{}
	for _, at := range []string{"/", "/etc", "/var", "/usr"} {
		dir, err := p.sys.Dir(at)
		if system.Absent(err) || err == nil && done[dir.Device()] {
			continue
		}
		if err == nil {
			done[dir.Device()] = true
			err = effect.Do("resource.machine.seal", dir.SyncFS)
		}
		if err != nil {
			return fault.Wrap(fault.Conflict, p.sys.Say(system.Cause(err), at), "put %q on the disk", at)
		}
	}
	p.moved = false
	return nil
}
