package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/cli/drawing"
	"noxmesh/internal/term"
)

func (s *shell) why() *cobra.Command {
	return printing[api.WhyOut](&cobra.Command{
		Use:   "why MODULE|NODE MODULE",
		Short: "Why a module needs another, or is on a node",
		Long: `Why a module needs another: each edge between them, with the file and line where
that is said; or the shortest chain of edges that leads there. Where there is none,
that is the answer, with what comes nearest.

With a node: why the module is there. It was assigned, or something that was
requires it, and that is named with everything in between.`,
		Example: `  mesh why board core
  mesh why node1 core`,
		Args:              arguments(2, 2),
		ValidArgsFunction: each(both(s.moduleNames(), s.nodeNames()), s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.Why(), api.WhyIn{What: args[0], Module: args[1]})
			if err != nil {
				return err
			}
			s.show(out, func() {
				if out.Modules != nil {
					s.whyModules(*out.Modules)
				}
				if out.Node != nil {
					s.whyNode(*out.Node)
				}
			})
			return nil
		},
	})
}

// evidenceShown is how many places of one edge are shown; the others are in the JSON.
const evidenceShown = 20

func (s *shell) whyModules(w api.WhyModules) {
	switch {
	case len(w.Direct) > 0:
		s.line("%s needs %s", w.From, w.To)
		s.edges(w.Direct, evidenceShown)
	case len(w.Chain) > 0:
		s.line("%s needs %s through %s", w.From, w.To, through(w.Chain))
		s.chain(w.Chain)
	case len(w.Back) > 0:
		s.line("%s does not need %s; it is the other way round", w.From, w.To)
		s.chain(w.Back)
	default:
		s.line("%s does not need %s, and %s does not need %s", w.From, w.To, w.To, w.From)
		switch {
		case len(w.Both) > 0:
			s.line("  both need %s", listed(w.Both))
		case len(w.Nearest) > 0:
			s.line("  %s needs %s", w.From, listed(w.Nearest))
		default:
			s.line("  %s needs nothing", w.From)
		}
	}
}

// through is the modules between the ends of a chain.
func through(chain []api.Edge) string {
	var names []string
	for _, e := range chain[1:] {
		names = append(names, e.From)
	}
	return strings.Join(names, ", ")
}

// edges is each edge with everything that it is for.
func (s *shell) edges(edges []api.Edge, most int) {
	for _, e := range edges {
		for i, f := range e.For {
			if i == most {
				s.line("  … and %d more; -o json has them all", len(e.For)-most)
				break
			}
			kind := e.Kind
			if f.Test {
				kind = "test"
			}
			s.line("  %-8s  %s: %s", kind, drawing.At(f), asksFor(e, f))
		}
	}
}

// asksFor is what stands at the place of an edge, in words.
func asksFor(e api.Edge, f api.For) string {
	words := "asks for " + f.Language + " " + term.Clean(f.Name)
	switch e.Kind {
	case "presence":
		words = "requires " + term.Clean(f.Name)
	case "instance":
		words = "needs an instance of " + term.Clean(f.Name)
	}
	if e.OneOf {
		words += ", which " + e.To + " is not alone to provide"
	}
	return words
}

// chain is one line for each edge, with the first thing that it is for.
func (s *shell) chain(chain []api.Edge) {
	for _, e := range chain {
		more := ""
		if n := len(e.For) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more)", n)
		}
		s.line("  %s → %s  %-8s  %s: %s%s", e.From, e.To, drawing.Kind(e), drawing.At(e.For[0]), asksFor(e, e.For[0]), more)
	}
}

func (s *shell) whyNode(w api.WhyNode) {
	switch {
	case w.Assigned && len(w.Settings) > 0:
		var all []string
		for _, key := range slices.Sorted(maps.Keys(w.Settings)) {
			all = append(all, key+"="+w.Settings[key])
		}
		s.line("%s is on %s: it is assigned there, with %s", w.Module, w.Name, term.Clean(strings.Join(all, " ")))
	case w.Assigned:
		s.line("%s is on %s: it is assigned there", w.Module, w.Name)
	case w.Belongs && len(w.Chain) > 0:
		how := "is assigned there and requires it"
		if w.Stays {
			how = "is declared there and requires it"
		}
		if len(w.Chain) > 1 {
			how += " through " + through(w.Chain)
		}
		s.line("%s is on %s: %s %s", w.Module, w.Name, w.Chain[0].From, how)
	case w.Belongs:
		s.line("%s is on %s: it is declared there, and nothing that is assigned requires it", w.Module, w.Name)
	default:
		s.notOn(w)
	}
	s.chain(w.Chain)
	if w.Belongs && w.Build == "" {
		s.line("  no build of it is declared there yet")
	}
	if w.Stands != "" {
		s.words("  it is not worked out there: ", w.Stands)
	}
}

func (s *shell) notOn(w api.WhyNode) {
	assigned := "nothing is assigned there"
	if len(w.Assigns) > 0 {
		assigned = "assigned there: " + listed(w.Assigns)
	}
	s.line("%s is not on %s: it is not assigned there, and nothing there requires it", w.Module, w.Name)
	s.line("  %s", assigned)
	if len(w.On) > 0 {
		s.line("  it is on %s", listed(w.On))
	}
}
