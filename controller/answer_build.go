package controller

import (
	"context"
	"strings"
	"unicode/utf8"

	"noxmesh/api"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/db"
)

// The end of a log that is shown with a build.
const (
	lastLines = 20
	lastBytes = 4 << 10
)

func (c *Controller) answerBuild(ctx context.Context, _ api.Who, in api.BuildIn) (api.BuildShowOut, error) {
	out := api.BuildShowOut{Closure: []api.InputOut{}}
	err := c.db.Read(ctx, func(tx *db.Tx) error {
		id, err := deliverystore.FindRequest(tx, in.Build)
		if err != nil {
			return err
		}
		if err := recordedOf(tx, id, &out); err != nil {
			return err
		}
		l, err := deliverystore.Log(tx, id)
		out.Last, out.LogHeld, out.LogRemoved = lastOf(l.Text), int64(len(l.Text)), l.Removed
		return err
	})
	if err != nil {
		return out, err
	}
	return out, c.with(ctx, func(v *view) error {
		out.Moved = v.movedSince(out.BuildOut)
		return nil
	})
}

// recordedOf fills in what the record says of a request and of what came of it.
func recordedOf(tx *db.Tx, id string, out *api.BuildShowOut) error {
	a, err := deliverystore.OneAttempt(tx, id)
	if err != nil {
		return err
	}
	r, err := deliverystore.Request(tx, id)
	if err != nil {
		return err
	}
	names, err := identitystore.BuilderNames(tx)
	if err != nil {
		return err
	}
	out.BuildOut = buildOut(a, names)
	asked(out, r.Request)
	out.Lost, out.Tests = r.Lost, string(a.Tests)
	if out.Check == "" && out.Build != "" {
		if out.Checks, out.Reproducible, err = checksOf(tx, id, names); err != nil {
			return err
		}
	}
	out.Usual, err = usualOf(tx, a.Module, a.Platform)
	return err
}

// asked fills in what a build was asked for as.
func asked(out *api.BuildShowOut, r build.Request) {
	out.Repository, out.Ref, out.Folder, out.Tree, out.Attempt, out.Limit = r.Repository, r.Ref, r.Folder, r.Tree, r.Attempt, r.Limit
	if r.Environment != nil {
		out.Image = r.Environment.Image
	}
	for _, b := range r.Bases {
		out.Bases = append(out.Bases, api.BaseOut{Image: b.Image, Digest: string(b.Digest)})
	}
	for _, in := range r.Closure {
		out.Closure = append(out.Closure, api.InputOut{Module: in.Module, Artifact: in.Artifact, Digest: string(in.Digest)})
	}
}

// lastOf is the last lines of a text, whole ones where there is room for them.
func lastOf(text string) string {
	text = strings.TrimRight(text, "\n")
	if over := len(text) - lastBytes; over > 0 {
		for over < len(text) && !utf8.RuneStart(text[over]) {
			over++
		}
		text = text[over:]
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
	}
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}
