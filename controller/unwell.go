package controller

import (
	"context"
	"sync"
	"time"

	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// unwell is why nothing can be kept, in the record or in the registry, and since
// when. While nothing can be recorded, every answer is as old as that: status
// says so before anything else.
type unwell struct {
	mu    sync.Mutex // guards what follows
	why   string
	since time.Time
}

// note keeps what a write ended with. That the record refused something (a name
// that is not there, a conflict) is no illness of the record.
func (u *unwell) note(err error, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch kind := fault.KindOf(err); {
	case err == nil:
		u.why = ""
	case kind != fault.Unavailable && kind != fault.Broken:
	case u.why == "":
		u.why, u.since = err.Error(), now
	default:
		u.why = err.Error()
	}
}

func (u *unwell) now() (why string, since time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.why, u.since
}

// shelve notes whether the registry could keep what a builder publishes.
func (c *Controller) shelve(err error) {
	if was, _ := c.shelf.now(); err != nil && was != err.Error() {
		c.log.Error("the registry cannot keep what a builder publishes", "why", err.Error())
	}
	c.shelf.note(err, clock.Now())
}

// mend finds out whether the registry could keep again what it could not: that
// must not stand until somebody happens to publish. One that is another's is asked
// at first too: what is wrong with its address or its login is seen at once. Of the
// record, the write that every look at the leases is finds it out.
func (c *Controller) mend(ctx context.Context) {
	why, _ := c.shelf.now()
	if why == "" && (c.edges.elsewhere == nil || c.asked) || c.edges.registry == nil {
		return
	}
	c.asked = true
	err := c.edges.registry.Try(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil && why == "":
		c.shelve(err)
	case err != nil:
		c.shelf.note(err, clock.Now())
	case why != "":
		c.shelf.note(nil, clock.Now())
		c.log.Info("the registry can keep what is published again")
	}
}

// write is one fenced write of the record, and every write there is.
func (c *Controller) write(ctx context.Context, f func(*db.Tx) error) error {
	err := c.db.Write(ctx, f)
	if ctx.Err() == nil {
		c.unwell.note(err, clock.Now())
	}
	return err
}
