package controller

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/loop"
	"noxmesh/link"
)

// factsOf is what is known of one module now, and why nothing is declared at all.
func (c *Controller) factsOf(ctx context.Context, name string) (m deliverystore.ModuleRow, f delivery.Facts, recovering string, err error) {
	err = c.with(ctx, func(v *view) (err error) {
		if m, err = v.module(name); err == nil {
			f, recovering = v.facts(m), v.recovering()
		}
		return err
	})
	return m, f, recovering, err
}

// buildStep compares one module and takes the step that the comparison names. What
// its checks came to stands beside that, and is in nothing's way.
func (c *Controller) buildStep(ctx context.Context, name string) (loop.Result, error) {
	var compared error
	if _, unlike := c.unlike.LoadAndDelete(name); unlike {
		if compared = c.compareFiles(ctx, name); compared != nil {
			c.unlike.Store(name, true)
		}
	}
	result, err := c.compareStep(ctx, name)
	if err == nil {
		err = compared
	}
	return result, err
}

func (c *Controller) compareStep(ctx context.Context, name string) (loop.Result, error) {
	m, f, recovering, err := c.factsOf(ctx, name)
	if fault.KindOf(err) == fault.NotFound {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, err
	}
	if err := c.compareRegistry(ctx, &f); err != nil {
		return loop.Result{}, err
	}
	now := clock.Now()
	d := delivery.Compare(f, now)
	if err := c.withdraw(ctx, name, d.Withdraw, now); err != nil {
		return loop.Result{}, err
	}
	if err := c.asks(ctx, m, f, d); err != nil {
		return loop.Result{}, err
	}
	if d.Declare != nil && recovering == "" {
		err := c.declare(ctx, deliverystore.DeclareWrite{Module: name, Build: d.Declare.Build, Nodes: d.Declare.Nodes, By: byPolicy, At: now})
		if err != nil {
			return loop.Result{}, err
		}
	}
	if !d.Next.IsZero() {
		return loop.Result{After: d.Next.Sub(now)}, nil
	}
	return loop.Result{}, troubleOf(f, d)
}

// troubleOf is what keeps a module from being delivered and is nobody's turn
// but a reconciler's: a build that nobody takes. Only a change mends it (a
// builder that joins, or can do more), so it is not backed off from.
func troubleOf(f delivery.Facts, d delivery.Difference) error {
	why := delivery.Untaken(f)
	if why == "" || d.Ask != nil {
		return nil
	}
	return fault.New(fault.Invalid, "build of %q: waits for %s", f.Module, why).
		With("mesh builder add NAME makes the token that a builder joins with")
}

// compareRegistry compares builds with the registry: what has been built is
// compared with the world too. One that is gone is recorded as such, and is no
// longer current in f; and so is one that is there again.
func (c *Controller) compareRegistry(ctx context.Context, f *delivery.Facts) error {
	turn := 1
	if last, known := c.turns.Load(f.Module); known {
		turn, _ = last.(int)
	}
	c.turns.Store(f.Module, max(1, (turn+1)&math.MaxInt32))
	for _, b := range delivery.ToLookFor(*f, turn) {
		if err := c.compareBuild(ctx, f, b); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) compareBuild(ctx context.Context, f *delivery.Facts, b artifact.Build) error {
	has, err := c.holds(ctx, f.Module, b)
	if err != nil {
		return fault.Add(err, "look for the build of %q in the registry", f.Module)
	}
	if has != b.Gone {
		return nil
	}
	var is artifact.Build
	err = c.write(ctx, func(tx *db.Tx) (err error) {
		if has {
			err = deliverystore.MarkPresent(tx, b.ID)
		} else {
			err = deliverystore.MarkGone(tx, b.ID, clock.Now())
		}
		if err == nil {
			is, err = deliverystore.Build(tx, b.ID)
		}
		return err
	})
	if err != nil || is.Gone == b.Gone {
		return err
	}
	if has {
		c.log.Info("a build is in the registry again", "module", f.Module, "build", string(b.ID))
	} else {
		c.log.Warn("a build is gone from the registry", "module", f.Module, "build", string(b.ID))
	}
	f.Builds = slices.Clone(f.Builds)
	for i := range f.Builds {
		if f.Builds[i].ID == b.ID {
			f.Builds[i] = is
		}
	}
	return c.nudgeUsers(ctx, f.Module)
}

// holds reports whether the registry has all of a build: its manifest and each blob.
func (c *Controller) holds(ctx context.Context, module string, b artifact.Build) (bool, error) {
	has, err := c.pull.HasManifest(ctx, module, b.Published)
	if err != nil || !has {
		return false, err
	}
	blobs := maps.Clone(b.Where.Blobs)
	if blobs == nil {
		blobs = map[document.Digest]int64{}
	}
	for _, p := range b.Where.Archives {
		blobs[p.Index], blobs[p.Blob] = p.IndexSize, p.Size
	}
	for _, digest := range slices.Sorted(maps.Keys(blobs)) {
		if has, err := c.pull.HasBlob(ctx, module, digest, blobs[digest]); err != nil || !has {
			return false, err
		}
	}
	return true, nil
}

// ask records a signed build request. Asking twice is asking once: the id is a
// hash of what is asked.
func (c *Controller) ask(ctx context.Context, m deliverystore.ModuleRow, f delivery.Facts, a delivery.Ask) error {
	r := build.Request{
		Format: build.Format, Mesh: c.mesh, Module: m.Name, Repository: m.Repository, Commit: a.Commit, Ref: f.Source.Ref, Tree: a.Closure.Tree,
		Folder: m.Folder, Platform: a.Closure.Platform, Closure: a.Closure.Inputs, Laid: f.Inputs.Laid, Attempt: a.Attempt,
		Limit: int64(c.cfg.Limit / time.Second), Registry: c.at.Registry, Target: m.Name,
	}
	r.Bases = a.Closure.Bases
	if a.Closure.Environment != "" {
		r.Environment = &build.Environment{Image: f.In.Reference().Name(), Digest: a.Closure.Environment}
	}
	needs := f.Source.Manifest.Build != nil && len(f.Source.Manifest.Build.Run)+len(f.Source.Manifest.Build.Test) > 0
	return c.request(ctx, r, needs)
}

// asks asks for what is to be built now, or else for what was lost.
func (c *Controller) asks(ctx context.Context, m deliverystore.ModuleRow, f delivery.Facts, d delivery.Difference) error {
	switch {
	case d.Ask != nil:
		return c.ask(ctx, m, f, *d.Ask)
	case d.Again != nil:
		return c.askAgain(ctx, m, *d.Again)
	}
	return nil
}

// askAgain records a request for a build that was lost, of what it was made of.
func (c *Controller) askAgain(ctx context.Context, m deliverystore.ModuleRow, a delivery.Again) error {
	var like deliverystore.RequestRow
	var laid []build.Laid
	err := c.with(ctx, func(v *view) error {
		if b := v.made[a.Build]; b != nil {
			laid, _ = v.laidAgain(*b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.db.Read(ctx, func(tx *db.Tx) (err error) {
		like, err = deliverystore.Request(tx, a.Like)
		return err
	})
	if err != nil {
		return err
	}
	r := like.Request
	r.Repository, r.Commit, r.Laid, r.Attempt = m.Repository, a.Commit, laid, a.Attempt
	r.Limit, r.Registry = int64(c.cfg.Limit/time.Second), c.at.Registry
	return c.request(ctx, r, like.Commands)
}

// request signs and records what is asked.
func (c *Controller) request(ctx context.Context, r build.Request, commands bool) (err error) {
	if r.ID, err = r.Identity(); err != nil {
		return err
	}
	envelope, err := link.Seal(c.keys.declare, link.TypeBuildRequest, r)
	if err != nil {
		return err
	}
	err = c.write(ctx, func(tx *db.Tx) error {
		return deliverystore.AddRequest(tx, deliverystore.RequestRow{Request: r, Envelope: envelope, Commands: commands, MadeAt: clock.Now()})
	})
	if err != nil {
		return err
	}
	c.log.Info("build asked for", "module", r.Module, "commit", r.Commit, "attempt", r.Attempt, "request", r.ID)
	c.work.ring()
	return nil
}

// withdraw takes back what would not be asked for any more.
func (c *Controller) withdraw(ctx context.Context, module string, all []delivery.Withdrawal, now time.Time) error {
	if len(all) == 0 {
		return nil
	}
	var done []delivery.Withdrawal
	err := c.write(ctx, func(tx *db.Tx) error {
		done = nil
		for _, w := range all {
			was, err := deliverystore.WithdrawMoved(tx, module, w, now)
			if err != nil {
				return err
			}
			if was {
				done = append(done, w)
			}
		}
		return nil
	})
	for _, w := range done {
		c.log.Info("build withdrawn", "module", module, "request", w.ID, "why", w.Why)
	}
	return err
}

// declare is one write for all the nodes it concerns. A build that requires less
// than the one before lets go of what nothing else brings there.
func (c *Controller) declare(ctx context.Context, w deliverystore.DeclareWrite) error {
	err := c.write(ctx, func(tx *db.Tx) error {
		var leaves []declaredOn
		err := c.within(tx, func(v *view) error {
			leaves = v.leavesWith(w)
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := deliverystore.Declare(tx, w); err != nil {
			return err
		}
		return undeclare(tx, leaves)
	})
	if err != nil {
		return err
	}
	c.log.Info("declared", "module", w.Module, "build", string(w.Build), "nodes", len(w.Nodes), "by", w.By)
	for _, n := range w.Nodes {
		c.declares.Nudge(n)
	}
	return nil
}

// leaseStep gives back what builders have stopped working on.
func (c *Controller) leaseStep(ctx context.Context, _ string) (loop.Result, error) {
	var lost []deliverystore.RequestRow
	err := c.leased(ctx, func(tx *db.Tx, now time.Time) (err error) {
		lost, err = deliverystore.LapseLeases(tx, now)
		return err
	})
	if err != nil {
		return loop.Result{}, err
	}
	for _, r := range lost {
		c.log.Warn("a builder stopped working on a request", "module", r.Module, "request", r.ID, "state", r.State, "why", r.Why)
		c.builds.Nudge(r.Module)
	}
	if len(lost) > 0 {
		c.work.ring()
	}
	return loop.Result{}, nil
}
