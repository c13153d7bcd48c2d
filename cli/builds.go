package cli

import (
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) builds() *cobra.Command {
	limit := 20
	c := &cobra.Command{
		Use:     "builds [MODULE]",
		Short:   "Past builds, newest first",
		Long:    "Past builds, newest first: also those that failed, and those that wait for a builder.\n\n" + term.ExitHelp(),
		Example: "  mesh builds\n  mesh builds site --last 100",
		Args:    arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.Builds(), api.BuildsIn{Module: first(args), Limit: limit})
			if err != nil {
				return err
			}
			s.show(out, func() { s.showBuilds(out) })
			return nil
		},
	}
	c.Flags().IntVar(&limit, "last", limit, "how many")
	return c
}

func (s *shell) showBuilds(out api.BuildsOut) {
	if len(out.Builds) == 0 {
		s.line("nothing has been built yet")
		return
	}
	now, t := time.Now(), newTable("BUILD", "MODULE", "COMMIT", "STATE", "VERDICT", "ASKED", "TOOK", "")
	for _, b := range out.Builds {
		took, words := "", b.Why
		if !b.Ended.IsZero() && !b.Began.IsZero() {
			took = term.Span(b.Ended.Sub(b.Began))
		}
		if b.Step != "" {
			words = b.Step + ": " + words
		}
		if b.Finding != "" {
			words = "finding: " + b.Finding
		}
		t.row(b.Request[:min(12, len(b.Request))], b.Module, status.ShortCommit(b.Commit), b.State, b.Verdict, term.Ago(now.Sub(b.Asked)), took, term.Clean(firstLine(words)))
	}
	s.table(t)
}

func (s *shell) logs() *cobra.Command {
	follow := false
	c := &cobra.Command{
		Use:     "logs BUILD",
		Short:   "A build's log",
		Long:    "A build's log, by the build or its request as mesh builds shows them, or the beginning of either.\n\n" + term.ExitHelp(),
		Example: "  mesh logs 5b1e09c2\n  mesh logs 5b1e09c2 -f",
		Args:    arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.showLog(c, args[0], follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the build has ended")
	return c
}

func (s *shell) showLog(c *cobra.Command, build string, follow bool) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	in := api.LogIn{Build: build}
	for {
		out, err := ask(c.Context(), s, api.Log(), in)
		if err != nil {
			return err
		}
		if s.out.JSON && (!follow || out.Complete) {
			return s.out.Result(out)
		}
		if !s.out.JSON {
			if err := s.out.Printf("%s", term.CleanText(out.Text)); err != nil {
				return err
			}
			in.Offset = out.Offset + int64(len(out.Text))
		}
		if !follow || out.Complete {
			return nil
		}
		select {
		case <-tick.C:
		case <-c.Context().Done():
			return c.Context().Err()
		}
	}
}
