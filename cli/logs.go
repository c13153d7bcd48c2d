package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

func (s *shell) logs() *cobra.Command {
	follow, in := false, api.LogIn{}
	c := &cobra.Command{
		Use:   "logs BUILD",
		Short: "A build's log",
		Long: `A build's log, by its id as mesh builds shows it, or by its digest, or by the
beginning of either. With --grep only the lines that contain a text, each with its
number.`,
		Example: `  mesh logs 5b1e09c2
  mesh logs 5b1e09c2 -f
  mesh logs 5b1e09c2 --grep warning`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.buildIDs()),
		RunE: func(c *cobra.Command, args []string) error {
			in.Build = args[0]
			if c.Flags().Changed("grep") {
				if follow || in.Grep == "" {
					return fault.New(fault.Invalid, "--grep takes a text, and not --follow")
				}
				return s.grepLog(c.Context(), in)
			}
			return s.showLog(c.Context(), in, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the build has ended")
	c.Flags().StringVar(&in.Grep, "grep", "", "only the lines that contain this `text`")
	return printing[api.LogOut](c)
}

func (s *shell) grepLog(ctx context.Context, in api.LogIn) error {
	out, err := ask(ctx, s, api.Log(), in)
	if err != nil {
		return err
	}
	s.show(out, func() {
		for _, l := range out.Lines {
			s.line("%d: %s", l.Line, term.Clean(l.Text))
		}
		if len(out.Lines) == 0 {
			s.out.Note("no line of the log contains %q", in.Grep)
		}
		if out.More {
			s.out.Note("there are more such lines")
		}
		s.noteMissing(out)
	})
	return nil
}

func (s *shell) showLog(ctx context.Context, in api.LogIn, follow bool) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
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
			s.noteMissing(out)
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// noteMissing says why a log is not there, or its end.
func (s *shell) noteMissing(out api.LogOut) {
	if !out.Removed.IsZero() {
		s.out.Note("its log was removed by retention on %s", out.Removed.UTC().Format(time.DateOnly))
	}
	if out.Missing > 0 {
		s.out.Note("the last %s of the log never came", term.Bytes(out.Missing))
	}
}
