package resource

import (
	"context"
	"slices"
	"time"

	"noxmesh/host/container"
	"noxmesh/internal/fault"
)

const (
	healthLimit = 10 * time.Second // for which a check that has not passed yet is waited for
	healthEvery = time.Second      // how often it is looked at meanwhile
)

// watchHealth looks at the checks of those that run as declared, and waits for a
// moment for those that have not passed yet. What has not after that is waited for by
// looking again.
func watchHealth(ctx context.Context, by runner, all []*contained) {
	began := time.Now()
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for left := withChecks(all); len(left) > 0; {
		ids := make([]string, len(left))
		for i, c := range left {
			ids[i] = c.is.ID
		}
		healths, err := by.Health(ctx, ids)
		left = slices.DeleteFunc(left, func(c *contained) bool {
			if err != nil {
				c.failed(err)
				return true
			}
			return c.health(healths[slices.Index(ids, c.is.ID)], time.Since(began) < healthLimit)
		})
		if len(left) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func withChecks(all []*contained) []*contained {
	var some []*contained
	for _, c := range all {
		if c.err == nil && len(c.wrong) == 0 && c.image.Check != nil {
			some = append(some, c)
		}
	}
	return some
}

// health takes in what a check has come to, and reports whether that is all.
func (c *contained) health(h container.Health, patient bool) bool {
	said := ""
	if h.Says != "" {
		said = ": " + h.Says
	}
	switch {
	case h.Status == "unhealthy":
		c.wrong = []string{"unhealthy" + said}
		c.unit.found.todo = c.by.More(c.name()) + " says more"
	case h.Status == "starting" && patient:
		return false
	case h.Status == "starting":
		c.failed(fault.New(fault.Unavailable, "its health check has not passed yet%s", said))
	}
	return true
}
