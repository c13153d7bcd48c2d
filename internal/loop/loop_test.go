package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/trouble"
)

// world is what a loop under test looks at, and what it has done so far.
type world struct {
	mu      sync.Mutex
	keys    []string
	listErr error
	result  Result
	fails   map[string]error
	during  func(key string) // runs inside a look
	began   time.Time
	looks   []string        // in order
	at      []time.Duration // of each look, since began
	listed  int
	records []trouble.Trouble
	cleared []string
}

func newWorld(keys ...string) *world {
	return &world{keys: keys, fails: map[string]error{}, began: time.Now()}
}

func (w *world) spec() Spec {
	return Spec{
		Name: "test",
		Keys: func(context.Context) ([]string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.listed++
			return slices.Clone(w.keys), w.listErr
		},
		Step: func(_ context.Context, key string) (Result, error) {
			w.mu.Lock()
			w.looks = append(w.looks, key)
			w.at = append(w.at, time.Since(w.began))
			during := w.during
			w.mu.Unlock()
			if during != nil {
				during(key)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.result, w.fails[key]
		},
		Trouble: func(_ context.Context, _ string, t trouble.Trouble) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, t)
			return nil
		},
		Cleared: func(_ context.Context, key string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.cleared = append(w.cleared, key)
			return nil
		},
	}
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// count is how often the key was looked at.
func (w *world) count(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, k := range w.looks {
		if k == key {
			n++
		}
	}
	return n
}

// all is how often anything was looked at.
func (w *world) all() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.looks)
}

func (w *world) last() trouble.Trouble {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.records) == 0 {
		return trouble.Trouble{}
	}
	return w.records[len(w.records)-1]
}

// start runs the loop in the bubble; the function returned ends it and waits.
func start(t *testing.T, l *Loop) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestStartLooksAtEverythingOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a", "b", "c")
		stop := start(t, New(w.spec()))
		defer stop()
		pass(time.Hour)
		want(t, "looks", fmt.Sprint(w.looks), "[a b c]")
		want(t, "listings", w.listed, 1)
	})
}

func TestNudgesBeforeALookAreOneLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a", "b")
		l := New(w.spec())
		stop := start(t, l)
		defer stop()
		hold := make(chan struct{})
		w.set(func() {
			w.during = func(key string) {
				if key == "a" {
					<-hold
				}
			}
		})
		l.Nudge("a") // the one worker is busy with a…
		synctest.Wait()
		for range 1000 {
			l.Nudge("b") // …while these come
		}
		close(hold)
		synctest.Wait()
		want(t, "looks at b", w.count("b"), 2)
	})
}

func TestNudgeDuringALookMeansOneMoreLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		spec := w.spec()
		spec.Workers = 4 // a second worker must not look at the same key beside the first
		l := New(spec)
		stop := start(t, l)
		defer stop()
		looking := 0
		w.set(func() {
			w.during = func(string) {
				looking++
				if looking > 1 {
					t.Error("two looks at one key at once")
				}
				if w.count("a") == 2 {
					for range 100 {
						l.Nudge("a")
					}
					time.Sleep(time.Second)
				}
				looking--
			}
		})
		l.Nudge("a")
		pass(time.Minute)
		want(t, "looks", w.count("a"), 3)
	})
}

func TestFullComparisonFindsWhatNoNudgeTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		spec := w.spec()
		spec.Every, spec.Jitter = time.Minute, 10*time.Second
		stop := start(t, New(spec))
		defer stop()
		w.set(func() { w.keys = []string{"a", "new"} })
		pass(time.Minute + 10*time.Second)
		want(t, "looks at a", w.count("a"), 2)
		want(t, "looks at new", w.count("new"), 1)
		for i, at := range w.at[1:] {
			if at < time.Minute || at > time.Minute+10*time.Second {
				t.Errorf("look %d came after %v, want within the jitter after a minute", i+1, at)
			}
		}
	})
}

func TestLooksOfAComparisonAreSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 100 {
			w.keys = append(w.keys, fmt.Sprint(i))
		}
		spec := w.spec()
		spec.Every, spec.Jitter = time.Minute, 30*time.Second
		l := New(spec)
		stop := start(t, l)
		defer stop()
		want(t, "looks at once, at the start", w.all(), 100)
		pass(75 * time.Second)
		if n := w.all() - 100; n < 20 || n > 80 {
			t.Errorf("after half the jitter %d of 100 were looked at, want about half", n)
		}
		pass(20 * time.Second)
		want(t, "looks after the jitter", w.all(), 200)
		l.NudgeAll()
		synctest.Wait()
		want(t, "looks after NudgeAll, at once", w.all(), 300)
	})
}

func TestAfterLooksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.result = Result{After: 7 * time.Second}
		stop := start(t, New(w.spec()))
		defer stop()
		pass(21 * time.Second)
		want(t, "looks", w.count("a"), 4)
		w.set(func() { w.result = Result{} })
		pass(time.Hour)
		want(t, "looks after the last After", w.count("a"), 5)
	})
}

func TestWorkersLookSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a", "b", "c", "d", "e", "f")
		w.during = func(string) { time.Sleep(time.Second) }
		spec := w.spec()
		spec.Workers = 3
		stop := start(t, New(spec))
		defer stop()
		pass(1500 * time.Millisecond)
		want(t, "looks begun", w.all(), 6)
		pass(time.Second)
		want(t, "the last began at", w.at[5], time.Second)
	})
}

func TestTimersAreKeptWhileTheWorkerThatHeldThemIsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("soon", "long")
		spec := w.spec()
		spec.Workers = 2
		l := New(spec)
		w.result = Result{After: 10 * time.Second}
		stop := start(t, l)
		defer stop()
		w.set(func() {
			w.during = func(key string) {
				if key == "long" {
					time.Sleep(time.Hour)
				}
			}
		})
		pass(5 * time.Second)
		l.Nudge("long") // wakes one of the two, which is then gone for an hour
		pass(6 * time.Second)
		want(t, "looks at soon", w.count("soon"), 2)
		pass(10 * time.Minute)
		want(t, "looks at soon", w.count("soon"), 2+60)
	})
}

func TestGoneKeysAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a", "b")
		w.fails["b"] = fault.New(fault.Unavailable, "no answer")
		l := New(w.spec())
		stop := start(t, l)
		defer stop()
		w.set(func() { w.keys = []string{"a"} })
		l.NudgeAll()
		synctest.Wait()
		looks := w.count("b")
		pass(time.Hour)
		want(t, "looks at b after it was gone", w.count("b")-looks, 0)
		want(t, "cleared", fmt.Sprint(w.cleared), "[b]")
		want(t, "entries", len(l.entries), 1)
	})
}

func TestNudgedDuringAListingIsNotForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		spec := w.spec()
		spec.Workers = 2
		hold := make(chan struct{})
		keys := spec.Keys
		spec.Keys = func(ctx context.Context) ([]string, error) {
			list, err := keys(ctx)
			<-hold
			return list, err
		}
		w.fails["new"] = fault.New(fault.Unavailable, "no answer")
		l := New(spec)
		stop := start(t, l)
		defer stop()
		l.Nudge("new") // made after the listing was read
		synctest.Wait()
		close(hold)
		pass(time.Minute)
		if n := w.count("new"); n < 3 {
			t.Errorf("looked %d times at what was made during a listing, want its tries to go on", n)
		}
	})
}

func TestEndOfContextEndsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		spec := w.spec()
		spec.Step = func(ctx context.Context, _ string) (Result, error) {
			<-ctx.Done()
			return Result{}, ctx.Err()
		}
		spec.Workers = 3
		stop := start(t, New(spec))
		stop()
		want(t, "troubles of a look cut short", len(w.records), 0)
	})
}

func TestListingFailsAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.listErr = errors.New("record is away")
		spec := w.spec()
		spec.Jitter = time.Hour
		stop := start(t, New(spec))
		defer stop()
		pass(10 * time.Second)
		want(t, "key of its trouble", w.last().Key, "test")
		want(t, "stuck", w.last().Stuck(), true)
		w.set(func() { w.listErr = nil })
		pass(time.Minute)
		want(t, "looks, unspread after all", w.count("a"), 1)
		want(t, "cleared", fmt.Sprintf("%q", w.cleared), `[""]`)
	})
}
