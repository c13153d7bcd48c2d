package resource

import (
	"context"
	"slices"
	"strings"

	"noxmesh/host/keep"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// part lets go of what is no longer declared of the early kinds, or of the others.
func (p *pass) part(ctx context.Context, early bool) {
	for _, k := range slices.Backward(p.kinds) {
		if k.early != early {
			continue
		}
		if gone := p.undeclared(k); len(gone) > 0 && ctx.Err() == nil {
			p.partKind(ctx, k, gone)
		}
	}
}

// undeclared is what the record has of a kind and no resource is about. What
// belongs to a resource that is not right in its new place yet stays until it is,
// but for what goes early.
func (p *pass) undeclared(k rankedKind) []*holding {
	var gone []*holding
	for subject, hold := range p.record.Holds {
		if p.subjects[subject] || !strings.HasPrefix(subject, string(k.of)+" ") {
			continue
		}
		if it := p.byID(hold.ID); it != nil && !k.early && !it.right() {
			continue
		}
		gone = append(gone, &holding{hold: hold, known: true})
	}
	slices.SortFunc(gone, func(a, b *holding) int { return strings.Compare(b.hold.Subject, a.hold.Subject) })
	return gone
}

func (p *pass) partKind(ctx context.Context, k rankedKind, gone []*holding) {
	for _, h := range gone {
		if h.hold.Phase == keep.Done && h.hold.Origin == keep.Made {
			h.hold.Phase = keep.Changing
			p.record.Holds[h.hold.Subject] = h.hold
			p.dirty = true
		}
	}
	if err := p.saved(); err != nil {
		for _, h := range gone {
			h.failed(fault.Wrap(fault.Conflict, err, "record what is about to be removed"))
		}
	} else {
		p.wrote, p.moved = true, true
		k.leave(ctx, p, gone)
	}
	p.parted = append(p.parted, gone...)
}

// settleParted drops from the record what is gone, and is no file, once that is on the disk.
func (c *cleaning) settleParted() {
	if len(c.parted) == 0 {
		return
	}
	err := c.sealMachine()
	for _, h := range c.parted {
		if h.err == nil && err != nil {
			h.err = err
		}
		if h.err != nil {
			c.cannotHolding(h)
			continue
		}
		c.say(h.hold.ID, h.stays)
		delete(c.record.Holds, h.hold.Subject)
		c.dirty = true
	}
}

// cannotHolding reports what is still there though it should not be.
func (c *cleaning) cannotHolding(h *holding) {
	why := fault.New(fault.Conflict, "%s", advised(doingTo(h, "remove")))
	if it := c.byID(h.hold.ID); it != nil {
		it.state, it.more().err = report.StateFailed, why
		return
	}
	c.say(h.hold.ID, "")
	r := c.reports[h.hold.ID]
	r.State, r.Error = report.StateFailed, why.Error()
}

// forgetUnits has systemd forget the units whose files have just been removed. It
// is no failure where it does not, and said: nothing starts them at boot any more.
func (c *cleaning) forgetUnits(ctx context.Context) {
	if !c.sys.Whole() || len(c.ofUnits) == 0 {
		return
	}
	units, err := c.manager(ctx)
	if err == nil {
		err = effect.Do("resource.units.forget", func() error { return units.Reload(ctx) })
	}
	if err != nil {
		for _, id := range c.ofUnits {
			c.say(id, "systemd still knows the unit: "+err.Error())
		}
	}
}

// saved makes the record durable where it has moved.
func (p *pass) saved() error {
	if !p.dirty {
		return nil
	}
	return p.saveRecord()
}
