package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"noxmesh/host/keep"
	"noxmesh/host/resource"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

// Previewed is what Apply would do with a file.
type Previewed struct {
	Right   int               `json:"right"` // resources that are as declared
	Changes []resource.Change `json:"changes"`
}

// Preview is what Apply would do with this file. It changes nothing: neither on the
// machine nor in the state, which need not be there.
func Preview(ctx context.Context, cfg Config, file, blobs string) (_ Previewed, err error) {
	if err := cfg.Validate(); err != nil {
		return Previewed{}, err
	}
	s, err := readScript(file)
	if err != nil {
		return Previewed{}, err
	}
	if blobs != "" {
		if s.blobs, err = openFolder(blobs); err != nil {
			return Previewed{}, err
		}
		defer func() { err = errors.Join(err, s.blobs.Close()) }()
	}
	sys, err := system.Open(cfg.Root)
	if err != nil {
		return Previewed{}, err
	}
	defer func() { err = errors.Join(err, sys.Close()) }()
	record, kept, done, err := recordOf(sys)
	if err != nil {
		return Previewed{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	engine := resource.New(sys, resource.ReadOnly(kept), record)
	engine.Ask(cfg.Reach)
	if err := resource.Refuse(sys, s.aim.Body); err != nil {
		return Previewed{}, fault.Add(err, "refuse %q", file)
	}
	p := Previewed{Changes: []resource.Change{}}
	changes, right, err := engine.Preview(ctx, s.aim.Body, s)
	p.Changes, p.Right = append(p.Changes, changes...), right
	return p, err
}

// recordOf is the record of the host at this root, and where it lies; none where no
// host has run there.
func recordOf(sys *system.Root) (keep.Record, resource.Keep, func() error, error) {
	f, err := keep.Look(sys)
	if fault.KindOf(err) == fault.NotFound {
		return keep.NewRecord(), nil, func() error { return nil }, nil
	}
	if err != nil {
		return keep.Record{}, nil, nil, err
	}
	record, err := f.Record()
	if err == nil {
		err = alone(f)
	}
	if err != nil {
		return keep.Record{}, nil, nil, errors.Join(err, f.Close())
	}
	return record, f, f.Close, nil
}

// showPreview prints what would be done, and the sum. It is 3 where that is anything.
func showPreview(p Previewed, t *term.Term) int {
	code := term.Answered
	if len(p.Changes) > 0 {
		code = term.Unwell
	}
	if t.JSON {
		if err := t.Result(p); err != nil {
			return t.Fail(err)
		}
		return code
	}
	var text strings.Builder
	counts := map[resource.Action]int{}
	for _, c := range p.Changes {
		counts[c.Action]++
		text.WriteString(changeText(c, t))
	}
	err := t.Printf("%splan: %d as declared, %d to make, %d to change, %d to remove, %d to let go of, %d to report, %d refused, %d known later\n", text.String(),
		p.Right, counts[resource.ActionMake], counts[resource.ActionChange], counts[resource.ActionRemove], counts[resource.ActionRelease],
		counts[resource.ActionReport], counts[resource.ActionRefuse], counts[resource.ActionLater])
	if err != nil {
		return t.Fail(err)
	}
	return code
}

func changeText(c resource.Change, t *term.Term) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s%s  %s", c.Action, t.Paint(term.Strong, c.ID), term.Clean(c.Subject))
	if c.Found != "" {
		b.WriteString(": " + term.Clean(c.Found))
	}
	if c.Error != "" {
		b.WriteString(": " + t.Paint(term.Bad, c.Error))
	}
	if c.Wanted != "" {
		b.WriteString(" → " + term.Clean(c.Wanted))
	}
	if c.Content != "" {
		b.WriteString(" (" + term.Clean(c.Content) + ")")
	}
	b.WriteString("\n")
	for line := range strings.Lines(c.Diff) {
		line = strings.TrimSuffix(line, "\n")
		look := term.Plain
		switch {
		case strings.HasPrefix(line, "+"):
			look = term.Good
		case strings.HasPrefix(line, "-"):
			look = term.Bad
		case strings.HasPrefix(line, "@@"):
			look = term.Faint
		}
		b.WriteString("  " + t.Paint(look, line) + "\n")
	}
	return b.String()
}
