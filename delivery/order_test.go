package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/source"
	"noxmesh/document"
)

// Whatever the controller's clock said when builds were recorded, the newest is
// the one that was recorded last, and only a person who goes back has rolled back.
func TestAWrongClockOrdersNoBuilds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := delivery.Facts{Module: "site"}
		n := rapid.IntRange(2, 6).Draw(t, "builds")
		for i := range n {
			id := document.Sum([]byte(fmt.Sprint("build ", i)))
			f.Builds = append(f.Builds, artifact.Build{
				ID: id, Content: document.Sum([]byte(fmt.Sprint("content ", i))), Module: "site", Sequence: int64(i + 1),
				At: time.UnixMilli(rapid.Int64Range(0, 4102444800000).Draw(t, "at")),
			})
		}
		last := f.Builds[n-1]
		steps := rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 6).Draw(t, "declared")
		back := map[document.Digest]bool{}
		for i, s := range steps {
			f.Writes = append(f.Writes, delivery.Write{ID: int64(i + 1), Build: f.Builds[s].ID, Nodes: []string{"n1"}, By: "somebody"})
			if i > 0 && s < steps[i-1] {
				back[f.Builds[steps[i-1]].Content] = true
			}
			delete(back, f.Builds[s].Content)
		}
		f.Builds = rapid.Permutation(f.Builds).Draw(t, "order")
		if b := delivery.NewestBuild(f); b.ID != last.ID {
			t.Errorf("the newest is %s of %s, want the one recorded last", b.ID, b.At)
		}
		bad := delivery.KnownBad(f)
		for c := range back {
			if _, is := bad[c]; !is {
				t.Errorf("somebody went back from %s, and it may come again", c)
			}
		}
		if len(bad) != len(back) {
			t.Errorf("%d contents count as rolled back from, want %d", len(bad), len(back))
		}
	})
}

// The first build of a module waits a while for the first look at another that may
// own what it asks for; nothing else waits for that.
func TestTheFirstBuildAwaitsFirstLooks(t *testing.T) {
	t.Parallel()
	awaits := func(since int) change {
		return func(f *delivery.Facts) {
			f.Unlooked = &delivery.Unlooked{Module: "lib", Since: at(since), Asked: "example.com/lib (main.go:3)"}
		}
	}
	for _, c := range []struct {
		name string
		f    delivery.Facts
		now  time.Time
		wait bool
	}{
		{"added together", facts(awaits(1)), at(1).Add(time.Second), true},
		{"until a minute has gone", facts(awaits(1)), at(2), false},
		{"its source was there long before", facts(awaits(5)), at(5), false},
		{"the other was there long before", facts(awaits(0)), at(1), false},
		{"built before", facts(awaits(1), builds(made("c0/t0", 1))), at(1), false},
		{"asked for before", facts(awaits(1), requests(asked("t0", 1, delivery.Withdrawn, 1))), at(1), false},
		{"a clock that was set back", facts(awaits(9), from(func() source.Source { s := read("c1/t1"); s.MovedAt = at(9); return s }())), at(1), false},
		{"nobody is to be looked at", facts(), at(1), false},
	} {
		d := delivery.Compare(c.f, c.now)
		if waits := d.Ask == nil; waits != c.wait || waits != (len(d.Waiting) == 1) || waits != !d.Next.IsZero() {
			t.Errorf("%s: %+v", c.name, d)
		}
		if c.wait && (d.Waiting[0].For != "the first look at lib, which may own what is asked for: example.com/lib (main.go:3)" || !d.Next.Equal(at(2))) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}
