package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/loop"
	"noxmesh/internal/oci"
	"noxmesh/report"
)

const (
	// weedEvery lies between two looks at every byte that the registry keeps.
	weedEvery = 24 * time.Hour

	// weedGap lies between two of them that nodes bring about: each may say what it likes.
	weedGap = 10 * time.Minute

	// weedPerSecond is how many bytes of it are read in a second, a few hundredths
	// of what a disk and one core can do.
	weedPerSecond = 32 << 20

	// weedKey and mendKey are what the loop "registry" looks at: what is kept, and
	// whether more could be.
	weedKey, mendKey = "blobs", "room"
)

func (c *Controller) registryStep(ctx context.Context, key string) (loop.Result, error) {
	if key == mendKey {
		c.mend(ctx)
		return loop.Result{After: c.cfg.Lease / 4}, nil
	}
	return c.weedStep(ctx, key)
}

// weedStep compares the bytes that the registry keeps with their digests. What
// has rotted is gone from it after that, and the comparison with the registry
// has it built again.
func (c *Controller) weedStep(ctx context.Context, _ string) (loop.Result, error) {
	if rest := weedGap - clock.Now().Sub(c.weeded); rest > 0 && rest <= weedGap {
		return loop.Result{After: rest}, nil
	}
	found := false
	err := c.edges.registry.Weed(ctx, weedPerSecond, func(d document.Digest) {
		found = true
		c.log.Error("a blob of the registry had other bytes than its digest says; it is taken away, and built again where it is current", "blob", string(d))
	})
	if found {
		c.turns.Range(func(module, _ any) bool {
			c.turns.Store(module, 0) // it may be of what somebody may go back to, too
			return true
		})
		c.builds.NudgeAll()
	}
	if ctx.Err() == nil {
		c.weeded = clock.Now()
	}
	return loop.Result{}, err
}

// suspect lets the registry be looked at where a node says that it gave it other bytes.
func (c *Controller) suspect(r report.Report) {
	if c.edges.registry != nil && suspects(r) {
		c.weeds.Nudge(weedKey)
	}
}

func suspects(r report.Report) bool {
	return slices.ContainsFunc(r.Resources, func(one report.Resource) bool {
		spoiled := strings.Contains(one.Error, oci.OtherBytes) || strings.Contains(one.Error, "not the digest that the") // archive's words
		return one.State == report.StateFailed && spoiled
	})
}
