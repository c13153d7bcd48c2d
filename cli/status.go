package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/inventory"
	"noxmesh/status"
)

func (s *shell) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status [MODULE|NODE]",
		Short: "Did it go out? Every module and every node, or one",
		Long: `One line a module: what source exists, what was built from it, whether it is fit, on how many nodes it is declared,
and on how many it is applied, which each of them has read back and signed.

A node is "never told" when nobody has asked it to be anything, and "out of date" when it was sent something and would
now be sent something else: mesh push --behind acts on just these. What cannot be worked out is in mesh plan.
` + term.ExitHelp(),
		Example: "  mesh status\n  mesh status site\n  mesh status laptop -o json",
		Args:    arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			st, err := s.askStatus(c, args)
			if err != nil {
				return err
			}
			s.bad = st.Unwell != nil || st.Recovering != ""
			for _, m := range st.Modules {
				s.bad = s.bad || m.Bad()
			}
			for _, n := range st.Nodes {
				s.bad = s.bad || n.Bad()
			}
			s.show(st, func() { s.showStatus(st, len(args) == 1) })
			return nil
		},
	}
}

// askStatus asks about everything, or about the module or else the node of that name.
func (s *shell) askStatus(c *cobra.Command, args []string) (status.Status, error) {
	if len(args) == 0 {
		return ask(c.Context(), s, api.Status(), api.StatusIn{})
	}
	st, err := ask(c.Context(), s, api.Status(), api.StatusIn{Module: args[0]})
	if fault.KindOf(err) != fault.NotFound {
		return st, err
	}
	ofNode, e := ask(c.Context(), s, api.Status(), api.StatusIn{Node: args[0]})
	if fault.KindOf(e) == fault.NotFound {
		return st, fault.New(fault.NotFound, "no module and no node %q", args[0]).With("mesh status shows all of them")
	}
	return ofNode, e
}

func (s *shell) showStatus(st status.Status, one bool) {
	if st.Unwell != nil {
		s.line("%s %s", s.out.Paint(term.Bad, "the controller can record nothing, for "+term.Span(st.At.Sub(st.Unwell.Since))+", and what follows is as old as that:"), term.Clean(st.Unwell.Why))
	}
	if st.Recovering != "" {
		s.line("%s %s", s.out.Paint(term.Bad, "nothing is declared:"), term.Clean(st.Recovering))
	}
	if len(st.Modules)+len(st.Nodes) == 0 {
		s.line("nothing yet: mesh module add NAME REPOSITORY, mesh node add NAME, mesh assign MODULE NODE")
		return
	}
	for _, m := range st.Modules {
		s.line("%s %s", s.out.Paint(term.Strong, m.Module), s.lineColour(m))
		s.showWaiting(m, st.At)
		if one || m.Failed > 0 || m.Outstanding > 0 {
			s.showOn(m, st.At, one)
		}
	}
	if len(st.Nodes) > 0 {
		s.line("")
		s.showNodes(st)
	}
}

func (s *shell) lineColour(m status.Module) string {
	switch {
	case m.Bad():
		return s.out.Paint(term.Bad, m.Line())
	case m.Out():
		return s.out.Paint(term.Good, m.Line())
	}
	return m.Line()
}

func (s *shell) showWaiting(m status.Module, now time.Time) {
	if m.Source.State != "read" && m.Source.Commit != "" {
		s.line("  source %s for %s: %s", m.Source.State, term.Span(now.Sub(m.Source.Since)), term.Clean(m.Source.Why))
	}
	for _, w := range m.Waiting {
		if w.Since.IsZero() {
			s.line("  waits for %s", term.Clean(w.For))
			continue
		}
		s.line("  waits for %s, for %s", term.Clean(w.For), term.Span(now.Sub(w.Since)))
	}
	for _, t := range m.Trouble {
		s.line("  %s %s", s.stuckWord(t, now), term.Clean(t.Says))
	}
	if m.Finding != "" {
		s.line("  %s %s", s.out.Paint(term.Bad, "finding:"), term.Clean(m.Finding))
	}
}

func (s *shell) stuckWord(t status.Trouble, now time.Time) string {
	word := "trouble"
	if t.Stuck {
		word = "stuck"
	}
	return s.out.Paint(term.Bad, fmt.Sprintf("%s, %d in a row, for %s:", word, t.Count, term.Span(now.Sub(t.Since))))
}

func (s *shell) showOn(m status.Module, now time.Time, all bool) {
	for _, on := range m.Nodes {
		switch {
		case on.Commit == "":
			if all {
				s.line("  %s: not declared there", on.Name)
			}
		case on.Standing == inventory.Applied:
			if all {
				s.line("  %s: %s applied %s", on.Name, status.ShortCommit(on.Commit), term.Ago(now.Sub(on.At)))
			}
		case on.Standing == inventory.Failed:
			s.line("  %s: %s %s", on.Name, s.out.Paint(term.Bad, "failed"), term.Clean(on.Why))
		case on.LastSeen.IsZero():
			s.line("  %s: outstanding, never seen", on.Name)
		default:
			s.line("  %s: outstanding, last seen %s", on.Name, term.Ago(now.Sub(on.LastSeen)))
		}
	}
}

func (s *shell) showNodes(st status.Status) {
	t := newTable("NODE", "STATE", "LAST SEEN", "MODULES", "")
	for _, n := range st.Nodes {
		seen := "never"
		if !n.LastSeen.IsZero() {
			seen = term.Ago(st.At.Sub(n.LastSeen))
		}
		t.row(n.Name, n.State, seen, joined(n.Modules), s.nodeWords(n, st.At))
	}
	s.table(t)
	for _, n := range st.Nodes {
		for _, f := range n.Failing {
			s.line("  %s: %s %s: %s", n.Name, f.State, f.Resource, term.Clean(f.Error))
		}
	}
}

func (s *shell) nodeWords(n status.Node, now time.Time) string {
	words := ""
	add := func(w string) {
		if words != "" {
			words += "; "
		}
		words += w
	}
	if n.Trouble != nil {
		word := "failing"
		if n.Trouble.Stuck {
			word = "stuck"
		}
		add(fmt.Sprintf("%s, %d in a row, for %s", word, n.Trouble.Count, term.Span(now.Sub(n.Trouble.Since))))
	}
	if n.Finding != "" {
		add(n.Finding)
	}
	if n.Refused != "" {
		add("refused: " + n.Refused)
	}
	if n.Drift > 0 {
		add(fmt.Sprintf("drift found in %d and put back", n.Drift))
	}
	if n.NotWorkedOut > 0 {
		add("not all of it is worked out: mesh plan " + n.Name)
	}
	return term.Clean(words)
}
