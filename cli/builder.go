package cli

import (
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
)

func (s *shell) builder() *cobra.Command {
	return group("builder", "The builders: what makes artifacts", s.builderAdd(), s.builderList(), s.builderRemove())
}

func (s *shell) builderAdd() *cobra.Command {
	return printing[api.TokenOut](&cobra.Command{
		Use:   "add NAME",
		Short: "Print the token that a builder joins with",
		Long: `Print the token that a builder joins with. It works once, and for an hour; the
builder makes its own keys.`,
		Example: `  mesh builder add forge
  mesh-builder join TOKEN   on that machine
  mesh-builder run`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.BuilderAdd(), api.BuilderIn{Builder: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("on %s, within 1 h: mesh-builder join TOKEN && mesh-builder run", out.Name)
				s.line("%s", out.Token)
			})
			return nil
		},
	})
}

func (s *shell) builderList() *cobra.Command {
	return printing[api.BuildersOut](&cobra.Command{
		Use:   "list",
		Short: "List the builders",
		Args:  arguments(0, 0), ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := ask(c.Context(), s, api.Builders(), api.Nothing{})
			if err != nil {
				return err
			}
			s.show(out, func() { s.showBuilders(out, time.Now()) })
			return nil
		},
	})
}

func (s *shell) showBuilders(out api.BuildersOut, now time.Time) {
	t := newTable("BUILDER", "PLATFORM", "VERSION", "LAST SEEN", "ID", "SANDBOX")
	for _, b := range out.Builders {
		sandbox := "yes"
		if b.Lacks != "" {
			sandbox += ", but " + b.Lacks
		}
		switch {
		case b.Unwell != "":
			sandbox = "takes no work: " + b.Unwell
		case b.Sandbox != "":
			sandbox = "none: " + b.Sandbox
		case b.LastSeen.IsZero(): // it has not said yet
			sandbox = ""
		}
		t.row(b.Name, b.Platform, b.Version, seen(b.LastSeen, now), b.Builder, firstLine(sandbox))
	}
	s.table(t)
	if len(out.Builders) == 0 {
		s.out.Note("no builders yet")
		s.out.Hint("mesh builder add NAME")
	}
}

func (s *shell) builderRemove() *cobra.Command {
	return printing[api.Nothing](&cobra.Command{
		Use:               "remove NAME",
		Short:             "Remove a builder: its keys are refused from then on",
		Long:              "Remove a builder: its keys are refused from then on. What it was building is\ngiven to another.",
		Example:           "  mesh builder remove forge",
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.builderNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.BuilderRemove(), api.BuilderIn{Builder: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() { s.out.Note("builder %s is removed", args[0]) })
			return nil
		},
	})
}

func (s *shell) version() *cobra.Command {
	return printing[versions](&cobra.Command{
		Use:   "version",
		Short: "The version of this program, and of the controller",
		Args:  arguments(0, 0), ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, _ []string) error {
			v := versions{Mesh: s.Version}
			out, err := ask(c.Context(), s, api.Version(), api.Nothing{})
			if err == nil {
				v.Controller, v.ID = out.Version, out.Mesh
			}
			s.show(v, func() {
				s.line("mesh %s", v.Mesh)
				if err == nil {
					s.line("controller %s of mesh %s", term.Clean(v.Controller), term.Clean(v.ID))
				} else {
					s.out.Note("no controller: %s", err)
				}
			})
			return nil
		},
	})
}

// versions is what mesh version prints.
type versions struct {
	Mesh       string `json:"mesh"`
	Controller string `json:"controller,omitempty"`
	ID         string `json:"id,omitempty"` // the mesh's
}
