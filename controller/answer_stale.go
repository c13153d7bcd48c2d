package controller

import (
	"context"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/internal/clock"
)

// answerStale is every module that is not current, in the order in which they
// are built.
func (c *Controller) answerStale(ctx context.Context, _ api.Who, _ api.Nothing) (api.StaleOut, error) {
	out := api.StaleOut{Modules: []api.Stale{}}
	err := c.with(ctx, func(v *view) error {
		now := clock.Now()
		for _, name := range v.code.Rebuilt(v.names) {
			f := v.facts(v.modules[name].row)
			if delivery.CurrentBuild(f) != nil {
				continue
			}
			one := api.Stale{Module: name, Commit: f.Source.Commit, Reasons: []api.StaleReason{}, Waiting: []api.StaleWait{}}
			if b := delivery.NewestBuild(f); b != nil {
				one.Built = b.Manifest.Built.Commit
			}
			for _, r := range delivery.Stale(f) {
				one.Reasons = append(one.Reasons, api.StaleReason{Cause: string(r.Cause), Module: r.Module, Artifact: r.Artifact, Image: r.Image, From: r.From, To: r.To})
			}
			for _, w := range delivery.Compare(f, now).Waiting {
				one.Waiting = append(one.Waiting, api.StaleWait(w))
			}
			out.Modules = append(out.Modules, one)
		}
		return nil
	})
	out.At = clock.Now()
	return out, err
}
