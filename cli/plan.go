package cli

import (
	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) plan() *cobra.Command {
	return &cobra.Command{
		Use:     "plan [NODE]",
		Short:   "What nodes should be, or why that cannot be worked out",
		Long:    "What each node should be by what is assigned and declared. It changes nothing.\n\n" + term.ExitHelp(),
		Example: "  mesh plan\n  mesh plan laptop",
		Args:    arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.Plans(), api.PlansIn{Node: first(args)})
			if err != nil {
				return err
			}
			s.show(out, func() {
				for _, p := range out.Plans {
					s.showPlan(p, len(args) == 1)
				}
				if len(out.Plans) == 0 {
					s.line("no nodes yet: mesh node add NAME")
				}
			})
			return nil
		},
	}
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func (s *shell) showPlan(p status.Plan, all bool) {
	words := "nothing is wanted of it"
	if p.Digest != "" {
		words = short(p.Digest)
	}
	if p.Behind != "" {
		words += ", " + string(p.Behind)
	}
	s.line("%s %s", s.out.Paint(term.Strong, p.Name), words)
	for _, r := range p.Held {
		s.line("  %s %s: %s", s.out.Paint(term.Bad, "not worked out, and nothing is sent:"), r.Module, term.Clean(r.Why))
	}
	for _, r := range p.LeftOut {
		s.line("  %s %s: %s", s.out.Paint(term.Bad, "not worked out, left out:"), r.Module, term.Clean(r.Why))
	}
	for _, m := range p.Modules {
		s.line("  %s at %s", m.Module, status.ShortCommit(m.Commit))
		for _, r := range p.Resources {
			if all && moduleOf(r.ID) == m.Module {
				s.line("    %s %s %s", r.Type, term.Clean(r.Path), r.ID)
			}
		}
	}
}
