package controller

import (
	"cmp"
	"context"

	"noxmesh/api"
	"noxmesh/delivery"
	deliverystore "noxmesh/delivery/store"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/status"
)

func (c *Controller) answerBuilds(ctx context.Context, _ api.Who, in api.BuildsIn) (api.BuildsOut, error) {
	out := api.BuildsOut{Builds: []api.BuildOut{}}
	limit := in.Limit
	if limit <= 0 || limit > 1000 {
		limit = 50
	}
	err := c.db.Read(ctx, func(tx *db.Tx) error {
		if in.Module != "" {
			if _, err := deliverystore.Module(tx, in.Module); err != nil {
				return err
			}
		}
		rows, err := deliverystore.Builds(tx, in.Module, limit)
		if err != nil {
			return err
		}
		names, err := identitystore.BuilderNames(tx)
		for _, a := range rows {
			one, f := buildOut(a), delivery.Facts{Names: names}
			one.Why, one.Finding = delivery.Named(f, one.Why), delivery.Named(f, one.Finding)
			out.Builds = append(out.Builds, one)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	return out, c.with(ctx, func(v *view) error {
		for i := range out.Builds {
			out.Builds[i].Moved = v.movedSince(out.Builds[i])
		}
		return nil
	})
}

// movedSince is why a build is stale, where it is its module's newest and was made
// in another image than its name means now.
func (v *view) movedSince(b api.BuildOut) string {
	m := v.modules[b.Module]
	if m == nil || !m.known || b.Build == "" {
		return ""
	}
	f := v.facts(m.row)
	if newest := delivery.NewestBuild(f); newest == nil || string(newest.ID) != b.Build {
		return ""
	}
	for _, r := range delivery.Stale(f) {
		if r.Cause == delivery.ImageMoved {
			return status.MovedWords(r.Image, r.From, r.To)
		}
	}
	return ""
}

func buildOut(a deliverystore.Attempt) api.BuildOut {
	out := api.BuildOut{
		Request: a.Request, Module: a.Module, Commit: a.Commit, State: a.State, Step: string(a.Step), Why: a.Why,
		Build: string(a.Build), Content: string(a.Content), Builder: a.Builder, Asked: a.Asked, Began: a.Began, Ended: a.Ended,
		LogSize: a.LogSize, Finding: a.Finding, Environment: string(a.Environment), Own: a.Commands && a.Environment == "", Network: a.Network, Collected: a.Collected,
	}
	if a.Build != "" {
		out.Verdict = a.Verdict.String()
	}
	return out
}

func (c *Controller) answerLog(ctx context.Context, _ api.Who, in api.LogIn) (api.LogOut, error) {
	var out api.LogOut
	err := c.db.Read(ctx, func(tx *db.Tx) error {
		request, err := deliverystore.FindRequest(tx, in.Build)
		if err != nil {
			return err
		}
		text, complete, err := deliverystore.Log(tx, request)
		if err != nil {
			return err
		}
		at := min(max(in.Offset, 0), int64(len(text)))
		out = api.LogOut{Request: request, Offset: at, Text: text[at:], Complete: complete}
		return nil
	})
	return out, err
}

// answerCancel withdraws a request. A builder that is making it hears so when it
// next says that it is working.
func (c *Controller) answerCancel(ctx context.Context, who api.Who, in api.BuildIn) (api.CancelOut, error) {
	var out api.CancelOut
	err := c.write(ctx, func(tx *db.Tx) error {
		id, err := deliverystore.FindRequest(tx, in.Build)
		if err != nil {
			return err
		}
		r, err := deliverystore.Request(tx, id)
		if err != nil {
			return err
		}
		out = api.CancelOut{Request: id, Module: r.Module}
		switch r.State {
		case deliverystore.Open: // nobody has it
		case deliverystore.Done:
			return fault.New(fault.Conflict, "build %s of %q has ended", in.Build, r.Module).With("mesh builds %s shows how", r.Module)
		case deliverystore.Withdrawn:
			return fault.New(fault.Conflict, "build %s of %q was withdrawn already: %s", in.Build, r.Module, r.Why)
		case deliverystore.Leased:
			b, err := identitystore.BuilderNames(tx)
			if err != nil {
				return err
			}
			out.Builder = cmp.Or(b[r.Builder], r.Builder)
		}
		return deliverystore.Withdraw(tx, id, delivery.CancelledBy+who.Name, clock.Now())
	})
	if err != nil {
		return out, err
	}
	c.log.Info("build cancelled", "module", out.Module, "request", out.Request, "by", who.Name)
	c.builds.Nudge(out.Module)
	return out, nil
}
