package loop

import (
	"testing"
	"time"
)

// Two nudges may become one signal; the worker that takes it must pass it on,
// or the second key waits for the first one's look to end.
func TestTakeSignalsWhenMoreIsPlanned(t *testing.T) {
	t.Parallel()
	l := New(Spec{})
	l.Nudge("a")
	l.Nudge("b")
	<-l.wake
	if e, _ := l.take(time.Now()); e == nil || e.key != "a" {
		t.Fatalf("take: %v, want the first", e)
	}
	want(t, "signals after the first", len(l.wake), 1)
	<-l.wake
	if e, _ := l.take(time.Now()); e == nil || e.key != "b" {
		t.Fatalf("take: %v, want the second", e)
	}
	want(t, "signals after the last", len(l.wake), 0)
}

func TestSoonerWinsDuringALook(t *testing.T) {
	t.Parallel()
	l := New(Spec{})
	now := time.Now()
	l.Nudge("a")
	e, _ := l.take(time.Now())
	l.ask(e, now.Add(time.Hour))
	l.ask(e, now)
	l.ask(e, now.Add(time.Minute))
	l.settle(e, Result{})
	want(t, "due", e.due, now)
}

func TestPlanIsByTimeThenArrival(t *testing.T) {
	t.Parallel()
	var p plan
	now := time.Now()
	entries := map[string]*entry{}
	for _, key := range []string{"late", "b", "a", "moved", "dropped"} {
		entries[key] = &entry{key: key, place: unplanned}
	}
	p.put(entries["late"], now.Add(3*time.Second))
	p.put(entries["b"], now.Add(time.Second))
	p.put(entries["a"], now.Add(time.Second))
	p.put(entries["moved"], now.Add(time.Hour))
	p.put(entries["dropped"], now)
	want(t, "a later time changes the plan", p.put(entries["a"], now.Add(time.Hour)), false)
	want(t, "an earlier time changes the plan", p.put(entries["moved"], now), true)
	p.drop(entries["dropped"])
	p.drop(entries["dropped"])
	got := ""
	for len(p.heap) > 0 {
		got += p.pop().key + " "
	}
	want(t, "order", got, "moved b a late ")
}
