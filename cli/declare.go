package cli

import (
	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) declare() *cobra.Command {
	in := api.DeclareIn{}
	c := &cobra.Command{
		Use:   "declare MODULE",
		Short: "Make the nodes' declarations name a build: one write",
		Long: `Make the declarations of the nodes that the module belongs on name its newest fit build, in one write. The hosts do the
rest: each applies it, reads back, and reports. A build that is unfit is never declared. To roll back, declare an
older build.
` + term.ExitHelp(),
		Example: "  mesh declare site\n  mesh declare site --build 3f1c2ab --why 'the new one is slow'\n  mesh declare site --on laptop",
		Args:    arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			in.Module = args[0]
			out, err := ask(c.Context(), s, api.Declare(), in)
			if err != nil {
				return err
			}
			s.show(out, func() {
				if len(out.Nodes) == 0 {
					s.out.Note("%s at %s was declared on %s before", out.Module, status.ShortCommit(out.Commit), joined(out.Already))
					return
				}
				s.out.Note("%s at %s (%s) is declared on %s", out.Module, status.ShortCommit(out.Commit), out.Verdict, joined(out.Nodes))
				s.out.Hint("mesh wait %s", out.Module)
			})
			return nil
		},
	}
	c.Flags().StringVar(&in.Build, "build", "", "another build than the newest: the beginning of its `digest` or commit")
	c.Flags().StringSliceVar(&in.Nodes, "on", nil, "only these `nodes`")
	c.Flags().StringVar(&in.Why, "why", "", "the reason, kept with the write")
	return c
}

func (s *shell) policy() *cobra.Command {
	return &cobra.Command{
		Use:   "policy MODULE [manual|auto]",
		Short: "Say who declares a module's builds",
		Long: `manual: a person declares each build. auto: a fit build of current source is declared at once, on every node that the
module belongs on, unless it was rolled back from. Without a policy this shows the module's.
` + term.ExitHelp(),
		Example: "  mesh policy site auto",
		Args:    arguments(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return s.setPolicy(c, args[0], args[1])
			}
			out, err := ask(c.Context(), s, api.ModuleShow(), api.ModuleIn{Module: args[0]})
			if err != nil {
				return err
			}
			s.show(out.ModuleOut, func() { s.line("%s", out.Policy) })
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []string{"manual", "auto"}, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func (s *shell) setPolicy(c *cobra.Command, module, policy string) error {
	out, err := ask(c.Context(), s, api.ModulePolicy(), api.PolicyIn{Module: module, Policy: policy})
	if err != nil {
		return err
	}
	s.show(out, func() { s.out.Note("policy of %s: %s", out.Module, out.Policy) })
	return nil
}

// push asks again until every node has given its receipt or the time is over.
func (s *shell) push() *cobra.Command {
	in := api.PushIn{}
	wait := defaultWait
	c := &cobra.Command{
		Use:   "push [NODE...]",
		Short: "Send now what is wanted, and wait for receipts",
		Long: `Send now what is wanted of these nodes, or of all of them, without waiting for a backoff to run out, and wait until each
has accepted it. It never changes what is wanted. With --behind: only those that mesh status shows as never told or
out of date.
` + term.ExitHelp(),
		Example: "  mesh push --behind\n  mesh push laptop --wait 1m",
		Args:    arguments(0, -1),
		RunE: func(c *cobra.Command, args []string) error {
			if wait < 0 {
				return fault.New(fault.Invalid, "--wait is %s, want 0 or more", wait)
			}
			in.Nodes = args
			return s.waitForReceipts(c, in, wait)
		},
	}
	c.Flags().BoolVar(&in.Behind, "behind", false, "only the nodes that are never told or out of date")
	c.Flags().DurationVar(&wait, "wait", defaultWait, "how long to wait for receipts")
	return c
}
