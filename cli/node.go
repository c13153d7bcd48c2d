package cli

import (
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
)

func (s *shell) node() *cobra.Command {
	return group("node", "The nodes: the machines that are managed", s.nodeAdd(), s.nodeList(), s.nodeShow(), s.nodeRemove())
}

func (s *shell) nodeAdd() *cobra.Command {
	var lives time.Duration
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a node, and print the token that it joins with",
		Long: `Add a node, and print the token that it joins with. The token works once, and not for long; the node makes its own keys,
and they never leave it.
` + term.ExitHelp(),
		Example: "  mesh node add laptop\n  mesh-host join TOKEN            on the node, as root\n  mesh-host run",
		Args:    arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.NodeAdd(), api.NodeAddIn{Node: args[0], Lives: int64(lives / time.Second)})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("on %s, as root, within %s: mesh-host join TOKEN && mesh-host run", out.Name, term.Span(time.Until(out.Expires)))
				s.line("%s", out.Token)
			})
			return nil
		},
	}
	c.Flags().DurationVar(&lives, "lives", time.Hour, "how long the token is good for")
	return c
}

func (s *shell) nodeList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the nodes",
		Long:  "List the nodes.\n\n" + term.ExitHelp(),
		Args:  arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := ask(c.Context(), s, api.Nodes(), api.Nothing{})
			if err != nil {
				return err
			}
			s.show(out, func() {
				now, t := time.Now(), newTable("NODE", "STATE", "LAST SEEN", "HOST", "ID", "MODULES")
				for _, n := range out.Nodes {
					seen := "never"
					if !n.LastSeen.IsZero() {
						seen = term.Ago(now.Sub(n.LastSeen))
					}
					t.row(n.Name, n.State, seen, term.Clean(n.Host), n.Node.Node, joined(n.Modules))
				}
				s.table(t)
			})
			return nil
		},
	}
}

func (s *shell) nodeShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show NODE",
		Short:   "One node: what is assigned, and what it last read back",
		Long:    "One node: what is assigned, and what it last read back.\n\n" + term.ExitHelp(),
		Example: "  mesh node show laptop",
		Args:    arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.NodeShow(), api.NodeIn{Node: args[0]})
			if err != nil {
				return err
			}
			s.bad = out.Bad()
			s.show(out, func() { s.showNode(out) })
			return nil
		},
	}
}

func (s *shell) showNode(n api.NodeShowOut) {
	now := time.Now()
	s.line("%s %s", s.out.Paint(term.Strong, n.Name), n.State)
	if words := s.nodeWords(n.NodeOut.Node, now); words != "" {
		s.line("  %s", words)
	}
	s.line("  id %s, added %s", n.NodeOut.Node.Node, term.Ago(now.Sub(n.AddedAt)))
	if !n.LastSeen.IsZero() {
		s.line("  last seen %s, host %s", term.Ago(now.Sub(n.LastSeen)), term.Clean(n.Host))
	}
	if n.Accepted != "" {
		s.line("  accepted %s, applied %s", n.Accepted, joined([]string{n.Applied}))
	}
	for _, a := range n.Assigned {
		s.line("  assigned %s", a.Module)
		for name, value := range a.Settings {
			s.line("    %s=%s", name, term.Clean(value))
		}
	}
	for _, r := range n.Resources {
		line := r.State + " " + r.Resource
		if r.Error != "" {
			line += ": " + r.Error
		}
		if r.Found != "" {
			line += " (found " + r.Found + ")"
		}
		s.line("  %s", term.Clean(line))
	}
}

func (s *shell) nodeRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NODE",
		Short: "Remove a node: its keys are refused from then on",
		Long:  "Remove a node: its keys are refused from then on, and its link is cut. Nothing on the machine is touched.\n\n" + term.ExitHelp(),
		Args:  arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.NodeRemove(), api.NodeIn{Node: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() { s.out.Note("node %s is removed; what it was declared to be stays on the machine", args[0]) })
			return nil
		},
	}
}
