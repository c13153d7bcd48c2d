package cli

import (
	"strings"

	"github.com/spf13/cobra"

	mesh "noxmesh"
	"noxmesh/api"
	"noxmesh/cli/drawing"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/status"
)

// cutRev is the module and the revision that MODULE@REV names.
func cutRev(text string) (module, rev string, err error) {
	module, rev, at := strings.Cut(text, "@")
	switch {
	case !mesh.ValidModuleName(module):
		return "", "", fault.New(fault.Invalid, "%q begins with no module's name", document.Short(text)).With("mesh plan --commit MODULE@REV, as site@main")
	case !at || rev == "":
		return "", "", fault.New(fault.Invalid, "which commit of %q?", module).With("mesh plan --commit %s@REV; REV is a branch, a tag or a commit", module)
	}
	return module, rev, nil
}

// change answers what a commit would change.
func (s *shell) change(c *cobra.Command, text string) error {
	module, rev, err := cutRev(text)
	if err != nil {
		return err
	}
	out, err := ask(c.Context(), s, api.Change(), api.ChangeIn{Module: module, Rev: rev})
	if err != nil {
		return err
	}
	s.show(out, func() { s.showChange(out) })
	return nil
}

func (s *shell) showChange(out api.ChangeOut) {
	from := "of which nothing was read yet"
	switch {
	case out.Now == out.Commit:
		from = "which the mesh has already"
	case out.Now != "":
		from = "instead of " + status.ShortCommit(out.Now)
	}
	s.line("%s at %s, %s", s.out.Paint(term.Strong, out.Module), status.ShortCommit(out.Commit), from)
	if out.Same {
		s.line("  its folder is the same: it is not built again for that")
	}
	s.movedEdges("asks for more: ", out.Added)
	s.movedEdges("asks no more:  ", out.Removed)
	if e := out.Environment; e != nil && (e.Moved() || out.Instead != "") {
		instead := ""
		if out.Instead != "" {
			instead = "; it names " + out.Instead + " now"
		}
		s.words("  ", e.Words()+instead)
	}
	for _, m := range []struct {
		says  string
		names []string
	}{
		{"requires more:", out.Requires.Added},
		{"requires no more:", out.Requires.Removed},
		{"provides more:", out.Provides.Added},
		{"provides no more:", out.Provides.Removed},
	} {
		if len(m.names) > 0 {
			s.line("  %s %s", m.says, term.Clean(listed(m.names)))
		}
	}
	for _, why := range out.Against {
		s.words("  "+s.out.Paint(term.Bad, "stands against it:")+" ", why)
	}
	s.rebuilt(out)
	s.changedNodes(out.Nodes)
}

func (s *shell) movedEdges(says string, edges []api.Edge) {
	for _, e := range edges {
		s.line("  %s%s → %s  %s", says, e.From, e.To, drawing.Says(e))
	}
}

func (s *shell) rebuilt(out api.ChangeOut) {
	if len(out.Rebuilt) == 0 {
		s.line("nothing is built again")
		return
	}
	s.line("built again, in this order:")
	t := newTable("MODULE", "WHEN")
	t.Columns[1].Prose = true
	for _, r := range out.Rebuilt {
		when := "in any case"
		switch {
		case r.Problem != "":
			when = "it cannot be built: it " + term.Clean(r.Problem)
		case !r.Moved && len(r.Against) > 1:
			when = "if one of these comes out another: " + strings.Join(r.Against, ", ")
		case !r.Moved:
			when = "if " + strings.Join(r.Against, ", ") + " comes out another"
		}
		t.row(r.Module, when)
	}
	s.table(t)
}

func (s *shell) changedNodes(nodes []api.ChangedNode) {
	if len(nodes) == 0 {
		s.line("on no node: nothing of it belongs on one")
		return
	}
	s.line("on these nodes:")
	t := newTable("NODE", "BY POLICY", "WHEN SOMEBODY DECLARES IT")
	for _, n := range nodes {
		t.row(n.Name, joined(n.Auto), joined(n.Manual))
	}
	s.table(t)
}
