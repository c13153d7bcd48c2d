package plan_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/plan"
)

func TestManyAreMoreThanHalfAndTen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    plan.Removal
		many bool
	}{
		{plan.Removal{}, false},
		{plan.Removal{Gone: 9, Of: 9}, false},
		{plan.Removal{Gone: 10, Of: 10}, true},
		{plan.Removal{Gone: 10, Of: 19}, true},
		{plan.Removal{Gone: 10, Of: 20}, false},
		{plan.Removal{Gone: 5000, Of: 10001}, false},
		{plan.Removal{Gone: 5001, Of: 10001}, true},
	} {
		if c.r.Many() != c.many {
			t.Errorf("%+v is many: %v", c.r, !c.many)
		}
	}
}

// What goes is what is held and not declared, whatever else is declared; more that is
// declared never makes it more, and of nothing that is held nothing goes.
func TestRemovalAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 0, 60, func(n int) int { return n })
		name := func(n int) string { return fmt.Sprintf("m/%d", n) }
		var held []string
		for _, n := range ids.Draw(t, "held") {
			held = append(held, name(n))
		}
		var body declaration.Body
		declared := map[string]bool{}
		for _, n := range ids.Draw(t, "declared") {
			declared[name(n)] = true
			body.Resources = append(body.Resources, declaration.Resource{ID: name(n)})
		}
		want := 0
		for _, id := range held {
			if !declared[id] {
				want++
			}
		}
		r := plan.RemovalOf(held, body)
		if r.Gone != want || r.Of != len(held) {
			t.Fatalf("%+v, want %d of %d", r, want, len(held))
		}
		if len(held) > 0 {
			body.Resources = append(body.Resources, declaration.Resource{ID: held[0]})
			if more := plan.RemovalOf(held, body); more.Gone > r.Gone || more.Many() && !r.Many() {
				t.Fatalf("%+v, and with one more that stays %+v", r, more)
			}
		}
		if r.Many() && (r.Gone < 10 || r.Gone <= r.Of-r.Gone) {
			t.Fatalf("%+v is many", r)
		}
	})
}
