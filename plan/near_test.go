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
		var afar []*artifact.Build
		for _, name := range f.There {
			b := artifact.Build{Manifest: manifest.Built{Provides: []manifest.Provided{{Name: name, Scope: manifest.MeshScope}}}}
			afar = append(afar, &b)
			if moved := known.Declare(nil, []*artifact.Build{&b, &b}); !slices.Equal(moved, []string{name}) {
				t.Fatalf("declared on the first node: %q moved", moved)
			}
			if moved := known.Declare([]*artifact.Build{&b}, nil); len(moved) > 0 {
				t.Fatalf("gone from one of two nodes: %q moved", moved)
			}
		}
		near, asked := known.Near(roots, declared)
		whole, part := f, f
		part.Modules, part.There = near, known.There(asked)
		if d := cmp.Diff(plan.Compile(whole), plan.Compile(part)); d != "" {
			t.Fatal(d)
		}
		order, problems := plan.Belong(f.Modules, f.There, roots)
		nearOrder, nearProblems := plan.Belong(near, part.There, roots)
		if d := cmp.Diff(order, nearOrder) + cmp.Diff(problems, nearProblems); d != "" {
			t.Fatal(d)
		}
		name := rapid.SampledFrom(all).Draw(t, "changed")
		var moved []string
		switch rapid.IntRange(0, 2).Draw(t, "what changed") {
		case 0:
			moved = known.Forget(name)
		case 1:
			moved = known.Set(name, drawSource(t, name))
		case 2:
			moved = known.Declare(afar, nil)
		}
		if slices.ContainsFunc(moved, func(n string) bool { return slices.Contains(asked, n) }) {
			return
		}
		now, _ := known.Near(roots, declared)
		part.Modules, part.There = now, known.There(asked)
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
	b := manifest.Built{}
	drawNeeds(t, &b)
	return &manifest.Source{
		Module: name, Provides: append(manifest.OnNode(names("provides", []string{"q"})...), drawProvides(t)...),
		Requires:  names("requires", append([]string{"p", "q"}, all...)),
		Instances: b.Instances, Grants: b.Grants, Capabilities: b.Capabilities,
	}
}
