package controller

import (
	"context"
	"time"

	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// steady notices that the wall clock was set: between two readings it has then
// moved by more, or by less, than time has passed.
type steady struct {
	turn chan struct{} // holds the one token of whoever writes, and guards last
	last time.Time     // zero: this process has not read it
}

func newSteady() steady { return steady{turn: make(chan struct{}, 1)} }

// stepLeast is the least that counts as setting the clock; what moves it slower
// than that is what keeps it right.
const stepLeast = 2 * time.Second

// leased runs a write about leases. They are kept in wall time, since they
// outlive the process, and are lengths of time all the same: when the clock has
// been set, they are moved with it before anything is decided by them.
func (c *Controller) leased(ctx context.Context, f func(tx *db.Tx, now time.Time) error) error {
	select {
	case c.steady.turn <- struct{}{}:
		defer func() { <-c.steady.turn }()
	case <-ctx.Done():
		return fault.Wrap(fault.Unavailable, ctx.Err(), "wait for the write before it")
	}
	last, now := c.steady.last, clock.Now()
	step := time.Duration(0)
	if !last.IsZero() {
		if step = now.Round(0).Sub(last.Round(0)) - now.Sub(last); step.Abs() < stepLeast {
			step = 0
		}
	}
	err := c.write(ctx, func(tx *db.Tx) error {
		if step != 0 || last.IsZero() {
			if err := deliverystore.MoveLeases(tx, step, now, c.cfg.Lease); err != nil {
				return err
			}
		}
		return f(tx, now)
	})
	if err == nil {
		c.steady.last = now
		if step != 0 {
			c.log.Warn("the clock was set", "by", step.String())
		}
	}
	return err
}
