package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

func (s *shell) buildCheck() *cobra.Command {
	limit := 30 * time.Minute
	c := &cobra.Command{
		Use:   "check BUILD",
		Short: "Make a build once more and compare: is it reproducible?",
		Long: `Make a build once more, of the same commit against the same inputs, and compare
what comes of it: by another builder where one takes it within ten minutes,
otherwise by the same in another folder, and without anything that was kept of
earlier builds but images, which are named by digest. Where an artifact is not
the same, what differs is shown: of archives, which files.

A check decides nothing. It changes neither what is current nor a verdict, nothing
of it is published, and what is to be delivered is built before it. What came of
it stays in the record: mesh build show BUILD shows it.

It ends with 0 where both are the same, with 3 where they are not or the check
came to nothing, and with 4 when the time has run out. The check goes on then.`,
		Example: `  mesh build check 5b1e09c2
  mesh build check 5b1e09c2 --for 0s`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.buildIDs()),
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 0 {
				return fault.New(fault.Invalid, "--for is %s, want 0 or more", limit)
			}
			asked, err := ask(c.Context(), s, api.BuildCheck(), api.BuildIn{Build: args[0]})
			if err != nil {
				return err
			}
			return s.waitForCheck(c.Context(), asked, limit)
		},
	}
	c.Flags().DurationVar(&limit, "for", limit, "how long to wait for what comes of it")
	return printing[api.CheckedOut](c)
}

// waitForCheck waits until a check has ended, and shows what came of it.
func (s *shell) waitForCheck(ctx context.Context, asked api.CheckOut, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		over := time.Now().After(deadline)
		b, err := ask(ctx, s, api.BuildShow(), api.BuildIn{Build: asked.Of})
		if err != nil && (fault.KindOf(err) != fault.Unavailable || over) {
			return err
		}
		if s.showEnded(b, asked.Request, over) {
			return nil
		}
		s.out.Progress("build %s is made once more: %s", short(asked.Of), asked.Request)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// showEnded shows a check that has ended, or also one that goes on where the time
// is over, and reports whether it did.
func (s *shell) showEnded(b api.BuildShowOut, check string, over bool) bool {
	at := slices.IndexFunc(b.Checks, func(is api.CheckedOut) bool { return is.Request == check })
	if at < 0 {
		return false
	}
	is := b.Checks[at]
	ended := is.State != "open" && is.State != "leased"
	if !over && (!ended || !compared(is)) {
		return false
	}
	s.late, s.bad = !ended, ended && !is.Same
	s.show(is, func() { s.showChecked(is, time.Now()) })
	return true
}

// compared reports whether it is known of each archive which files are not alike.
func compared(is api.CheckedOut) bool {
	for _, d := range is.Differences {
		if d.Type == "archive" && d.Was != "" && d.Is != "" && len(d.Files) == 0 && d.Why == "" {
			return false
		}
	}
	return true
}

// showChecked is one check in a line, and below it what is not alike.
func (s *shell) showChecked(is api.CheckedOut, now time.Time) {
	by := named(is.BuilderName, "")
	if by != "" {
		by = " by " + by
	}
	switch {
	case is.Made == "":
		words := buildWords(is.BuildOut, now)
		if words != "" {
			words = ": " + words
		}
		s.words("  check "+short(is.Request)+term.Clean(by)+": ", is.State+words)
		return
	case is.Same:
		s.line("  check %s%s, %s: %s", short(is.Request), term.Clean(by), term.Ago(now.Sub(is.Ended)), s.out.Paint(term.Good, "the same"))
		return
	}
	s.line("  check %s%s, %s: %s", short(is.Request), term.Clean(by), term.Ago(now.Sub(is.Ended)), s.out.Paint(term.Bad, "not the same"))
	for _, d := range is.Differences {
		s.words("    "+d.Type+" "+term.Clean(d.Artifact)+": ", digestOr(d.Was)+" and then "+digestOr(d.Is))
		for _, f := range d.Files {
			s.words("      "+term.Clean(f.Path)+": ", f.What)
		}
		if d.More > 0 {
			s.line("      and %d more", d.More)
		}
		if d.Why != "" {
			s.words("      its files are not compared: ", d.Why)
		}
	}
}

func digestOr(digest string) string {
	if digest == "" {
		return "none"
	}
	return short(digest)
}
