package resource

import (
	"context"
	"path"

	"noxmesh/host/keep"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// leave ends the container, and takes away its unit, what its runner has of it, and the
// images that the host has brought for it and nobody else uses. What it has written
// into folders of the machine stays.
func (containers) leave(ctx context.Context, p *pass, all []*holding) {
	var ours []*contained
	for _, h := range all {
		if h.hold.Origin == keep.TakenOver {
			h.stays = h.hold.Subject + " was there before, and stays"
			continue
		}
		c := newContained(h, runnerOf(p.sys))
		c.takesUnit()
		ours = append(ours, c)
	}
	if len(ours) == 0 {
		return
	}
	services{}.leave(ctx, p, unitsOf(ours))
	for _, c := range ours {
		one, cancel := context.WithTimeout(ctx, serviceLimit)
		if err := c.takeAway(one, p); err != nil {
			c.failed(err)
		}
		cancel()
	}
}

func (c *contained) takeAway(ctx context.Context, p *pass) error {
	if c.unit.err != nil {
		return c.unit.err
	}
	for _, r := range c.ranBy(p) {
		if err := c.removeFrom(ctx, r); err != nil {
			return err
		}
	}
	if err := c.removeUnit(ctx, p); err != nil {
		return err
	}
	_, err := dropImages(ctx, p, c.note.Brought, "")
	return err
}

// removeFrom has this runner have no container of it.
func (c *contained) removeFrom(ctx context.Context, r runner) error {
	is, err := r.Containers(ctx, []string{c.name()})
	if err != nil || !is[c.name()].Ours() {
		return err
	}
	if err := r.RemoveContainer(ctx, c.name()); err != nil {
		return err
	}
	if is, err = r.Containers(ctx, []string{c.name()}); err == nil && is[c.name()].Ours() {
		err = fault.New(fault.Conflict, "%s still has it", r.Name())
	}
	return err
}

// removeUnit removes the file of the unit, and has systemd forget it: a file that
// is gone already may be one that a host removed and was killed before the rest.
func (c *contained) removeUnit(ctx context.Context, p *pass) error {
	if err := p.dropText(path.Join(unitsFolder, c.unit.want.Unit)); err != nil {
		return err
	}
	units, err := p.manager(ctx)
	if err != nil {
		return err
	}
	return effect.Do("resource.container.forget", func() error { return units.Reload(ctx) })
}
