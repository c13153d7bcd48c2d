package graph_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/graph"
)

var names = []string{"a", "b", "c", "d", "e", "f", "g"}

func drawModules(t *rapid.T) []graph.Module {
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, len(names), rapid.ID[string]).Draw(t, "modules")
	word := rapid.SampledFrom(append([]string{"x", "y", "z"}, names...))
	out := make([]graph.Module, len(chosen))
	for i, n := range chosen {
		out[i] = graph.Module{
			Name: n, Here: rapid.Bool().Draw(t, n+" here"),
			Provides: rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z", "a"}), 0, 2).Draw(t, n+" provides"),
			Offers:   rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "a", n}), 0, 2).Draw(t, n+" offers"),
			Requires: rapid.SliceOfN(word, 0, 3).Draw(t, n+" requires"),
		}
	}
	return out
}

// model answers everything by looking at everything.
type model struct {
	modules []graph.Module
	there   []string
}

func drawThere(t *rapid.T) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "a", "b"}), 0, 2, rapid.ID[string]).Draw(t, "there")
}

func (m model) of(name string) *graph.Module {
	for i := range m.modules {
		if m.modules[i].Name == name {
			return &m.modules[i]
		}
	}
	return nil
}

// offerers is who provides a name for the whole mesh.
func (m model) offerers(name string) []string {
	var all []string
	for _, p := range m.modules {
		if slices.Contains(p.Offers, name) {
			all = append(all, p.Name)
		}
	}
	slices.Sort(all)
	return all
}

// afar reports whether the mesh meets a requirement, so that nothing is needed here.
func (m model) afar(name string) bool {
	c := m.candidates(name)
	return slices.Contains(m.there, name) && (len(c) == 0 || !m.of(c[0]).Here)
}

// need is the one module that has to be here for a requirement, or empty.
func (m model) need(name string) string {
	c := m.candidates(name)
	if len(c) != 1 || m.afar(name) || !m.of(c[0]).Here && len(m.offerers(name)) > 0 {
		return ""
	}
	return c[0]
}

// candidates is who provides a name on a node, those that are declared here before the others.
func (m model) candidates(name string) []string {
	var all, here []string
	for _, p := range m.modules {
		if p.Name == name && !slices.Contains(p.Offers, name) || slices.Contains(p.Provides, name) {
			all = append(all, p.Name)
			if p.Here {
				here = append(here, p.Name)
			}
		}
	}
	if len(here) > 0 {
		all = here
	}
	slices.Sort(all)
	return all
}

// edges is the providers of a module other than itself.
func (m model) edges(name string) map[string]bool {
	out := map[string]bool{}
	if of := m.of(name); of != nil {
		for _, need := range of.Requires {
			if p := m.need(need); p != "" && p != name {
				out[p] = true
			}
		}
	}
	return out
}

// reach is what is needed through any number of edges, at least one.
func (m model) reach(name string) map[string]bool {
	out := m.edges(name)
	for grown := true; grown; {
		grown = false
		for n := range out {
			for p := range m.edges(n) {
				grown = grown || !out[p]
				out[p] = true
			}
		}
	}
	return out
}

// belong is the roots, what they need, and what is declared here of that for
// which there is more than one.
func (m model) belong(roots []string) map[string]bool {
	out := map[string]bool{}
	for _, r := range roots {
		out[r] = true
	}
	for size := -1; size < len(out); {
		size = len(out)
		for name := range maps.Clone(out) {
			maps.Copy(out, m.reach(name))
			if m.of(name) == nil {
				continue
			}
			for _, need := range m.of(name).Requires {
				for _, c := range m.candidates(need) {
					out[c] = out[c] || m.of(c).Here
				}
			}
		}
		maps.DeleteFunc(out, func(_ string, in bool) bool { return !in })
	}
	return out
}

// problems is how many there should be of each module, and the words that tell the kind.
func (m model) problems(set map[string]bool) map[string][]string {
	out := map[string][]string{}
	for name := range set {
		of := m.of(name)
		if of == nil {
			out[name] = []string{"is not a module that the mesh knows"}
			continue
		}
		for _, need := range slices.Compact(slices.Sorted(slices.Values(of.Requires))) {
			switch c, far := m.candidates(need), m.offerers(need); {
			case m.afar(need) || m.need(need) != "":
			case len(c)+len(far) == 0:
				out[name] = append(out[name], fmt.Sprintf("requires %q, and no module provides it", need))
			case len(c) == 0:
				out[name] = append(out[name], fmt.Sprintf("requires %q of the mesh, and it is declared on no node: %s provide", need, strings.Join(far, " and ")))
			default:
				out[name] = append(out[name], fmt.Sprintf("requires %q, and %s provide", need, strings.Join(c, " and ")))
			}
		}
		if m.reach(name)[name] {
			out[name] = append(out[name], "is in a cycle of requirements")
		}
	}
	return out
}

// shortest is the length of the shortest way from a module back to itself.
func (m model) shortest(name string) int {
	level := map[string]bool{name: true}
	for n := 1; ; n++ {
		next := map[string]bool{}
		for at := range level {
			maps.Copy(next, m.edges(at))
		}
		if next[name] {
			return n
		}
		level = next
	}
}

func TestClosureAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := model{drawModules(t), drawThere(t)}
		roots := rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "roots")
		order, problems := graph.New(m.modules, m.there).Closure(roots)

		set := m.belong(roots)
		if d := cmp.Diff(slices.Sorted(maps.Keys(set)), slices.Sorted(slices.Values(order))); d != "" && len(set) > 0 {
			t.Fatalf("the set: %s", d)
		}
		for i, name := range order {
			for p := range m.edges(name) {
				if slices.Index(order, p) > i && !m.reach(p)[name] {
					t.Fatalf("%s comes before its provider %s in %v", name, p, order)
				}
			}
		}
		want, got := m.problems(set), map[string]int{}
		for _, p := range problems {
			got[p.Module]++
			if !slices.ContainsFunc(want[p.Module], func(why string) bool { return strings.HasPrefix(p.Why, why) }) {
				t.Fatalf("%+v, want one of %q", p, want[p.Module])
			}
			m.checkCycle(t, p)
		}
		for name, whys := range want {
			if got[name] != len(whys) {
				t.Fatalf("%s has %d problems, want %q", name, got[name], whys)
			}
		}
	})
}

// checkCycle follows a cycle that is named, edge by edge.
func (m model) checkCycle(t *rapid.T, p graph.Problem) {
	_, text, named := strings.Cut(p.Why, "requirements: ")
	if !named {
		return
	}
	way := strings.Split(text, " → ")
	if way[0] != p.Module || way[len(way)-1] != p.Module || len(way)-1 != m.shortest(p.Module) {
		t.Fatalf("%+v is not the shortest cycle", p)
	}
	for i, name := range way[1:] {
		if !m.edges(way[i])[name] || name < p.Module {
			t.Fatalf("%+v: no edge from %s to %s, or not its first module", p, way[i], name)
		}
	}
}

func TestClosureDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := drawModules(t)
		roots := rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "roots")
		there := drawThere(t)
		order, problems := graph.New(all, there).Closure(roots)

		shuffled := rapid.Permutation(all).Draw(t, "shuffled")
		for i := range shuffled {
			shuffled[i].Provides = rapid.Permutation(shuffled[i].Provides).Draw(t, "provides")
			shuffled[i].Offers = rapid.Permutation(shuffled[i].Offers).Draw(t, "offers")
			shuffled[i].Requires = rapid.Permutation(shuffled[i].Requires).Draw(t, "requires")
		}
		again, problemsAgain := graph.New(shuffled, there).Closure(rapid.Permutation(roots).Draw(t, "roots again"))
		if d := cmp.Diff(order, again); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(problems, problemsAgain); d != "" {
			t.Fatal(d)
		}
		// Nor on which of them are the roots.
		again, _ = graph.New(all, there).Closure(order)
		if d := cmp.Diff(order, again); d != "" {
			t.Fatalf("with all of them as roots: %s", d)
		}
	})
}
