package db_test

import (
	"fmt"
	"sync"
	"testing"

	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

func open(t *testing.T, dsn string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestTheEpochMovesOnlyOnTakeover(t *testing.T) {
	t.Parallel()
	dbtest.EachBare(t, func(t *testing.T, dsn string) {
		a := open(t, dsn)
		wantKind(t, a.Write(t.Context(), set("a", "b")), fault.Broken)
		step := func(d *db.DB, what string, want int64, f func() (int64, error)) {
			t.Helper()
			got, err := f()
			if err != nil || got != want || d.Epoch() != want {
				t.Fatalf("%s: epoch %d and %d, error %v; want %d", what, got, d.Epoch(), err, want)
			}
		}
		ctx := t.Context()
		step(a, "a new record", 1, func() (int64, error) { return a.Resume(ctx, "a") })
		step(a, "a restart", 1, func() (int64, error) { return a.Resume(ctx, "a") })
		b := open(t, dsn)
		_, err := b.Resume(ctx, "b")
		wantKind(t, err, fault.Conflict, `"a"`, "take over")
		_, err = b.Resume(ctx, "")
		wantKind(t, err, fault.Invalid)
		if b.Epoch() != 0 {
			t.Errorf("a refused resume left epoch %d", b.Epoch())
		}
		dbtest.Write(t, a, set("a", "still mine"))
		step(b, "takeover", 2, func() (int64, error) { return b.TakeOver(ctx, "b") })
		wantKind(t, a.Write(ctx, set("a", "stale")), fault.Conflict, "another controller has taken over")
		_, err = a.RaiseEpoch(ctx, 9)
		wantKind(t, err, fault.Conflict, "another controller has taken over")
		_, err = a.Resume(ctx, "a")
		wantKind(t, err, fault.Conflict)
		step(b, "raise", 7, func() (int64, error) { return b.RaiseEpoch(ctx, 7) })
		step(b, "raise to less", 7, func() (int64, error) { return b.RaiseEpoch(ctx, 3) })
		wantKind(t, a.Write(ctx, set("a", "stale")), fault.Conflict)
		step(a, "takeover by the first", 8, func() (int64, error) { return a.TakeOver(ctx, "a") })
		wantKind(t, b.Write(ctx, set("a", "stale")), fault.Conflict)
		if got := get(t, b, "a"); got != "still mine" {
			t.Errorf("the record says %q", got)
		}
	})
}

// TestNoWriteCommitsAfterATakeover lets four writers of one process run while
// another process's handle takes over in the middle of it.
func TestNoWriteCommitsAfterATakeover(t *testing.T) {
	t.Parallel()
	dbtest.EachBare(t, func(t *testing.T, dsn string) {
		a, b := dbtest.Open(t, dsn, "a"), open(t, dsn)
		begun := make(chan struct{}, 1000)
		var writers sync.WaitGroup
		var mu sync.Mutex // guards done
		done := map[string]bool{}
		for w := range 4 {
			writers.Go(func() {
				for n := 0; ; n++ {
					name := fmt.Sprintf("%d/%d", w, n)
					err := a.Write(t.Context(), set(name, "a"))
					if err != nil {
						if fault.KindOf(err) != fault.Conflict {
							t.Errorf("write %s: %v", name, err)
						}
						return
					}
					mu.Lock()
					done[name] = true
					mu.Unlock()
					select {
					case begun <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 20 {
			<-begun
		}
		if _, err := b.TakeOver(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		count := func(tx *db.Tx) int64 {
			n, _, err := db.One(tx, db.Number, `SELECT count(*) FROM setting`)
			if err != nil {
				t.Error(err)
			}
			return n
		}
		var atTakeover, later int64
		dbtest.Read(t, b, func(tx *db.Tx) error { atTakeover = count(tx); return nil })
		writers.Wait()
		dbtest.Read(t, b, func(tx *db.Tx) error { later = count(tx); return nil })
		if atTakeover != later || int(later) != len(done) {
			t.Errorf("%d rows at the takeover, %d later, %d were acknowledged", atTakeover, later, len(done))
		}
		dbtest.Write(t, b, set("b", "b"))
	})
}

// TestATakeoverWaitsForTheWriteUnderWay stops a writer inside its
// transaction while another takes over: the takeover waits for it.
func TestATakeoverWaitsForTheWriteUnderWay(t *testing.T) {
	t.Parallel()
	dbtest.EachBare(t, func(t *testing.T, dsn string) {
		a, b := dbtest.Open(t, dsn, "a"), open(t, dsn)
		inside, wake := make(chan struct{}), make(chan struct{})
		wrote, took := make(chan error, 1), make(chan error, 1)
		go func() {
			wrote <- a.Write(t.Context(), func(tx *db.Tx) error {
				close(inside)
				<-wake
				return set("a", "a")(tx)
			})
		}()
		<-inside
		go func() {
			_, err := b.TakeOver(t.Context(), "b")
			took <- err
		}()
		close(wake)
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		if err := <-took; err != nil {
			t.Fatal(err)
		}
		wantKind(t, a.Write(t.Context(), set("a", "stale")), fault.Conflict)
		if got := get(t, b, "a"); got != "a" {
			t.Errorf("the acknowledged write is %q", got)
		}
	})
}

func TestConcurrentWritesLoseNothing(t *testing.T) {
	t.Parallel()
	dbtest.EachBare(t, func(t *testing.T, dsn string) {
		a := dbtest.Open(t, dsn, "a")
		again := dbtest.Open(t, dsn, "a") // one holder, two handles: as after a restart that overlaps
		dbtest.Write(t, a, set("n", "0"))
		var all sync.WaitGroup
		for _, d := range []*db.DB{a, a, again, again} {
			all.Go(func() {
				for range 25 {
					err := d.Write(t.Context(), func(tx *db.Tx) error {
						n, _, err := db.One(tx, db.Number, `SELECT CAST(value AS bigint) FROM setting WHERE name = 'n'`)
						if err != nil {
							return err
						}
						return set("n", fmt.Sprint(n+1))(tx)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if got := get(t, a, "n"); got != "100" {
			t.Errorf("100 increments made %s", got)
		}
	})
}
