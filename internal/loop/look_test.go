package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"noxmesh/internal/fault"
	"noxmesh/trouble"
)

func TestFailureBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.fails["a"] = fault.New(fault.Unavailable, "no answer")
		stop := start(t, New(w.spec()))
		defer stop()
		pass(time.Hour)
		wait := MinBackoff
		for i := 1; i < len(w.at); i++ {
			got := w.at[i] - w.at[i-1]
			if got < wait/2 || got > wait {
				t.Errorf("try %d came after %v, want between %v and %v", i+1, got, wait/2, wait)
			}
			wait = min(2*wait, MaxBackoff)
		}
		if len(w.at) < 15 {
			t.Errorf("%d tries in an hour, want trying to go on", len(w.at))
		}
	})
}

func TestNudgeDoesNotShortenBackoffAndForgiveDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.fails["a"] = fault.New(fault.Unavailable, "no answer")
		spec := w.spec()
		spec.MinWait, spec.MaxWait = time.Minute, time.Hour
		l := New(spec)
		stop := start(t, l)
		defer stop()
		for range 20 {
			l.Nudge("a")
			pass(time.Second)
		}
		l.NudgeAll()
		synctest.Wait()
		want(t, "looks while backing off", w.count("a"), 1)
		l.Forgive("a")
		synctest.Wait()
		want(t, "looks after Forgive", w.count("a"), 2)
		pass(time.Minute)
		want(t, "looks after the shortest wait again", w.count("a"), 3)
	})
}

func TestForgiveDuringALookIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.fails["a"] = fault.New(fault.Unavailable, "no answer")
		l := New(w.spec())
		stop := start(t, l)
		defer stop()
		pass(time.Hour) // the wait is now the longest
		w.set(func() { w.during = func(string) { time.Sleep(time.Second) } })
		l.Forgive("a")
		synctest.Wait()
		l.Forgive("a") // this one comes during the look
		n := w.count("a")
		pass(2500 * time.Millisecond)
		want(t, "looks soon after", w.count("a"), n+1)
	})
}

func TestInvalidWaitsForAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.fails["a"] = fault.New(fault.Invalid, "unknown field")
		spec := w.spec()
		spec.Every = 10 * time.Minute
		l := New(spec)
		stop := start(t, l)
		defer stop()
		pass(9 * time.Minute)
		want(t, "looks", w.count("a"), 1)
		l.Nudge("a")
		synctest.Wait()
		want(t, "looks after a nudge", w.count("a"), 2)
		pass(time.Minute)
		want(t, "looks after a full comparison", w.count("a"), 3)
		want(t, "stuck", w.last().Stuck(), true)
	})
}

func TestThreeAlikeAreStuckAndTryingGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		spec := w.spec()
		n := 0
		spec.Step = func(context.Context, string) (Result, error) {
			n++
			return Result{}, fault.New(fault.Unavailable, "read tcp 10.0.0.1:%d: timed out after %d ms", 40000+n, n)
		}
		spec.MinWait, spec.MaxWait = time.Second, time.Second
		stop := start(t, New(spec))
		defer stop()
		since := time.Now()
		pass(time.Minute)
		for i, r := range w.records {
			want(t, fmt.Sprintf("count of record %d", i), r.Count, int64(i+1))
			want(t, fmt.Sprintf("stuck of record %d", i), r.Stuck(), i >= 2)
			want(t, "since", r.Since, since)
			want(t, "key", r.Key, "test/a")
		}
		if len(w.records) < 60 {
			t.Errorf("%d tries in a minute, want trying to go on", len(w.records))
		}
	})
}

func TestSuccessClears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.fails["a"] = errors.New("no")
		l := New(w.spec())
		stop := start(t, l)
		defer stop()
		pass(10 * time.Second)
		w.set(func() { w.fails["a"] = nil })
		pass(time.Minute)
		want(t, "cleared", fmt.Sprint(w.cleared), "[a]")
		w.set(func() { w.fails["a"] = errors.New("no") })
		l.Nudge("a")
		synctest.Wait()
		want(t, "count after a success between", w.last().Count, 1)
		n := w.count("a")
		pass(time.Second)
		want(t, "looks after the shortest wait", w.count("a"), n+1)
	})
}

func TestClearingThatCannotBeRecordedIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.fails["a"] = errors.New("no")
		spec := w.spec()
		cleared, refuse := spec.Cleared, 2
		spec.Cleared = func(ctx context.Context, key string) error {
			if refuse > 0 {
				refuse--
				return errors.New("record is away")
			}
			return cleared(ctx, key)
		}
		stop := start(t, New(spec))
		defer stop()
		w.set(func() { w.fails["a"] = nil })
		pass(time.Minute)
		want(t, "cleared", fmt.Sprint(w.cleared), "[a]")
	})
}

func TestPanicIsTheKeysTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a", "b")
		w.during = func(key string) {
			if key == "a" {
				panic("index out of range")
			}
		}
		l := New(w.spec())
		stop := start(t, l)
		defer stop()
		want(t, "looks at the other", w.count("b"), 1)
		if got := w.last(); !strings.HasPrefix(got.Fingerprint, "broken: ") || !strings.Contains(got.Says, "index out of range") {
			t.Errorf("trouble: %+v, want it broken and with the panic's words", got)
		}
		w.set(func() { w.during = nil })
		pass(time.Minute)
		want(t, "cleared", fmt.Sprint(w.cleared), "[a]")
	})
}

func TestTroubleGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		err := fault.New(fault.Unavailable, "no answer")
		w.fails["a"] = err
		spec := w.spec()
		since := time.Now().Add(-time.Hour)
		refuse := 1
		spec.Recall = func(context.Context) ([]trouble.Trouble, error) {
			if refuse > 0 {
				refuse--
				return nil, errors.New("record is away")
			}
			return []trouble.Trouble{
				{Key: "test/a", Fingerprint: Fingerprint(err), Since: since, Count: 7},
				{Key: "test/gone", Fingerprint: "x", Since: since, Count: 1},
				{Key: "other/b", Fingerprint: "x", Since: since, Count: 1},
			}, nil
		}
		l := New(spec)
		stop := start(t, l)
		defer stop()
		pass(time.Second)
		want(t, "count", w.last().Count, 8)
		want(t, "since", w.last().Since, since)
		want(t, "cleared", fmt.Sprint(w.cleared), "[gone ]") // the key that is gone, and the listing itself
	})
}

// What is nudged while the troubles of before are still being read waits for them.
func TestNothingIsLookedAtBeforeTheTroublesOfBeforeAreKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		err := fault.New(fault.Unavailable, "no answer")
		w.fails["a"] = err
		spec := w.spec()
		spec.Workers = 2
		since := time.Now().Add(-time.Hour)
		spec.Recall = func(context.Context) ([]trouble.Trouble, error) {
			time.Sleep(time.Second) // of the bubble's
			return []trouble.Trouble{{Key: "test/a", Fingerprint: Fingerprint(err), Since: since, Count: 7}}, nil
		}
		l := New(spec)
		l.Nudge("a")
		stop := start(t, l)
		defer stop()
		pass(time.Second + time.Millisecond)
		want(t, "count", w.last().Count, 8)
		want(t, "since", w.last().Since, since)
	})
}

func TestBackoffIsWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shortest := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "shortest"))
		longest := shortest + time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "more"))
		failures := rapid.IntRange(1, 1<<30).Draw(t, "failures")
		random := rapid.Float64Range(0, 1).Draw(t, "random")
		full := shortest
		for range min(failures-1, 60) {
			full = min(2*full, longest)
		}
		got := backoff(failures, shortest, longest, random)
		if got < full/2 || got > full {
			t.Fatalf("backoff is %v, want within %v and %v", got, full/2, full)
		}
	})
}

// Whatever is nudged, forgiven and changed, and whenever: after the world has
// held still, every key has been looked at since its last change.
func TestEveryChangeIsSeen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		keys := []string{"a", "b", "c"}
		workers := rapid.IntRange(1, 3).Draw(rt, "workers")
		slow := rapid.SliceOfN(rapid.IntRange(0, 3), 3, 3).Draw(rt, "slow")
		acts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
			return act{
				what: rapid.IntRange(0, 3).Draw(t, "what"),
				key:  rapid.SampledFrom(keys).Draw(t, "key"),
				wait: time.Duration(rapid.IntRange(0, 2000).Draw(t, "wait")) * time.Millisecond,
			}
		}), 0, 30).Draw(rt, "acts")
		synctest.Test(t, func(t *testing.T) { seen(t, keys, workers, slow, acts) })
	})
}

type act struct {
	what int
	key  string
	wait time.Duration
}

func seen(t *testing.T, keys []string, workers int, slow []int, acts []act) {
	t.Helper()
	w := newWorld(keys...)
	is, saw, looking := map[string]int{}, map[string]int{}, map[string]bool{}
	spec := w.spec()
	spec.Workers, spec.Every = workers, time.Hour
	spec.Step = func(_ context.Context, key string) (Result, error) {
		w.mu.Lock()
		if looking[key] {
			t.Errorf("two looks at %q at once", key)
		}
		looking[key] = true
		now := is[key]
		w.mu.Unlock()
		time.Sleep(time.Duration(slow[int(key[0]-'a')]) * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		looking[key] = false
		if w.fails[key] != nil {
			return Result{}, w.fails[key]
		}
		saw[key] = now
		return Result{}, nil
	}
	l := New(spec)
	stop := start(t, l)
	defer stop()
	for _, a := range acts {
		w.set(func() { is[a.key]++ })
		switch a.what {
		case 0:
			w.set(func() { w.fails[a.key] = fault.New(fault.Unavailable, "no answer") })
			l.Nudge(a.key)
		case 1:
			w.set(func() { w.fails[a.key] = nil })
			l.Nudge(a.key)
		case 2:
			l.Forgive(a.key)
		case 3:
			l.NudgeAll()
		}
		pass(a.wait)
	}
	w.set(func() { clear(w.fails) })
	pass(2 * MaxBackoff) // no full comparison comes before this
	for _, key := range keys {
		if saw[key] != is[key] {
			t.Errorf("%q: saw change %d, want %d", key, saw[key], is[key])
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b  error
		alike bool
	}{
		"ports":       {errors.New("dial tcp 10.0.0.1:4222: refused"), errors.New("dial tcp 10.0.0.12:51001: refused"), true},
		"digests":     {errors.New("blob sha256:deadbeef00 is gone"), errors.New("blob sha256:0123456789 is gone"), true},
		"words":       {errors.New("no answer"), errors.New("refused"), false},
		"kinds":       {fault.New(fault.Denied, "no"), fault.New(fault.Unavailable, "no"), false},
		"hex letters": {errors.New("facade refused"), errors.New("decade refused"), false},
		"signs":       {errors.New("a: b"), errors.New("a, b"), false},
		"durations":   {errors.New("gave up after 1.5s"), errors.New("gave up after 30.25s"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Fingerprint(c.a) == Fingerprint(c.b); got != c.alike {
				t.Errorf("%q and %q: alike is %v, want %v", Fingerprint(c.a), Fingerprint(c.b), got, c.alike)
			}
		})
	}
}
