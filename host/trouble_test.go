package host

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/host/keep"
	"noxmesh/trouble"
)

// What the host counts of itself is what the mesh counts of it, also where one
// failure and another come by turns, and where a restart lies between.
func TestTheHostCountsAsTheMeshDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var state keep.State
		var mesh trouble.Trouble
		for i, failed := range rapid.SliceOf(rapid.SampledFrom([]string{"", "site/a", "site/a", "site/b", "site/b", "site/c", "site/d", "site/e"})).Draw(t, "passes") {
			now := time.UnixMilli(int64(i+1) * 1000)
			if failed == "" {
				state, mesh = troubled(state, nil, now), trouble.Trouble{}
				if state.Trouble != nil || state.Others != nil {
					t.Fatalf("after a clean pass: %+v", state)
				}
				continue
			}
			state = troubled(state, []string{failed}, now)
			mesh = mesh.Again("node/n", trouble.Fingerprint([]string{failed}), "words", now)
			if state.Trouble.Count != mesh.Count || state.Trouble.Since != mesh.Since.UnixMilli() || state.Trouble.Fingerprint != mesh.Fingerprint || len(state.Others) != len(mesh.Others) {
				t.Fatalf("after %d passes the host counts %+v, and the mesh %+v", i+1, *state.Trouble, mesh)
			}
		}
	})
}
