package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) stale() *cobra.Command {
	return printing[api.StaleOut](&cobra.Command{
		Use:   "stale",
		Short: "Which modules are not what would be built now, and why",
		Long: `Each module of which nothing current has been built, with the reason: its source
moved, something that it is built against moved, the image that it is built in is
another, what was built is gone from the registry, or nothing was ever built; and
what it waits for. They stand in the order in which they are built. What is waited
for is not failure: the exit status is 0.`,
		Example: `  mesh stale
  mesh stale -o json`,
		Args:              arguments(0, 0),
		ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := ask(c.Context(), s, api.Stales(), api.Nothing{})
			if err != nil {
				return err
			}
			s.show(out, func() {
				for _, m := range out.Modules {
					s.showStale(m, out.At)
				}
				if len(out.Modules) == 0 {
					s.out.Note("nothing is stale")
				}
			})
			return nil
		},
	})
}

func (s *shell) showStale(m api.Stale, now time.Time) {
	waits := m.Waiting
	name := s.out.Paint(term.Strong, m.Module)
	switch {
	case len(m.Reasons) == 0 && len(waits) > 0:
		s.words(name+" "+waitWords(waits[0].Since, now), waits[0].For)
		waits = waits[1:]
	case len(m.Reasons) == 0:
		s.line("%s is not known to be current", name)
	default:
		is := " is stale: "
		if m.Reasons[0].Cause == "never-built" {
			is = " "
		}
		s.line("%s%s%s", name, is, reasonWords(m.Reasons[0], m))
		for _, r := range m.Reasons[1:] {
			s.line("  and %s", reasonWords(r, m))
		}
	}
	for _, w := range waits {
		s.words("  "+waitWords(w.Since, now), w.For)
	}
}

// reasonWords is why a module is stale.
func reasonWords(r api.StaleReason, m api.Stale) string {
	switch r.Cause {
	case "never-built":
		return "has never been built; its source is at " + status.ShortCommit(m.Commit)
	case "tree":
		return fmt.Sprintf("its source moved from %s to %s (tree %s → %s)",
			status.ShortCommit(m.Built), status.ShortCommit(m.Commit), status.ShortCommit(r.From), status.ShortCommit(r.To))
	case "platform":
		return fmt.Sprintf("it was built for %s and is wanted for %s", term.Clean(r.From), term.Clean(r.To))
	case "gone":
		return fmt.Sprintf("build %s is gone from the registry", short(r.From))
	}
	if r.Cause == "environment" {
		return term.Clean(status.MovedWords(r.Image, r.From, r.To))
	}
	what := r.Module + "/" + r.Artifact
	switch {
	case r.From == "":
		return fmt.Sprintf("it is built against %s now, and was not", what)
	case r.To == "":
		return fmt.Sprintf("it was built against %s, and is no more", what)
	}
	return fmt.Sprintf("%s, which it is built against, moved from %s to %s", what, short(r.From), short(r.To))
}
