package loop

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/internal/fault"
)

// A key that was not looked at comes again when its look says, keeps its trouble
// and its count, and a nudge makes it no sooner.
func TestUnseenKeepsTroubleAndTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.fails["a"] = fault.New(fault.Unavailable, "no answer")
		l := New(w.spec())
		stop := start(t, l)
		defer stop()
		w.set(func() { delete(w.fails, "a"); w.result = Result{After: 10 * time.Minute, Unseen: true} })
		pass(MinBackoff)
		want(t, "looks", w.count("a"), 2)
		for range 9 {
			l.Nudge("a")
			pass(time.Minute)
		}
		want(t, "looks before its time", w.count("a"), 2)
		want(t, "ends of its trouble", len(w.cleared), 0)
		w.set(func() { w.fails["a"] = fault.New(fault.Unavailable, "no answer") })
		pass(time.Minute)
		want(t, "looks at its time", w.count("a"), 3)
		want(t, "failures in a row", w.last().Count, 2)
		w.set(func() { delete(w.fails, "a"); w.result = Result{} })
		l.Forgive("a")
		synctest.Wait()
		want(t, "ends of its trouble, once it was seen", len(w.cleared), 1)
	})
}

// Each key's look lies at its place in the full comparison, and from one to the
// next is exactly the time between two.
func TestPlaceSpreadsLooksEvenly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 60 {
			w.keys = append(w.keys, fmt.Sprint(i))
		}
		spec := w.spec()
		spec.Every, spec.Jitter = time.Minute, time.Minute
		spec.Place = func(key string) float64 {
			var i int
			_, _ = fmt.Sscan(key, &i)
			return float64(i) / 60
		}
		stop := start(t, New(spec))
		defer stop()
		pass(2*time.Minute - time.Millisecond)
		want(t, "looks at the start and in the first minute that is spread", w.all(), 120)
		w.set(func() { w.looks, w.at = nil, nil })
		for range 120 {
			before := w.all()
			pass(time.Second)
			want(t, "looks in a second", w.all()-before, 1)
		}
	})
}
