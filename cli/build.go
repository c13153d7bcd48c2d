package cli

import (
	"github.com/spf13/cobra"

	"noxmesh/api"
)

func (s *shell) build() *cobra.Command {
	return group("build", "One build: what was made, is being made, or waits to be", s.buildShow(), s.buildCheck(), s.buildCancel())
}

func (s *shell) buildCancel() *cobra.Command {
	return printing[api.CancelOut](&cobra.Command{
		Use:   "cancel BUILD",
		Short: "Cancel a build that waits, or that a builder is making",
		Long: `Cancel a build that waits for a builder, or that one is making: it hears so within
seconds. The module is built again when its source moves, or when mesh module
look asks for it.`,
		Example:           "  mesh build cancel 5b1e09c2",
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.buildIDs()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.BuildCancel(), api.BuildIn{Build: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("build %s of %s is cancelled", short(out.Request), out.Module)
				if out.Builder != "" {
					s.out.Note("builder %s stops within seconds", out.Builder)
				}
				s.out.Hint("mesh module look %s asks for it again", out.Module)
			})
			return nil
		},
	})
}
