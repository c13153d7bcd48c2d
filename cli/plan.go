package cli

import (
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) plan() *cobra.Command {
	commit := ""
	c := printing[api.PlansOut](&cobra.Command{
		Use:   "plan [NODE]",
		Short: "What nodes should be, or what a commit would change",
		Long: `What each node should be by what is assigned and declared, or why that cannot be
worked out. With a node, every resource too. It changes nothing.

With --commit: what a commit would change, before anybody merges it. The controller
reads that commit, and nothing is recorded. It answers which modules are built
again and in which order, where that may stop since what they are built against
may come out the same, and on which nodes they belong. With -o json that is an
api_ChangeOut.`,
		Example: `  mesh plan
  mesh plan laptop
  mesh plan --commit core@new-parser`,
		Args:              arguments(0, 1),
		ValidArgsFunction: each(s.nodeNames()),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("commit") {
				if len(args) > 0 {
					return fault.New(fault.Invalid, "--commit is about every node, and %q was given", document.Short(args[0])).With("mesh plan %s says what that node should be", document.Short(args[0]))
				}
				return s.change(c, commit)
			}
			out, err := ask(c.Context(), s, api.Plans(), api.PlansIn{Node: first(args)})
			if err != nil {
				return err
			}
			s.show(out, func() {
				for _, p := range out.Plans {
					s.showPlan(p, len(args) == 1, time.Now())
				}
				if len(out.Plans) == 0 {
					s.out.Note("no nodes yet")
					s.out.Hint("mesh node add NAME")
				}
			})
			return nil
		},
	})
	c.Flags().StringVar(&commit, "commit", "", "what this commit would change: `MODULE@REV`, with a branch, a tag or a commit, whole or its first digits, seven at least")
	s.completes(c, "commit", oneOf())
	return c
}

// span is for how long something has been so, or nothing where nobody knows.
func span(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return " for " + term.Span(now.Sub(since))
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func (s *shell) showPlan(p status.Plan, all bool, now time.Time) {
	words := "nothing is wanted of it"
	switch {
	case p.Digest != "":
		words = "should be " + short(p.Digest)
	case len(p.Held) > 0:
		words = "cannot be told what to be"
	}
	if p.Behind != "" {
		words += ", " + string(p.Behind)
	}
	s.line("%s %s", s.out.Paint(term.Strong, p.Name), words)
	for _, r := range p.Held {
		s.words("  "+s.out.Paint(term.Bad, "not worked out"+span(r.Since, now)+", and nothing is sent:")+" "+r.Module+": ", r.Why)
	}
	if p.Removal != nil {
		s.words("  ", p.Removal.Words())
	}
	for _, r := range p.LeftOut {
		s.words("  "+s.out.Paint(term.Bad, "not worked out"+span(r.Since, now)+", left out:")+" "+r.Module+": ", r.Why)
	}
	for _, m := range p.Modules {
		s.line("  %s at %s", m.Module, status.ShortCommit(m.Commit))
		for _, r := range p.Resources {
			if all && moduleOf(r.ID) == m.Module {
				s.line("    %s %s %s", r.Type, term.Clean(r.Path), term.Clean(r.ID))
			}
		}
	}
}
