package git

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, " 5 ": 5 * time.Second, "-1": 0, "soon": 0, "0": 0, "99999999": longestHold, "99999999999999999999": 0,
		"Fri, 01 May 2026 12:01:00 GMT": time.Minute, "Fri, 01 May 2026 11:00:00 GMT": 0, "Sat, 01 May 2027 12:00:00 GMT": longestHold,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestManners: whatever order they come in, no forge has more looks under way
// than it may, none before its time, and what happens at one changes nothing at
// another.
func TestManners(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := &Git{manners: manners{most: perHost, hosts: map[string]*forgeHost{}}}
		m := &g.manners
		now := time.Unix(1e9, 0)
		under, until := map[string][]time.Time{}, map[string]time.Time{}
		took, since := map[string]time.Duration{}, map[string]time.Time{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			host := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "host")
			if h, is := g.Held("https://"+host+"/x/y.git", now); is != now.Before(until[host]) || is && h != (Held{host, since[host], until[host]}) {
				t.Fatalf("%s is held: %+v %v, want from %s until %s, at %s", host, h, is, since[host], until[host], now)
			}
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				alone := time.Duration(rapid.IntRange(0, 60).Draw(t, "hold")) * time.Second
				m.hold(host, alone, now)
				if at := now.Add(alone); at.After(until[host]) {
					if !now.Before(until[host]) {
						since[host] = now
					}
					until[host] = at
				}
			case 1:
				if all := under[host]; len(all) > 0 {
					m.leave(host, all[0], now)
					took[host], under[host] = now.Sub(all[0]), all[1:]
				}
			default:
				most := perHost
				if took[host] > slow {
					most = 1
				}
				may := !now.Before(until[host]) && len(under[host]) < most
				err := m.enter(host, "r", now)
				if may != (err == nil) {
					t.Fatalf("%d under way, until %s, at %s: %v", len(under[host]), until[host], now, err)
				}
				if err == nil {
					under[host] = append(under[host], now)
				} else if later, is := errors.AsType[Later](err); !is || later.After <= 0 || now.Add(later.After).Before(until[host]) || later.After > max(longest, until[host].Sub(now)+holdSpread) {
					t.Fatalf("until %s, at %s: %v", until[host], now, err)
				}
			}
		}
	})
}

// TestThoseWhoAreSentAwayComeBackOneByOne and not all at once.
func TestThoseWhoAreSentAwayComeBackOneByOne(t *testing.T) {
	t.Parallel()
	m := &manners{most: perHost, hosts: map[string]*forgeHost{}}
	now := time.Unix(1e9, 0)
	for range perHost {
		if err := m.enter("a", "r", now); err != nil {
			t.Fatal(err)
		}
	}
	m.leave("a", now, now.Add(time.Second))
	if err := m.enter("a", "r", now); err != nil {
		t.Fatal(err)
	}
	last := time.Duration(0)
	for i := range 100 {
		later, is := errors.AsType[Later](m.enter("a", "r", now))
		if !is || later.After < last || i > 0 && later.After-last != time.Second/perHost {
			t.Fatalf("%d: after %s, the one before after %s", i, later.After, last)
		}
		last = later.After
	}
}

// TestAForgeThatIsBackIsSoonAskedByEverybody, however many it has sent away while
// it did not answer.
func TestAForgeThatIsBackIsSoonAskedByEverybody(t *testing.T) {
	t.Parallel()
	m := &manners{most: perHost, hosts: map[string]*forgeHost{}}
	now := time.Unix(1e9, 0)
	if err := m.enter("a", "r", now); err != nil {
		t.Fatal(err)
	}
	m.leave("a", now, now.Add(30*time.Second))
	if now = now.Add(30 * time.Second); m.enter("a", "r", now) != nil {
		t.Fatal("nobody is there, and it was sent away")
	}
	times := map[time.Duration]int{}
	for range 10_000 {
		later, is := errors.AsType[Later](m.enter("a", "r", now))
		if times[later.After]++; !is || later.After > longest {
			t.Fatalf("%+v %v", later, is)
		}
	}
	if len(times) < 4 {
		t.Errorf("they come back all at once: %v", times)
	}
}

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
	g.manners.most = perHost
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
