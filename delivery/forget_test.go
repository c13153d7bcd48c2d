package delivery_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery"
)

// What was forgotten changes no answer, whatever is written afterwards; and of
// a policy's writes no more is kept than the newest, what stands on each node,
// and what each person's write took the place of there.
func TestForgettingChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := facts()
		for i, name := range []string{"c0/t0=a", "c1/t1=b", "c2/t2=a", "c3/t3=c"} {
			builds(made(name, i))(&f)
		}
		nodes := []string{"n1", "n2", "n3"}
		people := 0
		write := func(id int) {
			w := delivery.Write{
				ID: int64(id), Build: rapid.SampledFrom(f.Builds).Draw(t, "build").ID, At: at(id), Policy: rapid.IntRange(0, 9).Draw(t, "a person") > 0,
				Nodes: rapid.SliceOfNDistinct(rapid.SampledFrom(nodes), 1, 3, rapid.ID[string]).Draw(t, "nodes"),
			}
			if !w.Policy {
				people++
			}
			f.Writes = append(f.Writes, w)
		}
		id := 0
		for range rapid.IntRange(0, 60).Draw(t, "before") {
			id++
			write(id)
		}
		newest := rapid.IntRange(0, 5).Draw(t, "newest")
		gone := delivery.Forgettable(f.Writes, newest)
		if kept := len(f.Writes) - len(gone); kept > newest+len(nodes)+people*(1+len(nodes)) {
			t.Fatalf("%d are kept of %d, with %d of people", kept, len(f.Writes), people)
		}
		for range rapid.IntRange(0, 8).Draw(t, "after") {
			id++
			write(id)
		}
		short := f
		short.Writes = slices.DeleteFunc(slices.Clone(f.Writes), func(w delivery.Write) bool { return slices.Contains(gone, w.ID) })
		if d := cmp.Diff(delivery.KnownBad(f), delivery.KnownBad(short)); d != "" {
			t.Fatal(d)
		}
	})
}
