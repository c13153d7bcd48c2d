package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/cli/drawing"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

// outputs is the annotation of a command that prints in more forms than text
// and JSON: those, with spaces between them.
const outputs = "outputs"

func (s *shell) graph() *cobra.Command {
	dependents, dependencies := false, false
	c := printing[api.GraphOut](&cobra.Command{
		Use:   "graph [MODULE]",
		Short: "Which modules need which, and for what",
		Long: `The edges between modules: of all of them, or what one module needs and what
needs it. They are told apart:

  build     its code asks for what the other owns: it is compiled against it
  test      the same, and only its tests do
  presence  it requires what the other provides: that has to be there
  instance  the other makes something for it

Build edges are read from the code at the commit that the mesh has; nobody writes
them down. With -o dot it is for Graphviz, with -o svg a drawing that any browser
shows, with what is needed to the left.`,
		Example: `  mesh graph
  mesh graph board --dependents
  mesh graph -o svg > graph.svg`,
		Args:              arguments(0, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			in := api.GraphIn{Module: first(args)}
			switch {
			case dependents && !dependencies:
				in.Of = "dependents"
			case dependencies && !dependents:
				in.Of = "dependencies"
			}
			if in.Of != "" && in.Module == "" {
				return fault.New(fault.Invalid, "--%s is about one module, and none was given", in.Of).With("mesh graph MODULE --%s", in.Of)
			}
			out, err := ask(c.Context(), s, api.Graph(), in)
			if err == nil {
				s.showGraph(out)
			}
			return err
		},
	})
	c.Annotations[outputs] = "dot svg"
	c.Flags().BoolVar(&dependents, "dependents", false, "only what needs the module, directly or through others")
	c.Flags().BoolVar(&dependencies, "dependencies", false, "only what the module needs, directly or through others")
	return c
}

func (s *shell) showGraph(g api.GraphOut) {
	switch s.format {
	case "dot":
		s.line("%s", strings.TrimSuffix(drawing.Dot(g), "\n"))
		return
	case "svg":
		s.line("%s", strings.TrimSuffix(drawing.SVG(g), "\n"))
		return
	}
	s.show(g, func() {
		if g.Module != "" {
			for _, line := range drawing.Tree(g, s.out.Width) {
				s.line("%s", line)
			}
		} else {
			s.listGraph(g)
		}
		for _, m := range g.Modules {
			for _, why := range m.Against {
				s.words(s.out.Paint(term.Bad, m.Module)+" ", why)
			}
		}
		if len(g.Modules) == 0 {
			s.out.Note("no modules yet")
			s.out.Hint("mesh module add NAME REPOSITORY")
		}
	})
}

// listGraph is a line for each edge, and one for each module that needs nothing.
func (s *shell) listGraph(g api.GraphOut) {
	of := map[string][]api.Edge{}
	for _, e := range g.Edges {
		of[e.From] = append(of[e.From], e)
	}
	t := newTable("MODULE", "EDGE", "NEEDS", "")
	for _, m := range g.Modules {
		if len(of[m.Module]) == 0 {
			t.row(m.Module, "", "nothing", "")
		}
		for _, e := range of[m.Module] {
			t.row(m.Module, drawing.Kind(e), e.To, drawing.Says(e))
		}
	}
	if len(t.Rows) == 0 {
		return
	}
	if s.out.Width > 0 && t.width() > s.out.Width { // what is said of an edge is cut, and does not go below all of them
		t.Columns[len(t.Columns)-1].Head = "FOR"
	}
	s.table(t)
}
