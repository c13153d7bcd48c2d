package cli

import (
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
)

func (s *shell) builder() *cobra.Command {
	add := &cobra.Command{
		Use:     "add NAME",
		Short:   "Print the token that a builder joins with",
		Long:    "Print the token that a builder joins with. It works once, and for an hour.\n\n" + term.ExitHelp(),
		Example: "  mesh builder add forge\n  mesh-builder join TOKEN         on that machine\n  mesh-builder run",
		Args:    arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.BuilderAdd(), api.BuilderIn{Builder: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("on %s, within %s: mesh-builder join TOKEN && mesh-builder run", out.Name, term.Span(time.Until(out.Expires)))
				s.line("%s", out.Token)
			})
			return nil
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "List the builders", Long: "List the builders.\n\n" + term.ExitHelp(), Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := ask(c.Context(), s, api.Builders(), api.Nothing{})
			if err != nil {
				return err
			}
			s.show(out, func() { s.showBuilders(out) })
			return nil
		},
	}
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Remove a builder: its keys are refused from then on",
		Long: "Remove a builder: its keys are refused from then on. What it was building is given to another.\n\n" + term.ExitHelp(), Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.BuilderRemove(), api.BuilderIn{Builder: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() { s.out.Note("builder %s is removed", args[0]) })
			return nil
		},
	}
	return group("builder", "The builders: what makes artifacts", add, list, remove)
}

func (s *shell) showBuilders(out api.BuildersOut) {
	now, t := time.Now(), newTable("BUILDER", "PLATFORM", "VERSION", "LAST SEEN", "ID", "SANDBOX")
	for _, b := range out.Builders {
		seen, sandbox := "never", "yes"
		if !b.LastSeen.IsZero() {
			seen = term.Ago(now.Sub(b.LastSeen))
		}
		if b.Sandbox != "" {
			sandbox = "none: " + b.Sandbox
		}
		t.row(b.Name, b.Platform, term.Clean(b.Version), seen, b.Builder, term.Clean(firstLine(sandbox)))
	}
	s.table(t)
}
