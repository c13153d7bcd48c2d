package delivery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery"
	"noxmesh/delivery/build"
)

// What is usual is something that has been: at least half took as long or longer,
// and at least half as long or shorter, whatever the order. One build that took
// for ever moves nothing beyond its neighbours.
func TestUsualProperties(t *testing.T) {
	t.Parallel()
	if u := delivery.Usual(nil); u != nil {
		t.Errorf("of nothing it is %v", u)
	}
	rapid.Check(t, func(t *rapid.T) {
		past := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) delivery.Past {
			p := delivery.Past{Took: time.Duration(rapid.IntRange(0, 1_000_000).Draw(t, "took")) * time.Millisecond}
			for _, s := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"clone", "build", "test"}), rapid.ID[string]).Draw(t, "steps") {
				p.Steps = append(p.Steps, build.Took{Step: s, Took: int64(rapid.IntRange(0, 1000).Draw(t, "step"))})
			}
			return p
		}), 1, 12).Draw(t, "past")
		u := delivery.Usual(past)
		if u.Builds != len(past) {
			t.Fatalf("of %d builds it is of %d", len(past), u.Builds)
		}
		whole, steps := []time.Duration{}, map[string][]time.Duration{}
		for _, p := range past {
			whole = append(whole, p.Took)
			for _, s := range p.Steps {
				steps[s.Step] = append(steps[s.Step], time.Duration(s.Took)*time.Millisecond)
			}
		}
		middle(t, "whole", u.Took, whole)
		for name, took := range steps {
			is, said := u.Steps[name]
			if said != (2*len(took) > len(past)) {
				t.Fatalf("step %s, which %d of %d had, is said %v", name, len(took), len(past), said)
			}
			if said {
				middle(t, name, is, took)
			}
		}
		if diff := cmp.Diff(u, delivery.Usual(rapid.Permutation(past).Draw(t, "shuffled"))); diff != "" {
			t.Fatal(diff)
		}
		if len(past) >= 3 {
			past[0].Took = 1000 * time.Hour
			if again := delivery.Usual(past); again.Took > 1_000_000*time.Millisecond {
				t.Fatalf("one build that took for ever makes it %s", again.Took)
			}
		}
	})
}

func middle(t *rapid.T, what string, is time.Duration, of []time.Duration) {
	shorter, longer, has := 0, 0, false
	for _, d := range of {
		if d <= is {
			shorter++
		}
		if d >= is {
			longer++
		}
		has = has || d == is
	}
	if !has || 2*shorter < len(of) || 2*longer < len(of) {
		t.Fatalf("%s: %s is not in the middle of %v", what, is, of)
	}
}
