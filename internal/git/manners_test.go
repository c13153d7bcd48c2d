package git

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/internal/manners"
)

// TestOneSlowForgeHoldsUpNoOther looks at twenty repositories of a forge that
// never answers and at twenty of one that does, with as many hands as there are
// for four forges.
func TestOneSlowForgeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	r := f.repo("site", map[string]string{"a": "a"})
	head := r.git("rev-parse", "HEAD")
	release := make(chan struct{})
	var asked atomic.Int64
	slowOne := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1); <-release }))
	defer slowOne.Close()
	defer close(release)
	g := noGit(t, nil)
	g.manners = manners.New(perHost)
	ctx, stop := context.WithCancel(t.Context())
	work := make(chan Place)
	var hands sync.WaitGroup
	var done atomic.Int64
	for range 4 * perHost {
		hands.Go(func() {
			for p := range work {
				found, err := g.Look(ctx, p, Known{Commit: head})
				for ctx.Err() == nil && p.URL == r.url && err != nil { // sent away: it is for the loop to come again
					found, err = g.Look(ctx, p, Known{Commit: head})
				}
				if found.Unchanged {
					done.Add(1)
				}
			}
		})
	}
	for i := range 20 {
		work <- Place{URL: fmt.Sprintf("%s/%d.git", slowOne.URL, i)}
	}
	for range 20 {
		work <- Place{URL: r.url}
	}
	await(t, func() bool { return done.Load() == 20 })
	if n := asked.Load(); n > perHost {
		t.Errorf("the slow forge has %d questions before it", n)
	}
	stop()
	close(work)
	hands.Wait()
}

// TestThoseWhoAskTheSameShareAnAnswer, and nobody gets one that is older than the
// wish to know.
func TestThoseWhoAskTheSameShareAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := together{under: map[string]*answer{}}
		var asks, standing atomic.Int64
		ask := func() (Head, error) {
			asks.Add(1)
			at := standing.Load() // what the forge has when the question comes
			time.Sleep(time.Second)
			return Head{Commit: fmt.Sprint(at)}, nil
		}
		var group sync.WaitGroup
		one := func(ctx context.Context, least int64) {
			group.Go(func() {
				head, err := all.do(ctx, "r", ask)
				var got int64
				_, _ = fmt.Sscan(head.Commit, &got)
				if ctx.Err() == nil && (err != nil || got < least) {
					t.Errorf("asked when it stood at %d, told of %s %v", least, head.Commit, err)
				}
			})
		}
		one(t.Context(), 0)
		synctest.Wait()
		standing.Store(1)
		for range 10 {
			one(t.Context(), 1)
		}
		given, giveUp := context.WithCancel(t.Context())
		one(given, 1)
		synctest.Wait()
		giveUp()
		group.Wait()
		if n := asks.Load(); n != 2 {
			t.Errorf("asked %d times", n)
		}
	})
}
