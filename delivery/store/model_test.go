package deliverystore_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
)

// queue is what the requests should be: a slow and obvious account of them.
type queue struct{ all []*asked }

type asked struct {
	id, module, builder string
	state               deliverystore.State
	made, served        int // the step in which it was asked for, and last given
	until, ends         time.Time
	heard               bool
	lost                int
	given               map[string]bool
}

func (q *queue) served(module string) (last int) {
	for _, a := range q.all {
		if a.module == module {
			last = max(last, a.served)
		}
	}
	return last
}

func (a *asked) lose() {
	a.lost++
	a.state = deliverystore.Open
	if a.lost == 3 {
		a.state = deliverystore.Withdrawn
	}
}

// next is what the builder should be given.
func (q *queue) next(s stepAt) *asked {
	builder, now := s.builder, s.now
	for _, a := range q.all {
		if a.state != deliverystore.Leased || a.builder != builder {
			continue
		}
		if !a.heard && now.Before(a.until) {
			return a
		}
		a.lose()
	}
	var open []*asked
	for _, a := range q.all {
		if a.state == deliverystore.Open {
			open = append(open, a)
		}
	}
	if len(open) == 0 {
		return nil
	}
	best := slices.MinFunc(open, func(a, b *asked) int {
		return cmp.Or(cmp.Compare(q.served(a.module), q.served(b.module)), cmp.Compare(a.made, b.made))
	})
	best.state, best.builder, best.served, best.heard = deliverystore.Leased, builder, s.n, false
	best.ends, best.until = now.Add(600*time.Second), now.Add(lease)
	best.given[builder] = true
	return best
}

// extend is whether the builder may go on.
func (a *asked) extend(builder string, now time.Time) bool {
	mine := a.given[builder] && a.builder == builder && (a.state == deliverystore.Leased || a.state == deliverystore.Open)
	if !mine || !now.Before(a.ends) {
		return false
	}
	a.state, a.heard, a.until = deliverystore.Leased, true, now.Add(lease)
	if a.until.After(a.ends) {
		a.until = a.ends
	}
	return true
}

// TestTheQueueAgainstAModel asks, leases, extends, answers and lapses in any order.
func TestTheQueueAgainstAModel(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, table := range []string{"answer", "verdict", "build", "request"} {
				dbtest.Write(t, d, func(tx *db.Tx) error { _, err := tx.Exec(`DELETE FROM ` + table); return err })
			}
			q, now := &queue{}, t0()
			for n := range rapid.IntRange(1, 15).Draw(rt, "steps") {
				n++
				now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 30, 70, 650, 1, 30, 70, -7200}).Draw(rt, "seconds")) * time.Second)
				builder := rapid.SampledFrom([]string{"b1", "b2", "b3"}).Draw(rt, "builder")
				step(t, rt, d, q, stepAt{n, now, builder})
				q.compare(t, rt, d)
			}
		})
	})
}

type stepAt struct {
	n       int
	now     time.Time
	builder string
}

func step(t *testing.T, rt *rapid.T, d *db.DB, q *queue, s stepAt) {
	t.Helper()
	switch rapid.SampledFrom([]string{"ask", "ask", "lease", "lease", "extend", "lapse", "answer", "back"}).Draw(rt, "step") {
	case "ask":
		r := request(t, rapid.SampledFrom([]string{"web", "dns", "db"}).Draw(rt, "module"), fmt.Sprintf("c%d", s.n), 1, s.now)
		add(t, d, r)
		q.all = append(q.all, &asked{id: r.ID, module: r.Module, state: deliverystore.Open, made: s.n, given: map[string]bool{}})
	case "lease":
		got, want := take(t, d, s.builder, s.now), q.next(s)
		if (got == nil) != (want == nil) || (got != nil && got.ID != want.id) {
			rt.Fatalf("%s was given %v, want %v", s.builder, got, want)
		}
	case "extend":
		if len(q.all) == 0 {
			return
		}
		a := rapid.SampledFrom(q.all).Draw(rt, "request")
		if stop, on := extend(t, d, a.id, s.builder, s.now), a.extend(s.builder, s.now); (stop == "") != on {
			rt.Fatalf("%s goes on with %s: stop %q, want on %v", s.builder, a.id, stop, on)
		}
	case "lapse":
		want := 0
		for _, a := range q.all {
			if a.state == deliverystore.Leased && !s.now.Before(a.until) {
				a.lose()
				want++
			}
		}
		if got := lapse(t, d, s.now); len(got) != want {
			rt.Fatalf("%d lapsed, want %d", len(got), want)
		}
	case "back":
		want := 0
		for _, a := range q.all {
			if a.state == deliverystore.Leased && a.builder == s.builder && !a.heard {
				a.state = deliverystore.Open
				want++
			}
		}
		if got := giveBack(t, d, s.builder, s.now); len(got) != want {
			rt.Fatalf("%s gives back %d, want %d", s.builder, len(got), want)
		}
	case "answer":
		if len(q.all) == 0 {
			return
		}
		a := rapid.SampledFrom(q.all).Draw(rt, "request")
		_, err := trySave(t, d, built(t, look(t, d, a.id), s.builder, "x"), s.now)
		if (err == nil) != a.given[s.builder] {
			rt.Fatalf("the answer of %s to %s: %v, given %v", s.builder, a.id, err, a.given)
		}
		if err == nil && a.state != deliverystore.Done {
			a.state, a.builder = deliverystore.Done, s.builder
		}
	}
}

// compare looks whether every request stands where it should.
func (q *queue) compare(t *testing.T, rt *rapid.T, d *db.DB) {
	t.Helper()
	dbtest.Read(t, d, func(tx *db.Tx) error {
		rows, err := deliverystore.Requests(tx, "", "")
		if err != nil {
			return err
		}
		if len(rows) != len(q.all) {
			rt.Fatalf("%d requests, want %d", len(rows), len(q.all))
		}
		for _, r := range rows {
			i := slices.IndexFunc(q.all, func(a *asked) bool { return a.id == r.ID })
			if i < 0 {
				rt.Fatalf("request %s is not known", r.ID)
			}
			a := q.all[i]
			if r.State != a.state || int(r.Lost) != a.lost || r.Builder != a.builder {
				rt.Fatalf("request %s is %s of %q, lost %d; want %s of %q, lost %d", r.ID, r.State, r.Builder, r.Lost, a.state, a.builder, a.lost)
			}
			if r.State == deliverystore.Leased {
				if r.LeaseUntil.After(r.Deadline) {
					rt.Fatalf("request %s is leased beyond its deadline", r.ID)
				}
			}
		}
		return nil
	})
}

func giveBack(t *testing.T, d *db.DB, builder string, at time.Time) (back []deliverystore.RequestRow) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) error {
		holds, err := deliverystore.HoldsUnbegun(tx, builder)
		if err != nil {
			return err
		}
		back, err = deliverystore.GiveBack(tx, builder, "its disk is full", at)
		if holds != (len(back) > 0) {
			t.Errorf("it holds something unbegun: %v, and gives back %d", holds, len(back))
		}
		return err
	})
	return back
}

// TestNoClockStarvesAModule: whatever the clock says at each step, of modules
// that always have two things to build each is served in turn, and of each what
// was asked for first.
func TestNoClockStarvesAModule(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, table := range []string{"answer", "verdict", "build", "request"} {
				dbtest.Write(t, d, func(tx *db.Tx) error { _, err := tx.Exec(`DELETE FROM ` + table); return err })
			}
			clock := func() time.Time {
				return t0().Add(time.Duration(rapid.Int64Range(-1e9, 1e9).Draw(rt, "clock")) * time.Second)
			}
			modules := []string{"web", "dns", "db"}
			waits := map[string][]string{} // in the order in which they were asked for
			ask := func(module string) {
				r := request(t, module, fmt.Sprintf("c%d", rapid.Int64().Draw(rt, "commit")), int64(len(waits[module])+1), clock())
				add(t, d, r)
				waits[module] = append(waits[module], r.ID)
			}
			for _, m := range modules { // what was given once stays when a newer one is asked for
				ask(m)
				mustTake(t, d, "b", clock())
				giveBack(t, d, "b", clock())
				ask(m)
			}
			var turns []string
			for k := range 2 * len(modules) {
				r := mustTake(t, d, fmt.Sprintf("b%d", k), clock())
				if r.ID != waits[r.Module][0] {
					rt.Fatalf("%s of %s was given, and %v waits", r.ID, r.Module, waits[r.Module])
				}
				turns, waits[r.Module] = append(turns, r.Module), waits[r.Module][1:]
			}
			first, again := turns[:len(modules)], turns[len(modules):]
			if !slices.Equal(first, again) || len(slices.Compact(slices.Sorted(slices.Values(first)))) != len(modules) {
				rt.Fatalf("served in the order %v", turns)
			}
		})
	})
}
