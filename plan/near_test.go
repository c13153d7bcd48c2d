package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/artifact"
	"noxmesh/manifest"
	"noxmesh/plan"
)

// What is near decides as everything does, whatever the order in which it
// became known; and a change elsewhere than in the names asked changes nothing.
func TestNearIsAllThatCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		known, declared := plan.NewKnown(), map[string]*artifact.Build{}
		var roots []string
		for _, a := range f.Assigned {
			roots = append(roots, a.Module)
		}
		for i, m := range f.Modules {
			if m.Declared != nil {
				declared[m.Name] = m.Declared
			}
			if m.Source == nil || rapid.Bool().Draw(t, "another source") {
				f.Modules[i].Source = drawSource(t, m.Name)
			}
			known.Set(m.Name, drawSource(t, m.Name)) // and later the right one
		}
		for _, i := range rapid.Permutation(indices(len(f.Modules))).Draw(t, "order") {
			known.Set(f.Modules[i].Name, f.Modules[i].Source)
		}
		near, asked := known.Near(roots, declared)
		whole, part := f, f
		part.Modules = near
		if d := cmp.Diff(plan.Compile(whole), plan.Compile(part)); d != "" {
			t.Fatal(d)
		}
		order, problems := plan.Belong(f.Modules, roots)
		nearOrder, nearProblems := plan.Belong(near, roots)
		if d := cmp.Diff(order, nearOrder) + cmp.Diff(problems, nearProblems); d != "" {
			t.Fatal(d)
		}
		name := rapid.SampledFrom(all).Draw(t, "changed")
		var moved []string
		if rapid.Bool().Draw(t, "forgotten") {
			moved = known.Forget(name)
		} else {
			moved = known.Set(name, drawSource(t, name))
		}
		if slices.ContainsFunc(moved, func(n string) bool { return slices.Contains(asked, n) }) {
			return
		}
		now, _ := known.Near(roots, declared)
		part.Modules = now
		if d := cmp.Diff(plan.Compile(whole), plan.Compile(part)); d != "" {
			t.Fatalf("a change of %q, which was not asked, counts: %s", name, d)
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func drawSource(t *rapid.T, name string) *manifest.Source {
	if rapid.IntRange(0, 3).Draw(t, "never read") == 0 {
		return nil
	}
	names := func(what string, from []string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 2, rapid.ID[string]).Draw(t, what)
	}
	return &manifest.Source{Module: name, Provides: names("provides", []string{"p", "q"}), Requires: names("requires", append([]string{"p", "q"}, all...))}
}
