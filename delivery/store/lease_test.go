package deliverystore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

func extend(t *testing.T, d *db.DB, id, builder string, at time.Time) (stop string) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) (err error) {
		stop, err = deliverystore.Extend(tx, id, builder, at, lease)
		return err
	})
	return stop
}

func lapse(t *testing.T, d *db.DB, at time.Time) (over []deliverystore.RequestRow) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) (err error) {
		over, err = deliverystore.LapseLeases(tx, at)
		return err
	})
	return over
}

func look(t *testing.T, d *db.DB, id string) (r deliverystore.RequestRow) {
	t.Helper()
	dbtest.Read(t, d, func(tx *db.Tx) (err error) {
		r, err = deliverystore.Request(tx, id)
		return err
	})
	return r
}

func TestARequestComesBackAsItWasAsked(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		want := request(t, "web", "c1", 1, t0())
		want.Commands = true
		add(t, d, want, want)
		want.State, want.Since = deliverystore.Open, t0()
		if diff := cmp.Diff(want, look(t, d, want.ID)); diff != "" {
			t.Error(diff)
		}
		if r := take(t, d, "b1", t0()); r != nil {
			t.Error("a builder without a sandbox was given commands")
		}
		dbtest.Write(t, d, func(tx *db.Tx) error {
			for _, l := range []deliverystore.Leasing{{Platform: "linux/arm64", Sandbox: true}, {Platform: platform, Sandbox: true}} {
				l.Builder, l.Now, l.Lease = "b2", t0().Add(time.Second), lease
				waiting, err := deliverystore.Waiting(tx, l.Platform)
				if err != nil {
					return err
				}
				r, err := deliverystore.Lease(tx, l)
				if err != nil {
					return err
				}
				if waiting != (r != nil) || waiting != (l.Platform == platform) {
					t.Errorf("%s: waiting %v, given %v", l.Platform, waiting, r)
				}
			}
			return nil
		})
		got := look(t, d, want.ID)
		want.State, want.Builder, want.LeasedAt, want.Since = deliverystore.Leased, "b2", t0().Add(time.Second), t0().Add(time.Second)
		want.LeaseUntil, want.Deadline, want.Given = t0().Add(time.Second+lease), t0().Add(601*time.Second), []string{"b2"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if payload, err := got.Envelope.Open("application/vnd.mesh.build-request.v1+json", "O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik"); err != nil || len(payload) == 0 {
			t.Errorf("the signature did not survive: %v", err)
		}
	})
}

func TestTheModuleServedLongestAgoComesFirst(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		// Five commits of one module were each begun before the next came, and another module asks last.
		for n := range 5 {
			add(t, d, request(t, "busy", fmt.Sprintf("c%d", n), 1, t0().Add(time.Duration(n)*time.Second)))
			if n < 3 {
				mustTake(t, d, fmt.Sprintf("b%d", n), t0().Add(time.Duration(n)*time.Second))
			}
		}
		withdraw(t, d, request(t, "busy", "c3", 1, t0()), true)
		add(t, d, request(t, "quiet", "c0", 1, t0().Add(time.Minute)))
		if r := mustTake(t, d, "b8", t0().Add(time.Minute)); r.Module != "quiet" {
			t.Errorf("%s was served before the module that never was", r.Module)
		}
		if r := mustTake(t, d, "b9", t0().Add(time.Minute)); r.Commit != "c4" {
			t.Errorf("commit %s was given, want the newest: the one before was never begun", r.Commit)
		}
	})
}

func TestTheThirdLostLeaseWithdraws(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "poison", "c1", 1, t0()), request(t, "good", "c1", 1, t0().Add(time.Second)))
		poison := request(t, "poison", "c1", 1, t0()).ID
		now := t0()
		for n := range 3 {
			builder := fmt.Sprintf("b%d", n)
			for r := mustTake(t, d, builder, now); r.ID != poison; r = mustTake(t, d, builder, now) {
				save(t, d, built(t, r, builder, "good"), now)
			}
			if len(lapse(t, d, now.Add(lease-time.Millisecond))) != 0 {
				t.Fatal("a lease lapsed before its end")
			}
			now = now.Add(lease)
			over := lapse(t, d, now)
			if len(over) != 1 || over[0].ID != poison || over[0].Lost != int64(n+1) {
				t.Fatalf("lapse %d: %+v", n, over)
			}
		}
		r := look(t, d, poison)
		if r.State != deliverystore.Withdrawn || r.Why == "" || !r.Since.Equal(now) {
			t.Errorf("after three lost leases: %s, %q, since %s", r.State, r.Why, r.Since)
		}
		if r := take(t, d, "b9", now); r != nil {
			t.Errorf("a withdrawn request was given: %v", r.ID)
		}
		if stop := extend(t, d, poison, "b2", now); stop == "" {
			t.Error("a builder goes on with a withdrawn request")
		}
	})
}

func TestLeasesEndAtTheDeadline(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0())) // limit 600 s
		r := mustTake(t, d, "b1", t0())
		for at := time.Duration(0); at < 600*time.Second; at += 30 * time.Second {
			if stop := extend(t, d, r.ID, "b1", t0().Add(at)); stop != "" {
				t.Fatalf("stopped after %s: %s", at, stop)
			}
			if len(lapse(t, d, t0().Add(at))) != 0 {
				t.Fatalf("lapsed after %s though the builder is working", at)
			}
		}
		if got := look(t, d, r.ID); !got.LeaseUntil.Equal(t0().Add(600 * time.Second)) {
			t.Errorf("the lease goes until %s", got.LeaseUntil)
		}
		if stop := extend(t, d, r.ID, "b1", t0().Add(600*time.Second)); stop == "" {
			t.Error("a builder goes on beyond the deadline")
		}
		if over := lapse(t, d, t0().Add(600*time.Second)); len(over) != 1 {
			t.Errorf("%d lapsed at the deadline", len(over))
		}
	})
}

func TestWhoMayGoOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0()))
		r := mustTake(t, d, "b1", t0())
		if again := mustTake(t, d, "b1", t0().Add(time.Second)); again.ID != r.ID || again.Lost != 0 || !again.LeaseUntil.Equal(r.LeaseUntil) {
			t.Errorf("the answer that gave it was lost, and it is not given again: %+v", again)
		}
		if stop := extend(t, d, r.ID, "b2", t0()); stop == "" {
			t.Error("a builder goes on with what it was never given")
		}
		if stop := extend(t, d, "none", "b1", t0()); stop == "" {
			t.Error("a builder goes on with what nobody asked")
		}
		later := t0().Add(2 * lease)
		lapse(t, d, later)
		if stop := extend(t, d, r.ID, "b1", later); stop != "" {
			t.Errorf("the lease ran out, nobody else has it, and its builder was stopped: %s", stop)
		}
		later = later.Add(2 * lease)
		lapse(t, d, later)
		if other := mustTake(t, d, "b2", later); other.ID != r.ID || other.Lost != 2 {
			t.Errorf("another builder got %+v", other)
		}
		if stop := extend(t, d, r.ID, "b1", later); stop == "" {
			t.Error("two builders go on with one request")
		}
		if stop := extend(t, d, r.ID, "b2", later); stop != "" {
			t.Errorf("the builder that has it was stopped: %s", stop)
		}
		// It began, died, and asks for work: its third lost lease.
		if r := take(t, d, "b2", later.Add(time.Second)); r != nil {
			t.Errorf("given %v", r.ID)
		}
		if got := look(t, d, r.ID); got.State != deliverystore.Withdrawn {
			t.Errorf("it is %s", got.State)
		}
	})
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0()))
		r := mustTake(t, d, "b1", t0())
		withdraw := func(tx *db.Tx) error { return deliverystore.Withdraw(tx, r.ID, "cancelled by ann", t0()) }
		dbtest.Write(t, d, withdraw)
		dbtest.Write(t, d, withdraw)
		if stop := extend(t, d, r.ID, "b1", t0()); stop != "it was withdrawn: cancelled by ann" {
			t.Errorf("stop %q", stop)
		}
		// It had been made all the same: a fact is a fact.
		if got := save(t, d, built(t, r, "b1", "x"), t0()); got != deliverystore.SavedFirst {
			t.Errorf("saved as %q", got)
		}
		dbtest.Write(t, d, withdraw)
		if got := look(t, d, r.ID); got.State != deliverystore.Done {
			t.Errorf("it is %s", got.State)
		}
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error { return deliverystore.Withdraw(tx, "none", "", t0()) }), fault.NotFound)
	})
}

// TestTwoLeasesNeverGiveOneRequestTwice lets eight builders ask at once, over two handles.
func TestTwoLeasesNeverGiveOneRequestTwice(t *testing.T) {
	t.Parallel()
	dbtest.EachAddress(t, func(t *testing.T, dsn string) {
		a, b := dbtest.Open(t, dsn, "c"), dbtest.Open(t, dsn, "c")
		const asked = 20
		for n := range asked {
			add(t, a, request(t, fmt.Sprintf("m%d", n), "c1", 1, t0()))
		}
		var mu sync.Mutex // guards given
		given := map[string]string{}
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				d := []*db.DB{a, b}[n%2]
				for k := 0; ; k++ {
					builder := fmt.Sprintf("b%d-%d", n, k)
					var r *deliverystore.RequestRow
					err := d.Write(t.Context(), func(tx *db.Tx) (err error) {
						r, err = deliverystore.Lease(tx, deliverystore.Leasing{Builder: builder, Platform: platform, Now: t0(), Lease: lease})
						return err
					})
					if err != nil {
						t.Error(err)
					}
					if r == nil {
						return
					}
					mu.Lock()
					if other, twice := given[r.ID]; twice {
						t.Errorf("request %s was given to %s and to %s", r.ID, other, builder)
					}
					given[r.ID] = builder
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if len(given) != asked {
			t.Errorf("%d of %d requests were given", len(given), asked)
		}
	})
}

func TestLeasesMoveWithTheClock(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := request(t, "web", "c1", 1, t0())
		add(t, d, r)
		if take(t, d, "b1", t0()) == nil {
			t.Fatal("no work")
		}
		move := func(by time.Duration, now time.Time) {
			dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.MoveLeases(tx, by, now, lease) })
		}
		for _, by := range []time.Duration{-time.Hour, 10 * 8766 * time.Hour, -56 * 8766 * time.Hour} {
			was, now := look(t, d, r.ID), look(t, d, r.ID).LeasedAt.Add(lease/2+by)
			move(by, now)
			if len(lapse(t, d, now)) != 0 {
				t.Errorf("the clock was set by %s, and the lease has lapsed", by)
			}
			if is := look(t, d, r.ID); !is.LeaseUntil.Equal(was.LeaseUntil.Add(by)) || !is.Deadline.Equal(was.Deadline.Add(by)) {
				t.Errorf("set by %s: %v until %v, was %v", by, is.LeaseUntil, is.Deadline, was.LeaseUntil)
			}
			if stop := extend(t, d, r.ID, "b1", now); stop != "" {
				t.Errorf("set by %s: %s", by, stop)
			}
		}
		before := look(t, d, r.ID).LeasedAt.Add(-100 * time.Hour) // a process that begins with the right time
		move(0, before)
		if len(lapse(t, d, before.Add(lease-time.Second))) != 0 {
			t.Error("it has lapsed before anybody could have extended it")
		}
		if len(lapse(t, d, before.Add(lease))) != 1 {
			t.Error("a lease that was given by a clock that was ahead goes on and on")
		}
	})
}
