package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"noxmesh/host/keep"
	"noxmesh/host/mounts"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

const (
	mountsOnce = 8                // side by side: one that is far away and does not answer holds up no other
	mountLimit = 10 * time.Minute // is the longest that one may be declared to be waited for

	unmountLimit = 90 * time.Second // for how long it is waited until something is unmounted
)

// mountIn is the mount that was looked at.
func mountIn(h *holding) *mount {
	m, _ := h.found.memory.(*mount)
	return m
}

// outermost is those that lie in no other one's place, and the others: what they lie in
// must be there first.
func outermost(all []*holding) (some, left []*holding) {
	for i, h := range all {
		real := mountIn(h).real
		if slices.ContainsFunc(all, func(o *holding) bool { return below(mountIn(o).real, real) }) ||
			slices.ContainsFunc(all[:i], func(o *holding) bool { return mountIn(o).real == real }) {
			left = append(left, h)
		} else {
			some = append(some, h)
		}
	}
	return some, left
}

// mountAll has them mounted as declared, side by side, and then their lines in fstab.
func (p *pass) mountAll(ctx context.Context, all []*holding) {
	each(ctx, unmountLimit, all, func(ctx context.Context, h *holding) error { return p.makeRoom(ctx, mountIn(h)) })
	p.sys.Forget() // nothing of its own keeps it busy
	together(ctx, mountLimit, mountsOnce, all, func(ctx context.Context, h *holding) error { return p.bringMount(ctx, mountIn(h)) })
	each(ctx, mountLimit, all, func(_ context.Context, h *holding) error {
		m := mountIn(h)
		if len(m.lines) == 1 && m.lines[0].Same(m.line) {
			return nil
		}
		return p.changeTable(func(t mounts.Table) mounts.Table { return t.With(m.line) })
	})
}

// makeRoom takes away what the host has mounted there, as it was declared before, and
// makes the directories that are missing.
func (p *pass) makeRoom(ctx context.Context, m *mount) error {
	if m.there && m.right {
		return nil
	}
	if m.there {
		if err := p.unmount(ctx, m.real); err != nil {
			return err
		}
		m.there = false
	}
	missing, err := p.mountPoint(m.real)
	if err != nil {
		return err
	}
	for _, dir := range missing {
		pl, err := at(p.sys, dir)
		if err != nil {
			return err
		}
		if err := makeDirectory(pl, found{}, keep.Thing{Path: dir, Kind: keep.Directory, Mode: 0o755}); err != nil {
			return err
		}
	}
	return nil
}

// bringMount mounts it, or changes how it is mounted. Several go on side by side.
func (p *pass) bringMount(ctx context.Context, m *mount) error {
	ctx, cancel := context.WithTimeout(ctx, mounts.Timeout(m.line.Options))
	defer cancel()
	switch {
	case !m.there:
		args := []string{"-t", m.line.Type, "-o", m.line.Options, m.line.Source, m.real}
		return effect.Do("resource.mount.make", func() error { return p.apart(ctx, "mount", args...) })
	case m.options != "":
		args := []string{"-o", "remount," + mounts.Explicit(m.line.Options), m.on.Source, m.real}
		return effect.Do("resource.mount.change", func() error { return p.apart(ctx, "mount", args...) })
	}
	return nil
}

// apart runs a program that may leave another one behind, which is none of the host's.
func (p *pass) apart(ctx context.Context, name string, args ...string) error {
	done, err := p.sys.Apart(ctx, system.Command{Name: name, Args: args})
	if err != nil {
		return err
	}
	return done.Failed(name)
}

// unmount unmounts, and never lets go of what is still used.
func (p *pass) unmount(ctx context.Context, at string) error {
	g, err := p.ground()
	if err != nil {
		return err
	}
	if below := mounts.Below(g.mounts, at); len(below) > 0 {
		return fault.New(fault.Conflict, "%s is mounted below it", strings.Join(quoteAll(below), ", ")).With("unmount that first")
	}
	p.sys.Forget() // nothing of its own keeps it busy
	ctx, cancel := context.WithTimeout(ctx, unmountLimit)
	defer cancel()
	err = effect.Do("resource.mount.remove", func() error { return p.apart(ctx, "umount", at) })
	if err == nil {
		return nil
	}
	var names []string
	for _, by := range p.sys.Holders(at, said) {
		names = append(names, fmt.Sprintf("%s (pid %d)", by.Name, by.PID))
	}
	if len(names) == 0 {
		return err
	}
	return fault.New(fault.Conflict, "it is used by %s", strings.Join(names, ", ")).With("stop them: it is unmounted when none uses it")
}

func quoteAll(all []string) []string {
	out := make([]string, 0, len(all))
	for _, s := range all {
		out = append(out, quote(s))
	}
	return out
}

// changeTable replaces fstab, as it is at this moment, by what change makes of it.
func (p *pass) changeTable(change func(mounts.Table) mounts.Table) error {
	g, err := p.ground()
	if err != nil {
		return err
	}
	text := change(g.table).String()
	if text == g.table.String() {
		return nil
	}
	return p.putText(fstab, text)
}

// readMounts has systemd read fstab anew: what it knows of a mount is what was there
// when it did that last.
func (p *pass) readMounts(ctx context.Context) error {
	if !p.sys.Has("/run/systemd/system") {
		return nil
	}
	units, err := p.manager(ctx)
	if err != nil {
		return err
	}
	return effect.Do("resource.mounts.reload", func() error { return units.Reload(ctx) })
}

// leaveMount undoes what the host has done: it unmounts, takes the line out, and
// removes the directories that it has made, where nothing is in them.
func (p *pass) leaveMount(ctx context.Context, h *holding, note mountNote) error {
	g, err := p.ground()
	if err != nil {
		return err
	}
	path := h.name()
	real, err := p.realOf(path)
	if err != nil {
		return err
	}
	mine := func(source string) bool { return slices.Contains(note.sources, source) }
	if on, there := mounts.At(g.mounts, real); there && slices.ContainsFunc(note.sources, func(s string) bool { return p.isOf(on, s) }) {
		if err := p.unmount(ctx, real); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(g.table.Of(path), func(e mounts.Entry) bool { return !mine(e.Source) && len(note.sources) > 0 }) {
		if err := p.changeTable(func(t mounts.Table) mounts.Table { return t.Without(path) }); err != nil {
			return err
		}
	}
	if g, err = p.ground(); err != nil {
		return err
	}
	if on, there := mounts.At(g.mounts, real); there {
		h.stays = quote(on.Source) + " is mounted at " + quote(real) + ", which the host did not mount, and stays"
		return nil
	}
	return p.removeDirectories(note.dirs)
}

// removeDirectories removes those that nothing is in and nothing is to be in.
func (p *pass) removeDirectories(dirs []string) error {
	for _, dir := range slices.Backward(dirs) {
		pl, err := reach(p.sys, dir)
		if err != nil || pl.dir == nil {
			return err
		}
		if _, err := pl.dir.Lstat(pl.name); system.Absent(err) {
			continue
		}
		if names, err := pl.dir.Names(pl.name, 1); err != nil || len(names) > 0 || p.wants(dir) {
			return err
		}
		if err := removeDirectory(pl); err != nil {
			return err
		}
	}
	return nil
}
