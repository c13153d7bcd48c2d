package cli

import (
	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/status"
)

func (s *shell) declare() *cobra.Command {
	in := api.DeclareIn{}
	c := &cobra.Command{
		Use:   "declare MODULE",
		Short: "Make the nodes' declarations name a build: one write",
		Long: `Make the declarations of the nodes that the module belongs on name its newest fit
build, in one write. The hosts do the rest: each applies it, reads back, and
reports. A build that is unfit is never declared. To roll back, declare an older
build: no policy declares the one that was rolled back from again.`,
		Example: `  mesh declare site
  mesh declare site --build 3f1c2ab --why 'the new one is slow'
  mesh declare site --on laptop`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			in.Module = args[0]
			out, err := ask(c.Context(), s, api.Declare(), in)
			if err != nil {
				return err
			}
			s.show(out, func() { s.showDeclared(out) })
			return nil
		},
	}
	c.Flags().StringVar(&in.Build, "build", "", "another build than the newest: the beginning of its `id` as mesh builds shows it, of its digest or of its commit")
	c.Flags().StringSliceVar(&in.Nodes, "on", nil, "only these `nodes`")
	c.Flags().StringVar(&in.Why, "why", "", "the reason, kept with the write")
	s.completes(c, "build", s.buildIDs())
	s.completes(c, "on", s.nodeNames())
	s.completes(c, "why", oneOf())
	return printing[api.DeclareOut](c)
}

func (s *shell) showDeclared(out api.DeclareOut) {
	commit := status.ShortCommit(out.Commit)
	if len(out.Nodes) == 0 {
		s.out.Note("%s at %s was declared on %s before", out.Module, commit, listed(out.Already))
		return
	}
	s.out.Note("%s at %s, which is %s, is declared on %s", out.Module, commit, out.Verdict, listed(out.Nodes))
	if len(out.Already) > 0 {
		s.out.Note("and was before on %s", listed(out.Already))
	}
	s.out.Hint("mesh wait %s", out.Module)
}

func (s *shell) policy() *cobra.Command {
	return printing[api.ModuleOut](&cobra.Command{
		Use:   "policy MODULE [manual|auto]",
		Short: "Say who declares a module's builds",
		Long: `Say who declares a module's builds. manual: a person declares each. auto: a fit
build of current source is declared at once, on every node that the module
belongs on, unless it was rolled back from. Without a policy this shows the
module's.`,
		Example: `  mesh policy site
  mesh policy site auto`,
		Args:              arguments(1, 2),
		ValidArgsFunction: each(s.moduleNames(), oneOf("manual", "auto")),
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
	})
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
		Long: `Send now what is wanted of these nodes, or of all of them, without waiting for a
backoff to run out, and wait until each has accepted it. It never changes what
is wanted. With --behind: only those that mesh status shows as never told or out
of date.

A receipt is not the read-back: mesh wait waits until it is applied.`,
		Example: `  mesh push --behind
  mesh push laptop --wait 1m`,
		Args:              arguments(0, -1),
		ValidArgsFunction: s.nodeNames(),
		RunE: func(c *cobra.Command, args []string) error {
			if wait < 0 {
				return fault.New(fault.Invalid, "--wait is %s, want 0 or more", wait)
			}
			in.Nodes = args
			return s.waitForReceipts(c, in, wait)
		},
	}
	c.Flags().BoolVar(&in.Behind, "behind", false, "only the nodes that are never told or out of date")
	c.Flags().DurationVar(&wait, "wait", wait, "how long to wait for receipts")
	return printing[api.PushOut](c)
}
