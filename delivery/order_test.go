package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
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
