package resource

import (
	"context"
	"slices"
	"time"
)

const (
	startLimit = 30 * time.Second // for which a container is waited for whose unit runs
	startEvery = 250 * time.Millisecond
)

// awaitStart waits for those whose unit runs and that their runner has not started yet:
// where the unit's process is none of the container's, a machine that is slow or has
// just begun may be at it still. What has been waited for must then stay, as every
// process that is young.
func awaitStart(ctx context.Context, p *pass, by runner, all []*contained) {
	began := time.Now()
	tick := time.NewTicker(startEvery)
	defer tick.Stop()
	settled := began
	for late := starting(all); len(late) > 0; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, c := range late {
			c.unit.found = stand{}
		}
		services{}.look(ctx, p, unitsOf(late))
		find(ctx, by, late)
		now := time.Now()
		if len(starting(late)) > 0 {
			if now.Sub(began) > startLimit {
				return
			}
			settled = now
		} else if now.Sub(settled) > settleLeast {
			return
		}
	}
}

// starting is those whose unit runs as it is declared, and that do not run themselves.
func starting(all []*contained) []*contained {
	return slices.DeleteFunc(slices.Clone(all), func(c *contained) bool {
		return c.err != nil || c.unit.err != nil || !c.unit.found.same || c.is.Running || c.foreign() || c.image.ID == "" || c.file != c.text()
	})
}
