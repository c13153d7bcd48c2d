package cli

import (
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) node() *cobra.Command {
	return group("node", "The nodes: the machines that are managed", s.nodeAdd(), s.nodeList(), s.nodeShow(), s.nodeAllow(), s.nodeRemove())
}

func (s *shell) nodeAdd() *cobra.Command {
	lives := time.Hour
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a node, and print the token that it joins with",
		Long: `Add a node, and print the token that it joins with. The token works once, and
not for long; the node makes its own keys, and they never leave it. For a node
that has not joined yet, this makes another token.`,
		Example: `  mesh node add laptop
  mesh-host join TOKEN      on the node, as root
  mesh-host run`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, args []string) error {
			if lives < time.Second {
				return fault.New(fault.Invalid, "--lives is %s, want at least 1s", lives)
			}
			out, err := ask(c.Context(), s, api.NodeAdd(), api.NodeAddIn{Node: args[0], Lives: int64(lives / time.Second)})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("on %s, as root, within %s: mesh-host join TOKEN && mesh-host run", out.Name, term.Span(lives))
				s.line("%s", out.Token)
			})
			return nil
		},
	}
	c.Flags().DurationVar(&lives, "lives", lives, "how long the token is good for")
	return printing[api.TokenOut](c)
}

func (s *shell) nodeList() *cobra.Command {
	return printing[api.NodesOut](&cobra.Command{
		Use:   "list",
		Short: "List the nodes",
		Args:  arguments(0, 0), ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := ask(c.Context(), s, api.Nodes(), api.Nothing{})
			if err != nil {
				return err
			}
			s.show(out, func() { s.showNodeList(out, time.Now()) })
			return nil
		},
	})
}

func (s *shell) showNodeList(out api.NodesOut, now time.Time) {
	t := newTable("NODE", "STATE", "LAST SEEN", "HOST", "ID", "MODULES")
	for _, n := range out.Nodes {
		t.row(n.Name, n.State, seen(n.LastSeen, now), hostOf(n.Node), n.Node.Node, joined(n.Modules))
	}
	s.table(t)
	if len(out.Nodes) == 0 {
		s.out.Note("no nodes yet")
		s.out.Hint("mesh node add NAME")
	}
}

// hostOf is the version of a node's host, and the one that it needs where that is another.
func hostOf(n status.Node) string {
	if n.NeedsHost == "" {
		return n.Host
	}
	return n.Host + ", needs " + n.NeedsHost
}

// seen is when something was last seen, and "never" where it was not.
func seen(at, now time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return term.Ago(now.Sub(at))
}

func (s *shell) nodeShow() *cobra.Command {
	return printing[api.NodeShowOut](&cobra.Command{
		Use:               "show NODE",
		Short:             "One node: what is assigned, and what it last read back",
		Example:           "  mesh node show laptop",
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.nodeNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.NodeShow(), api.NodeIn{Node: args[0]})
			if err != nil {
				return err
			}
			s.bad = out.Bad()
			s.show(out, func() { s.showNode(out, time.Now()) })
			return nil
		},
	})
}

func (s *shell) showNode(n api.NodeShowOut, now time.Time) {
	s.line("%s %s", s.out.Paint(term.Strong, n.Name), n.State)
	if words := nodeWords(n.NodeOut.Node, now); words != "" {
		s.words("  ", words)
	}
	s.showReasons("  ", n.NodeOut.Node, now)
	s.line("  id %s, added %s", n.NodeOut.Node.Node, term.Ago(now.Sub(n.AddedAt)))
	if n.JoinedAt.IsZero() {
		s.line("  it has not joined: mesh node add %s makes another token", n.Name)
	}
	if !n.LastSeen.IsZero() {
		s.line("  last seen %s, host %s", term.Ago(now.Sub(n.LastSeen)), term.Clean(hostOf(n.NodeOut.Node)))
	}
	s.showFacts(n.Facts)
	switch {
	case n.Applied != "":
		s.line("  accepted declaration %s, applied %s", n.Accepted, n.Applied)
	case n.Accepted != "":
		s.line("  accepted declaration %s, applied none yet", n.Accepted)
	}
	for _, a := range n.Assigned {
		s.line("  assigned %s", a.Module)
		for _, name := range slices.Sorted(maps.Keys(a.Settings)) {
			s.line("    %s=%s", term.Clean(name), term.Clean(a.Settings[name]))
		}
	}
	for _, r := range n.Resources {
		s.words("  ", resourceWords(r, n.Contested))
	}
}

// resourceWords is one resource as the node's last report has it.
func resourceWords(r api.Resource, contested []status.Contested) string {
	line := r.State + " " + r.Resource
	if r.Found != "" && r.Found != "nothing" {
		line += " (found " + r.Found + ")"
	}
	if r.Error != "" {
		line += ": " + r.Error
	}
	for _, c := range contested {
		if c.Resource == r.Resource {
			line += "; contested: " + c.Words()
		}
	}
	return line
}

func (s *shell) nodeAllow() *cobra.Command {
	return printing[api.NodeAllowOut](&cobra.Command{
		Use:   "allow NODE PLAN",
		Short: "Let a plan that removes much go out to a node: this one, once",
		Long: `Let a plan that removes much go out to a node. What would remove ten resources or
more, and more than half of what the node holds, is held back from it until
somebody allows it: a module that has lost what it puts on machines, or the wrong
module unassigned, looks just like that. mesh status says which nodes wait for it,
and mesh plan NODE shows what each should be.

PLAN is the digest of what the node should be, or its first digits, eight at
least. It is allowed once: what is another plan is another question.`,
		Example:           "  mesh node allow laptop 3fa9c1d2e4b5",
		Args:              arguments(2, 2),
		ValidArgsFunction: each(s.nodeNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.NodeAllow(), api.NodeAllowIn{Node: args[0], Digest: args[1]})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.line("%s is told to be %s, which removes %d of the %d resources that it holds", out.Name, short(out.Digest), out.Gone, out.Of)
			})
			return nil
		},
	})
}

func (s *shell) nodeRemove() *cobra.Command {
	return printing[api.Nothing](&cobra.Command{
		Use:   "remove NODE",
		Short: "Remove a node: its keys are refused from then on",
		Long: `Remove a node: its keys are refused from then on, and its link is cut. Nothing on
the machine is touched.`,
		Example:           "  mesh node remove laptop",
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.nodeNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.NodeRemove(), api.NodeIn{Node: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() { s.out.Note("node %s is removed; what it was declared to be stays on the machine", args[0]) })
			return nil
		},
	})
}
