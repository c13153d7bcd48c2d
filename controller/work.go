package controller

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/delivery/verdict"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/bus"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/planted"
	"noxmesh/link"
)

// workWait is how long a builder's question for work is held open. A builder
// waits a little longer for the answer.
const workWait = 20 * time.Second

// openBuilder verifies that the builder whose subject this is signed the message.
func (c *Controller) openBuilder(ctx context.Context, m bus.Message, t link.PayloadType) (identitystore.BuilderRow, []byte, error) {
	var b identitystore.BuilderRow
	err := c.db.Read(ctx, func(tx *db.Tx) (err error) {
		b, err = identitystore.Builder(tx, m.From)
		return err
	})
	if err != nil {
		return b, nil, err
	}
	envelope, err := link.DecodeEnvelope(m.Data)
	if err != nil {
		return b, nil, err
	}
	payload, err := envelope.Open(t, b.Sign)
	return b, payload, err
}

// giveWork gives the oldest request under a lease, or waits a while for one.
// The lease is recorded before the request is given.
func (c *Controller) giveWork(ctx context.Context, m bus.Message) ([]byte, error) {
	b, payload, err := c.openBuilder(ctx, m, link.TypeWork)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	w, err := link.DecodeWork(payload)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	if w.Builder != b.ID || w.Mesh != c.mesh {
		return nil, c.refuse(m, fault.New(fault.Denied, "work asked for by builder %q of mesh %q", w.Builder, w.Mesh))
	}
	if err := c.seeBuilder(ctx, b, w); err != nil {
		return nil, err
	}
	answer := link.WorkAnswer{Format: link.Format, Mesh: c.mesh, Builder: b.ID, Counter: w.Counter, Lease: int64(c.cfg.Lease / time.Second)}
	if w.Unwell != "" { // it asks for none: it says why
		if err := c.takeBack(ctx, b, w.Unwell); err != nil {
			return nil, err
		}
		answer.At = clock.Now().UnixMilli()
		return c.seal(link.TypeWorkAnswer, answer)
	}
	deadline := time.After(workWait)
	for {
		rang := c.work.heard()
		r, err := c.lease(ctx, w)
		if err != nil {
			return nil, err
		}
		if r != nil {
			answer.Request = &r.Envelope
			c.log.Info("build given", "module", r.Module, "request", r.ID, "builder", b.Name)
			break
		}
		select {
		case <-rang:
			continue
		case <-deadline:
		case <-ctx.Done():
		}
		break
	}
	answer.At = clock.Now().UnixMilli()
	return c.seal(link.TypeWorkAnswer, answer)
}

func (c *Controller) seeBuilder(ctx context.Context, b identitystore.BuilderRow, w link.Work) error {
	isNew := b.LastSeen.IsZero() || b.Sandbox != w.Sandbox || b.Unwell != w.Unwell || b.Platform != w.Platform
	err := c.write(ctx, func(tx *db.Tx) error { return identitystore.SeeBuilder(tx, w, clock.Now()) })
	if err == nil && isNew {
		c.builds.NudgeAll()
	}
	return err
}

func (c *Controller) lease(ctx context.Context, w link.Work) (r *deliverystore.RequestRow, err error) {
	waiting := false
	err = c.db.Read(ctx, func(tx *db.Tx) (err error) {
		waiting, err = deliverystore.Waiting(tx, w.Platform)
		return err
	})
	if err != nil || !waiting {
		return nil, err
	}
	if planted.Is("lease recorded after the request is given") {
		return c.leaseLate(ctx, w)
	}
	err = c.leased(ctx, func(tx *db.Tx, now time.Time) error {
		only, err := alone(tx, w, now)
		if err != nil {
			return err
		}
		r, err = deliverystore.Lease(tx, deliverystore.Leasing{
			Builder: w.Builder, Platform: w.Platform, Sandbox: w.Sandbox == "", Checks: w.Checks, Alone: only, Now: now, Lease: c.cfg.Lease,
		})
		return err
	})
	return r, err
}

// takeBack gives to others what a builder was given and cannot begin.
func (c *Controller) takeBack(ctx context.Context, b identitystore.BuilderRow, why string) error {
	var back []deliverystore.RequestRow
	holds := false
	err := c.db.Read(ctx, func(tx *db.Tx) (err error) {
		holds, err = deliverystore.HoldsUnbegun(tx, b.ID)
		return err
	})
	if err != nil || !holds {
		return err
	}
	err = c.leased(ctx, func(tx *db.Tx, now time.Time) (err error) {
		back, err = deliverystore.GiveBack(tx, b.ID, why, now)
		return err
	})
	for _, r := range back {
		c.log.Info("build given back", "module", r.Module, "request", r.ID, "builder", b.Name, "why", why)
	}
	c.work.ring()
	return err
}

// leaseLate is a planted bug: the lease is worked out, given, and recorded later.
func (c *Controller) leaseLate(ctx context.Context, w link.Work) (r *deliverystore.RequestRow, err error) {
	lease := func(tx *db.Tx, now time.Time) error {
		r, err = deliverystore.Lease(tx, deliverystore.Leasing{Builder: w.Builder, Platform: w.Platform, Sandbox: w.Sandbox == "", Now: now, Lease: c.cfg.Lease})
		return err
	}
	given := errors.New("given")
	err = c.leased(ctx, func(tx *db.Tx, now time.Time) error { return errors.Join(lease(tx, now), given) })
	if !errors.Is(err, given) {
		return nil, err
	}
	out := r
	time.AfterFunc(time.Second, func() { _ = c.leased(ctx, lease) })
	return out, nil
}

// working extends a lease and keeps the log so far.
func (c *Controller) working(ctx context.Context, m bus.Message) ([]byte, error) {
	b, payload, err := c.openBuilder(ctx, m, link.TypeWorking)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	w, err := link.DecodeWorking(payload)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	if w.Step != "" && !build.ValidStep(w.Step) {
		return nil, c.refuse(m, fault.New(fault.Invalid, "working at %q, which is not the name of a step", w.Step))
	}
	if w.Builder != b.ID || w.Mesh != c.mesh {
		return nil, c.refuse(m, fault.New(fault.Denied, "working said by builder %q of mesh %q", w.Builder, w.Mesh))
	}
	var at time.Time
	stop := ""
	err = c.leased(ctx, func(tx *db.Tx, now time.Time) error {
		var err error
		at = now
		if stop, err = deliverystore.Extend(tx, w.Request, b.ID, now, c.cfg.Lease); err != nil || stop != "" {
			return err
		}
		if w.Step != "" {
			since := now.Add(-time.Duration(w.Elapsed) * time.Millisecond)
			if err := deliverystore.Doing(tx, w.Request, w.Step, since); err != nil {
				return err
			}
		}
		return deliverystore.AppendLog(tx, w.Request, w.Offset, w.Log)
	})
	if err != nil {
		return nil, err
	}
	return c.receiptFor(b.ID, w.Request, at, stop)
}

// answer commits what a builder made of a request. The receipt is the
// acknowledgement; the verdict is judged in the same transaction.
func (c *Controller) answer(ctx context.Context, m bus.Message) ([]byte, error) {
	b, payload, err := c.openBuilder(ctx, m, link.TypeBuildAnswer)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	a, err := build.DecodeAnswer(payload)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	if a.Builder != b.ID || a.Mesh != c.mesh {
		return nil, c.refuse(m, fault.New(fault.Denied, "an answer of builder %q in mesh %q", a.Builder, a.Mesh))
	}
	now := clock.Now()
	r, finding, err := c.weigh(ctx, b, a)
	made := a
	if finding != "" {
		made = notTaken(a, finding)
	}
	var saved deliverystore.Saved
	if err == nil {
		err = c.write(ctx, func(tx *db.Tx) (err error) {
			saved, err = deliverystore.SaveAnswer(tx, deliverystore.AnswerRow{Answer: made, Envelope: m.Data, Verdict: verdict.Judge(made), At: now, Finding: finding})
			return err
		})
	}
	if planted.Is("answer acknowledged before it is committed") {
		err = nil
	}
	switch {
	case fault.KindOf(err) == fault.Denied || fault.KindOf(err) == fault.NotFound:
		// Never to be committed: the builder is told to let go of it.
		c.log.Warn("an answer was refused", "builder", b.Name, "request", a.Request, "why", err.Error())
		return c.receiptFor(b.ID, a.Request, now, err.Error())
	case err != nil:
		return nil, err
	case saved == deliverystore.SavedNot:
		return c.receiptFor(b.ID, a.Request, now, cmp.Or(finding, "that this builder could not is nothing to record: others have the request, or may have it, or nobody asks any more"))
	}
	c.log.Info("build answered", "module", r.Module, "request", a.Request, "builder", b.Name, "outcome", string(made.Outcome), "verdict", verdict.Judge(made).String())
	if r.Check != "" {
		c.unlike.Store(r.Module, true)
	}
	c.builds.Forgive(r.Module) // whatever was in the way before, there is something new to compare
	if a.Outcome == build.OutcomeEnvironment {
		for _, in := range r.Closure { // it may be gone from the registry
			c.builds.Nudge(in.Module)
		}
	}
	if err := c.nudgeUsers(ctx, r.Module); err != nil {
		c.log.Warn("what is built against a module is compared later", "module", r.Module, "error", err)
	}
	c.receipts.ring()
	return c.receiptFor(b.ID, a.Request, now, finding)
}

// weigh is the request that an answer is to, whether the builder may answer it, and
// why the answer is not what was built: before anything of it is recorded.
func (c *Controller) weigh(ctx context.Context, b identitystore.BuilderRow, a build.Answer) (r deliverystore.RequestRow, finding string, err error) {
	err = c.db.Read(ctx, func(tx *db.Tx) (err error) {
		r, err = deliverystore.Request(tx, a.Request)
		return err
	})
	if err != nil {
		return r, "", err
	}
	if err := mayAnswer(r, a); err != nil {
		return r, "", err
	}
	if finding, err = c.proven(ctx, b, r.Request, a); finding != "" {
		c.log.Warn("an answer was refused", "builder", b.Name, "module", r.Module, "request", a.Request, "why", finding)
	}
	return r, finding, err
}

// mayAnswer refuses an answer for work that this builder was never given, or of
// something else than was asked.
func mayAnswer(r deliverystore.RequestRow, a build.Answer) error {
	if !r.GivenTo(a.Builder) {
		return fault.New(fault.Denied, "request %s was not given to builder %q", r.ID, a.Builder)
	}
	if a.Manifest == nil {
		return nil
	}
	made := a.Manifest.Built
	if a.Manifest.Module != r.Module || made.Commit != r.Commit || made.Tree != r.Tree || made.Platform != r.Platform || !slices.Equal(made.Closure, r.Closure) {
		return fault.New(fault.Denied, "the answer to request %s is about another module, commit, tree, platform or closure", r.ID)
	}
	return nil
}
