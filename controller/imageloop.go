package controller

import (
	"context"
	"errors"
	"maps"
	"slices"

	"noxmesh/delivery"
	"noxmesh/delivery/environment"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/image"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/loop"
	"noxmesh/internal/oci/remote"
)

// imagesEvery is how many looks at a source go by between two at an image: its
// registry is mostly somebody else's, and its name is moved by people who release
// things.
const imagesEvery = 5

// imageKeys is every image that some module asks to be built in, and every one that
// is recorded: what nobody asks for any more is forgotten.
func (c *Controller) imageKeys(ctx context.Context) (keys []string, err error) {
	err = c.with(ctx, func(v *view) error {
		keys = append(v.imagesAsked(), slices.Collect(maps.Keys(v.images))...)
		return nil
	})
	slices.Sort(keys)
	return slices.Compact(keys), err
}

// imageStep looks at where one name points. A failure is recorded as a state, and
// returned too, so that it counts as trouble.
func (c *Controller) imageStep(ctx context.Context, key string) (loop.Result, error) {
	was, users := environment.OfKey(key), []string{}
	err := c.with(ctx, func(v *view) error {
		if i, known := v.images[key]; known {
			was = i
		}
		users = v.builtIn(key)
		return nil
	})
	if err != nil {
		return loop.Result{}, err
	}
	if len(users) == 0 {
		return loop.Result{}, c.write(ctx, func(tx *db.Tx) error { return deliverystore.DropImage(tx, key) })
	}
	reference, ok := image.Parse(was.Name)
	if !ok {
		return loop.Result{}, fault.New(fault.Broken, "the name %q of an image cannot be read", was.Name)
	}
	found, err := c.names.Resolve(ctx, reference, was.Platform, was.Known())
	if later, is := errors.AsType[remote.Later](err); is {
		return loop.Result{After: later.After, Unseen: true}, nil
	}
	if ctx.Err() != nil {
		return loop.Result{}, ctx.Err()
	}
	seen := environment.Seen{State: environment.Found, Head: found.Head, Digest: found.Digest, Same: found.Same}
	if err != nil {
		seen = environment.Seen{State: imageState(err), Why: err.Error()}
	}
	next := environment.Look(was, seen, clock.Now())
	if err := c.saveImage(ctx, was, next, users); err != nil {
		return loop.Result{}, err
	}
	if next.State != environment.Found {
		return loop.Result{}, fault.Wrap(kindOfImage(next.State), err, "image %q: %s", was.Name, next.State)
	}
	return loop.Result{}, nil
}

// saveImage records what is known of an image where there is something to record,
// and lets what is built in it be compared.
func (c *Controller) saveImage(ctx context.Context, was, next environment.Image, users []string) error {
	if !environment.Moved(was, next) {
		return nil
	}
	if err := c.write(ctx, func(tx *db.Tx) error { return deliverystore.SaveImage(tx, next) }); err != nil {
		return err
	}
	c.log.Info("image", "name", next.Name, "platform", next.Platform, "state", next.State.String(), "digest", string(next.Digest), "why", next.Why)
	if was.Digest == next.Digest {
		return nil
	}
	for _, module := range users {
		c.builds.Forgive(module) // there is something new to compare, whatever was in the way before
		if err := c.nudgeUsers(ctx, module); err != nil {
			return err
		}
	}
	return nil
}

// imageState is the named state that a failed look at an image is.
func imageState(err error) environment.State {
	for _, row := range []struct {
		cause remote.Cause
		state environment.State
	}{
		{remote.Gone, environment.Gone},
		{remote.Refused, environment.Refused},
		{remote.NoPlatform, environment.NoPlatform},
		{remote.NotImage, environment.NotImage},
	} {
		if errors.Is(err, row.cause) {
			return row.state
		}
	}
	return environment.Unreachable
}

// kindOfImage says whether to back off. Where the registry has answered and what is
// there is wrong, the next look on the clock is soon enough.
func kindOfImage(s environment.State) fault.Kind {
	switch s {
	case environment.Unreachable, environment.Refused:
		return fault.Unavailable
	case environment.NeverLooked, environment.Found, environment.Gone, environment.NoPlatform, environment.NotImage:
	}
	return fault.Invalid
}

// nudgeImage looks at the image that a module is built in, once nobody has yet.
func (c *Controller) nudgeImage(ctx context.Context, module string) error {
	return c.withImage(ctx, module, func(v *view, key string) {
		if _, known := v.images[key]; !known {
			c.images.Nudge(key)
		}
	})
}

// forgiveImage looks at it now, whatever it was backing off from.
func (c *Controller) forgiveImage(ctx context.Context, module string) error {
	return c.withImage(ctx, module, func(_ *view, key string) { c.images.Forgive(key) })
}

func (c *Controller) withImage(ctx context.Context, module string, do func(*view, string)) error {
	return c.with(ctx, func(v *view) error {
		if m := v.modules[module]; m != nil {
			for _, key := range m.images {
				do(v, key)
			}
		}
		return nil
	})
}

// imageMoved reports whether a module's newest build was made in another image than
// its name means now.
func (v *view) imageMoved(module string) bool {
	return slices.ContainsFunc(delivery.Stale(v.facts(v.modules[module].row)), func(r delivery.Reason) bool { return r.Cause == delivery.ImageMoved })
}

// wantedAt is the image that a commit which was seen asks to be built in.
func (v *view) wantedAt(module string, seen source.Seen) environment.Wanted {
	w := v.wanted(source.Source{Commit: seen.Commit, Manifest: seen.Manifest})
	if owner := v.modules[w.Owner]; owner != nil && w.Owner != module {
		w.Made = delivery.ImageOf(v.facts(owner.row), w.In)
	}
	return w
}
