package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/status"
)

// mostBuilds is how many builds one answer holds.
const mostBuilds = 1000

func (s *shell) builds() *cobra.Command {
	limit := 20
	c := &cobra.Command{
		Use:   "builds [MODULE]",
		Short: "Past builds, newest first",
		Long: `Past builds, newest first: also those that failed, and those that wait for a
builder.`,
		Example: `  mesh builds
  mesh builds site --last 100`,
		Args:              arguments(0, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 || limit > mostBuilds {
				return fault.New(fault.Invalid, "--last is %d, want 1 to %d", limit, mostBuilds)
			}
			out, err := ask(c.Context(), s, api.Builds(), api.BuildsIn{Module: first(args), Limit: limit})
			if err != nil {
				return err
			}
			s.show(out, func() { s.showBuilds(out, time.Now()) })
			return nil
		},
	}
	c.Flags().IntVar(&limit, "last", limit, "how many")
	return printing[api.BuildsOut](c)
}

func (s *shell) showBuilds(out api.BuildsOut, now time.Time) {
	if len(out.Builds) == 0 {
		s.out.Note("nothing has been built yet")
		return
	}
	own, network := false, false
	t := newTable("BUILD", "MODULE", "COMMIT", "STATE", "VERDICT", "IN", "ASKED", "TOOK", "")
	for _, b := range out.Builds {
		took := ""
		if !b.Ended.IsZero() && !b.Began.IsZero() {
			took = term.Span(b.Ended.Sub(b.Began))
		}
		own, network = own || b.Own, network || b.Network
		t.row(short(b.Request), b.Module, status.ShortCommit(b.Commit), b.State, b.Verdict, builtIn(b), term.Ago(now.Sub(b.Asked)), took, firstLine(buildWords(b, now)))
	}
	s.table(t)
	if own {
		s.out.Note("own: %s", status.OwnSays)
	}
	if network {
		s.out.Note("network: the build %s", status.NetworkSays)
	}
}

// buildWords is what there is to say of a build.
func buildWords(b api.BuildOut, now time.Time) string {
	words := b.Why
	if b.Step != "" {
		words = b.Step + ": " + words
	}
	if b.Finding != "" {
		words = "finding: " + b.Finding
	}
	if b.Moved != "" {
		words = joinedWords(words, b.Moved)
	}
	if !b.Collected.IsZero() {
		words = joinedWords(words, "collected "+term.Ago(now.Sub(b.Collected)))
	}
	return words
}

// builtIn is what the commands of a build ran in, in a word or two.
func builtIn(b api.BuildOut) string {
	in := short(b.Environment)
	if b.Own {
		in = "own"
	}
	if b.Network {
		in += "+network"
	}
	return in
}

func joinedWords(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

func (s *shell) logs() *cobra.Command {
	follow := false
	c := &cobra.Command{
		Use:   "logs BUILD",
		Short: "A build's log",
		Long: `A build's log, by its id as mesh builds shows it, or by its digest, or by the
beginning of either.`,
		Example: `  mesh logs 5b1e09c2
  mesh logs 5b1e09c2 -f`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.buildIDs()),
		RunE: func(c *cobra.Command, args []string) error {
			return s.showLog(c.Context(), args[0], follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the build has ended")
	return printing[api.LogOut](c)
}

func (s *shell) showLog(ctx context.Context, build string, follow bool) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	in := api.LogIn{Build: build}
	for {
		out, err := ask(ctx, s, api.Log(), in)
		if err != nil {
			return err
		}
		last := !follow || out.Complete
		switch {
		case !s.out.JSON: // piece by piece
			if err := s.out.Printf("%s", term.CleanText(out.Text)); err != nil {
				return err
			}
			in.Offset = out.Offset + int64(len(out.Text))
		case last: // the whole, once
			return s.out.Result(out)
		}
		if last {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
