package controller

import (
	"cmp"
	"context"
	"strings"
	"time"

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
	err := c.db.Read(ctx, func(tx *db.Tx) error {
		l, err := listing(tx, in)
		if err != nil {
			return err
		}
		if err := listed(tx, l, &out); err != nil {
			return err
		}
		retired, err := deliverystore.RetiredOf(tx, in.Module)
		for _, r := range retired {
			out.Removed = append(out.Removed, api.RemovedOut(r))
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

// listing is which part of the record somebody asks for, and one line more.
func listing(tx *db.Tx, in api.BuildsIn) (l deliverystore.Listing, err error) {
	l = deliverystore.Listing{Module: in.Module, Failed: in.Failed, Limit: in.Limit + 1}
	if in.Limit <= 0 || in.Limit > 1000 {
		l.Limit = 51
	}
	if in.Since > 0 {
		l.Since = time.UnixMilli(in.Since)
	}
	if in.Module != "" {
		if _, err := deliverystore.Module(tx, in.Module); err != nil {
			return l, err
		}
	}
	if in.Before != "" {
		l.Before, err = deliverystore.FindRequest(tx, in.Before)
	}
	return l, err
}

// listed fills in a page of the record of builds, which is one shorter than what
// is asked for: so it is known whether it is the last.
func listed(tx *db.Tx, l deliverystore.Listing, out *api.BuildsOut) error {
	rows, err := deliverystore.Builds(tx, l)
	if err != nil {
		return err
	}
	if out.More = len(rows) == l.Limit; out.More {
		rows = rows[:len(rows)-1]
	}
	names, err := identitystore.BuilderNames(tx)
	if err != nil {
		return err
	}
	for _, a := range rows {
		one := buildOut(a, names)
		if a.State == string(deliverystore.Leased) {
			if one.Usual, err = usualOf(tx, a.Module, a.Platform); err != nil {
				return err
			}
		}
		out.Builds = append(out.Builds, one)
	}
	return nil
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

// buildOut is one line of the record of builds, with the names of its builders.
func buildOut(a deliverystore.Attempt, names map[string]string) api.BuildOut {
	f := delivery.Facts{Names: names}
	out := api.BuildOut{
		Request: a.Request, Module: a.Module, Commit: a.Commit, Platform: a.Platform, State: a.State, Step: string(a.Step), Why: delivery.Named(f, a.Why),
		Build: string(a.Build), Content: string(a.Content), Builder: a.Builder, Asked: a.Asked, Began: a.Began, Ended: a.Ended,
		Check: a.Check, BuilderName: names[a.Builder], LogSize: a.LogSize, Finding: delivery.Named(f, a.Finding), Environment: string(a.Environment), Own: a.Commands && a.Environment == "", Network: a.Network, Collected: a.Collected, Provenance: string(a.Provenance),
	}
	if a.Build != "" {
		out.Verdict = a.Verdict.String()
	}
	if a.Doing != "" {
		out.Doing = &api.Doing{Step: a.Doing, Since: a.DoingSince}
	}
	for _, s := range a.Steps {
		out.Steps = append(out.Steps, api.StepOut{Step: s.Step, Took: s.Took})
	}
	for _, x := range a.Artifacts {
		out.Artifacts = append(out.Artifacts, api.ArtifactOut{Name: x.Name, Type: x.Type, Digest: string(x.Digest), Size: x.Size})
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
		l, err := deliverystore.Log(tx, request)
		if err != nil {
			return err
		}
		at := min(max(in.Offset, 0), int64(len(l.Text)))
		out = api.LogOut{Request: request, Offset: at, Text: l.Text[at:], Complete: l.Complete, Missing: l.Missing, Removed: l.Removed}
		return nil
	})
	if in.Grep != "" {
		out.Lines, out.More = linesWith(out.Text, in.Grep)
		out.Text = ""
	}
	return out, err
}

// mostLines is how many lines of a log one answer holds.
const mostLines = 1000

// linesWith is the first lines of a text that contain this, and whether there are more.
func linesWith(text, what string) (lines []api.LogLine, more bool) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if !strings.Contains(line, what) {
			continue
		}
		if len(lines) == mostLines {
			return lines, true
		}
		lines = append(lines, api.LogLine{Line: n, Text: strings.TrimSuffix(line, "\n")})
	}
	return lines, false
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
