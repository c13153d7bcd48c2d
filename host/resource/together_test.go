package resource

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/declaration"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// What goes on side by side takes the time of one for as many as there may be at once:
// never more, what has failed before is left alone, and nothing takes longer than it may.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const once, limit = 3, time.Minute
		all := make([]*holding, 3*once+1)
		for i := range all {
			all[i] = &holding{}
		}
		all[4].failed(fault.New(fault.Conflict, "before"))
		var mu sync.Mutex
		inside, most := 0, 0
		enter := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			inside += n
			most = max(most, inside)
		}
		began := time.Now()
		together(t.Context(), limit, once, all, func(ctx context.Context, _ *holding) error {
			enter(1)
			defer enter(-1)
			<-ctx.Done()
			return ctx.Err()
		})
		for i, h := range all {
			if h.err == nil || (i == 4) != (h.err.Error() == "before") {
				t.Errorf("%d: %v", i, h.err)
			}
		}
		if took := time.Since(began); most != once || took != 3*limit {
			t.Errorf("%d at once, for %s", most, took)
		}
	})
}

// However many services were just started, they are watched in the time of the one that
// must stay the longest, and each is looked at all along.
func TestServicesSettleTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := make([]*service, 20)
		for i := range all {
			all[i] = &service{
				holding: &holding{want: declaration.Traits{State: declaration.Running}}, unit: system.Unit{Kind: "simple", Invocation: "new"},
				patience: settleLeast,
			}
		}
		all[7].patience = 2 * settleLeast
		looks := make([]int, len(all))
		began := time.Now()
		watch(all, t.Context().Done(), func(s *service) { looks[slices.Index(all, s)]++ })
		if took := time.Since(began); took != 2*settleLeast {
			t.Errorf("%d services are watched for %s", len(all), took)
		}
		for i, n := range looks {
			if want := int(all[i].patience/watchEvery) - 1; n != want {
				t.Errorf("%d was looked at %d times, want %d", i, n, want)
			}
		}
	})
}

// What is mounted in another one comes after it, and so does what comes to the same place.
func TestWhatIsMountedInAnotherComesAfterIt(t *testing.T) {
	t.Parallel()
	var left []*holding
	for _, real := range []string{"/a/b/c", "/d", "/a/b", "/ab", "/d", "/a"} {
		left = append(left, &holding{found: stand{memory: &mount{real: real}}})
	}
	var rounds [][]string
	for len(left) > 0 {
		var some []*holding
		some, left = outermost(left)
		round := []string{}
		for _, h := range some {
			round = append(round, mountIn(h).real)
		}
		rounds = append(rounds, round)
	}
	want := [][]string{{"/d", "/ab", "/a"}, {"/a/b", "/d"}, {"/a/b/c"}}
	if !slices.EqualFunc(rounds, want, slices.Equal) {
		t.Errorf("%v, want %v", rounds, want)
	}
}
