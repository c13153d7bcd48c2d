package builder

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"

	"noxmesh/internal/bus"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
)

// Run takes build requests until ctx ends. Two with one state folder: the
// second is refused. Killed anywhere and run again, it goes on: a build that was
// under way is forgotten here and given again by the controller, and an answer
// that was kept is sent.
func Run(ctx context.Context, c Config) (err error) {
	b, closeAll, err := open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	connection, err := bus.Dial(ctx, bus.Config{
		URL: b.caller.me.joined.Broker, CAPEM: []byte(b.caller.me.joined.CA), NatsSeed: b.caller.me.nats, JWT: b.caller.me.joined.JWT,
		ID: b.caller.me.Builder, Name: "mesh-builder " + b.caller.me.Name, Logger: b.log,
	})
	if err != nil {
		return err
	}
	defer connection.Close()
	b.caller.link = connection
	b.log.Info("builder is up", "builder", b.caller.me.Builder, "mesh", b.caller.me.Mesh, "platform", Platform, "workshop", b.workshop.dir)
	return b.loop(ctx)
}

// open is a builder that has its folders, knows who it is and whether it has a
// sandbox, and speaks with nobody yet.
func open(ctx context.Context, c Config) (*builder, func() error, error) {
	return openWith(c, func(c Config, s state) (*builder, error) { return openLocked(ctx, c, s) })
}

func openWith(c Config, locked func(Config, state) (*builder, error)) (*builder, func() error, error) {
	c.Limits = c.Limits.orDefault()
	c.Most = c.Most.orDefault(c.Limits, machineMemory())
	c.Limits.Memory = min(c.Limits.Memory, c.Most.Memory)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s, err := openState(c.State)
	if err != nil {
		return nil, nil, disk.Say(err, c.State)
	}
	lock, err := s.lock()
	if err != nil {
		return nil, nil, disk.Say(err, c.State)
	}
	b, err := locked(c, s)
	if err != nil {
		return nil, nil, errors.Join(disk.Say(err, c.State), lock.Close())
	}
	return b, func() error { return errors.Join(b.workshop.close(), lock.Close()) }, nil
}

// openMember is a builder that knows who it is.
func openMember(c Config, s state) (*builder, error) {
	if err := s.sweep(); err != nil {
		return nil, err
	}
	me, keys, err := s.member()
	if err != nil {
		return nil, err
	}
	return &builder{
		config: c, state: s, caller: &caller{me: me, state: s, keys: keys}, log: c.Log,
		sent: map[string]int64{}, tries: map[string]int{}, random: rand.Int64N,
	}, nil
}

func openLocked(ctx context.Context, c Config, s state) (*builder, error) {
	b, err := openMember(c, s)
	if err != nil {
		return nil, err
	}
	b.workshop, err = openWorkshop(c.Workshop, s.dir, sandboxUsers(c.Users))
	if err != nil {
		return nil, err
	}
	b.trySandbox(ctx)
	if ctx.Err() != nil {
		return nil, fault.Wrap(fault.Unavailable, ctx.Err(), "try a sandbox")
	}
	b.git, err = git.New(git.Config{
		Home: s.path("git"), Allow: git.Allow{Hosts: c.PlainHosts, Folders: c.FileFolders},
		SSH: git.SSH{Key: c.SSHKey, KnownHosts: c.KnownHosts},
	})
	if err != nil {
		return nil, err
	}
	if b.images, err = openImages(b.config, b.workshop); err != nil {
		return nil, err
	}
	if b.shelf, err = openLibraries(b.config, b.workshop); err != nil {
		return nil, err
	}
	if b.supply, err = openSupply(b.config, b.workshop); err != nil {
		return nil, err
	}
	b.registry = b.ownRegistry
	return b, nil
}

// trySandbox finds out whether a sandbox works here. Where it was only the disk
// that refused, that may pass.
func (b *builder) trySandbox(ctx context.Context) {
	box, err := probe(ctx, b.workshop, b.config.Limits)
	if err == nil {
		if b.lacks = box.groups.lacks(); b.lacks != "" {
			b.log.Warn("not every limit can be kept on this machine", "why", b.lacks)
		}
		b.sandbox, b.why, b.refused = box, "", false
		return
	}
	why := bounded(said(err))
	if ctx.Err() == nil && why != b.why {
		b.log.Warn("modules with commands cannot be built here", "why", why)
	}
	b.why, b.refused = why, disk.Refused(err)
}

// close leaves no build behind.
func (w *workshop) close() error {
	return stays(w.dir, effect.Do("builder.workshop.close", func() error { return removeAll(w.dir) }))
}
