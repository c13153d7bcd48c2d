package controller

import (
	"context"
	"errors"
	"fmt"

	mesh "noxmesh"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/internal/loop"
	"noxmesh/manifest"
)

// sourceStep looks at one module's source and records what it found. A failure
// is recorded as a state, and returned too, so that it counts as trouble.
func (c *Controller) sourceStep(ctx context.Context, name string) (loop.Result, error) {
	var m deliverystore.ModuleRow
	var was source.Source
	err := c.db.Read(ctx, func(tx *db.Tx) (err error) {
		if m, err = deliverystore.Module(tx, name); err != nil {
			return err
		}
		was, err = deliverystore.Source(tx, name)
		return err
	})
	if fault.KindOf(err) == fault.NotFound {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, err
	}
	now := clock.Now()
	next := source.Look(was, c.see(ctx, m.Module, was), now)
	next.Module = name
	if ctx.Err() != nil {
		return loop.Result{}, ctx.Err()
	}
	if moved(was, next) {
		if err := c.write(ctx, func(tx *db.Tx) error { return deliverystore.SaveSource(tx, next) }); err != nil {
			return loop.Result{}, err
		}
		c.log.Info("source", "module", name, "state", next.State.String(), "commit", next.Commit, "why", next.Why)
		c.builds.Nudge(name)
		c.declares.NudgeAll() // what it requires may decide what belongs on a node
	}
	c.looked.Store(name, now) // after the record: a fresh look is of what it found
	if next.State != source.Read {
		return loop.Result{}, fault.New(kindOf(next.State), "source of %q: %s: %s", name, next.State, next.Why)
	}
	return loop.Result{}, nil
}

// kindOf says whether to back off. Where the forge has answered and what is there
// is wrong, only a change can mend it, and that goes out within one look.
func kindOf(s source.State) fault.Kind {
	if s == source.Unreachable || s == source.Denied {
		return fault.Unavailable
	}
	return fault.Invalid
}

// moved reports whether there is anything to record: the time of a look is not.
func moved(was, next source.Source) bool {
	return was.Commit != next.Commit || was.Tree != next.Tree || was.Ref != next.Ref || was.State != next.State ||
		was.Why != next.Why || was.Head != next.Head || !was.Since.Equal(next.Since)
}

// see is what the rim finds of a module's source.
func (c *Controller) see(ctx context.Context, m mesh.Module, was source.Source) source.Seen {
	found, err := c.git.Look(ctx, git.Place{URL: m.Repository, Ref: m.Ref, Folder: m.Folder}, was.Known())
	seen := source.Seen{State: source.Read, Ref: found.Ref, Commit: found.Commit, Tree: found.Tree, Same: found.Unchanged}
	switch {
	case err != nil:
		seen.State, seen.Why = stateOf(err), err.Error()
		return seen
	case found.Unchanged:
		return seen
	case found.Manifest == nil:
		seen.State, seen.Why = source.NoManifest, found.Why
		return seen
	}
	if seen.Manifest, err = manifest.DecodeSource(manifest.Name, found.Manifest); err != nil {
		seen.State, seen.Why = source.BadManifest, err.Error()
		return seen
	}
	if seen.Manifest.Module != m.Name {
		seen.State = source.WrongModule
		seen.Why = fmt.Sprintf("its manifest is that of %q", seen.Manifest.Module)
	}
	return seen
}

// stateOf is the named state that a failed look is.
func stateOf(err error) source.State {
	for _, row := range []struct {
		cause git.Cause
		state source.State
	}{
		{git.NoRepository, source.Gone},
		{git.Empty, source.Empty},
		{git.NoRef, source.NoRef},
	} {
		if errors.Is(err, row.cause) {
			return row.state
		}
	}
	if fault.KindOf(err) == fault.Denied {
		return source.Denied
	}
	return source.Unreachable
}
