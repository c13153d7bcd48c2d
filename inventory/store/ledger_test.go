package inventorystore_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/report"
)

func TestTheLedgerInOneEpochAndTheNext(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		addNode(t, d, n2, "dns")
		step := func(body string, want declaration.Tuple) {
			t.Helper()
			if got := issue(t, d, n1, body); got != want {
				t.Errorf("%s was issued as %+v, want %+v", body, got, want)
			}
		}
		step("a", tuple(1, 1, "a"))
		step("a", tuple(1, 1, "a"))
		step("b", tuple(1, 2, "b"))
		step("a", tuple(1, 3, "a")) // never the old place again: it could be replayed
		if got := issue(t, d, n2, "a"); got != tuple(1, 1, "a") {
			t.Errorf("another node's first is %+v", got)
		}
		if _, err := d.TakeOver(t.Context(), "another"); err != nil {
			t.Fatal(err)
		}
		step("a", tuple(2, 4, "a"))
		step("a", tuple(2, 4, "a"))
		if n := node(t, d, n1); n.Wanted != tuple(2, 4, "a") || len(n.Had) != 1 || n.Had[0] != "a" {
			t.Errorf("wanted %+v with %v", n.Wanted, n.Had)
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			for tuple, want := range map[declaration.Tuple]bool{
				tuple(1, 3, "a"): true, tuple(1, 1, "a"): true, tuple(2, 4, "a"): true,
				tuple(1, 3, "b"): false, tuple(2, 3, "a"): false, tuple(1, 4, "a"): false, tuple(2, 5, "a"): false, {}: false,
			} {
				got, err := inventorystore.Issued(tx, n1, tuple)
				if err != nil || got != want {
					t.Errorf("issued %+v: %v, %v", tuple, got, err)
				}
			}
			return nil
		})
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := inventorystore.Issue(tx, inventorystore.Issuing{Node: n1, Digest: "none"})
			return err
		}), fault.Broken)
	})
}

// TestOnePlaceHasOneDigest issues from four goroutines over two handles.
func TestOnePlaceHasOneDigest(t *testing.T) {
	t.Parallel()
	dbtest.EachAddress(t, func(t *testing.T, dsn string) {
		a, b := dbtest.Open(t, dsn, "c"), dbtest.Open(t, dsn, "c")
		addNode(t, a, n1, "web")
		var mu sync.Mutex // guards places
		places := map[int64]document.Digest{}
		var all sync.WaitGroup
		for w, d := range []*db.DB{a, b, a, b} {
			all.Go(func() {
				for k := range 15 {
					var got declaration.Tuple
					digest := document.Sum(fmt.Append(nil, w, k))
					err := d.Write(t.Context(), func(tx *db.Tx) (err error) {
						got, err = inventorystore.Issue(tx, inventorystore.Issuing{Node: n1, Digest: digest, At: t0()})
						return err
					})
					mu.Lock()
					if other, taken := places[got.Generation]; err != nil || taken || got.Digest != digest {
						t.Errorf("generation %d is %s and %s (%v)", got.Generation, other, got.Digest, err)
					}
					places[got.Generation] = got.Digest
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if got := node(t, a, n1).Wanted; got.Generation != 60 {
			t.Errorf("60 were issued, and the last is %d", got.Generation)
		}
	})
}

// TestTheLedgerAgainstAModel issues, takes over and sends in any order.
func TestTheLedgerAgainstAModel(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			id := fmt.Sprintf("n%09d", run)
			addNode(t, d, id, id)
			var issued []declaration.Tuple
			var sent declaration.Tuple
			steps := rapid.IntRange(1, 12).Draw(rt, "steps")
			for range steps {
				switch rapid.SampledFrom([]string{"issue", "issue", "takeover", "sent"}).Draw(rt, "step") {
				case "issue":
					body := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "body")
					want := tuple(d.Epoch(), int64(len(issued))+1, body)
					if n := len(issued); n > 0 && issued[n-1].Epoch == want.Epoch && issued[n-1].Digest == want.Digest {
						want = issued[n-1]
					} else {
						issued = append(issued, want)
					}
					if got := issue(t, d, id, body); got != want {
						rt.Fatalf("issued %+v, want %+v", got, want)
					}
				case "takeover":
					if _, err := d.TakeOver(t.Context(), "c"); err != nil {
						rt.Fatal(err)
					}
				case "sent":
					if len(issued) == 0 {
						continue
					}
					told := rapid.SampledFrom(issued).Draw(rt, "told")
					dbtest.Write(t, d, func(tx *db.Tx) error { return inventorystore.SaveSent(tx, id, told, t0().Add(time.Hour)) })
					if sent.Before(told) {
						sent = told
					}
				}
			}
			n := node(t, d, id)
			if n.Sent.Tuple != sent || (len(issued) > 0 && n.Wanted != issued[len(issued)-1]) {
				rt.Fatalf("sent %+v, want %+v; wanted %+v of %+v", n.Sent.Tuple, sent, n.Wanted, issued)
			}
		})
	})
}

// The ledger of a node does not grow for ever, and an old word of a node is
// still known for one of ours.
func TestTheLedgerIsBounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Write(t, d, func(tx *db.Tx) error {
			return inventorystore.AddNode(tx, inventorystore.NewNode{ID: n1, Name: "web", At: t0()})
		})
		var all []declaration.Tuple
		for n := range 300 {
			dbtest.Write(t, d, func(tx *db.Tx) error {
				tuple, err := inventorystore.Issue(tx, inventorystore.Issuing{Node: n1, Digest: document.Sum([]byte(fmt.Sprint(n))), At: t0()})
				all = append(all, tuple)
				if err == nil && n == 9 { // it goes away with the tenth
					_, err = inventorystore.Heard(tx, link.Hello{Node: n1, Counter: 1, Accepted: tuple}, t0())
				}
				return err
			})
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			rows, err := db.All(tx, db.Number, `SELECT generation FROM ledger WHERE node = $1 ORDER BY generation`, n1)
			if len(rows) > 2*64+1 || rows[0] != 10 {
				t.Errorf("%d rows from %d", len(rows), rows[0])
			}
			for _, c := range []struct {
				tuple declaration.Tuple
				want  bool
			}{
				{all[299], true},
				{all[9], true},
				{all[0], true},
				{all[150], true},
				{declaration.Tuple{Epoch: 1, Generation: 301, Digest: all[0].Digest}, false},
				{declaration.Tuple{Epoch: 1, Generation: 300, Digest: all[0].Digest}, false},
				{declaration.Tuple{Epoch: 2, Generation: 300, Digest: all[299].Digest}, false},
				{declaration.Tuple{Epoch: 1, Generation: 10, Digest: all[0].Digest}, false},
				{declaration.Tuple{Epoch: 2, Generation: 5, Digest: all[4].Digest}, false},
				{declaration.Tuple{}, false},
			} {
				if got, e := inventorystore.Issued(tx, n1, c.tuple); e != nil || got != c.want {
					t.Errorf("%+v: %v, %v; want %v", c.tuple, got, e, c.want)
				}
			}
			return err
		})
	})
}

// What a node may still fetch is what it has accepted and all that was issued
// since, and what it has applied; of a node that was removed it is nothing.
func TestToldIsWhatANodeMayStillFetch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		sum := func(s string) document.Digest { return document.Sum([]byte(s)) }
		var tuples []declaration.Tuple
		for _, what := range []string{"one", "two", "three"} {
			dbtest.Write(t, d, func(tx *db.Tx) error {
				tuple, err := inventorystore.Issue(tx, inventorystore.Issuing{
					Node: n1, Digest: sum(what), Modules: []string{"web"}, Contents: map[string]document.Digest{"web": sum("web " + what)}, At: t0(),
				})
				tuples = append(tuples, tuple)
				return err
			})
		}
		told := func(want ...document.Digest) {
			t.Helper()
			dbtest.Read(t, d, func(tx *db.Tx) error {
				got, err := inventorystore.Told(tx)
				slices.Sort(got["web"])
				slices.Sort(want)
				if !slices.Equal(got["web"], want) {
					t.Errorf("%v\nwant %v", got, want)
				}
				return err
			})
		}
		told(sum("web one"), sum("web two"), sum("web three"))
		dbtest.Write(t, d, func(tx *db.Tx) error {
			_, err := inventorystore.Heard(tx, link.Hello{Node: n1, Counter: 1, Accepted: tuples[1], Speaks: []int{1}}, t0())
			return err
		})
		told(sum("web two"), sum("web three"))
		dbtest.Write(t, d, func(tx *db.Tx) error {
			_, err := inventorystore.SaveReport(tx, report.Report{
				Node: n1, Sequence: 1, Outcome: report.OutcomeApplied, Accepted: tuples[1], Applied: tuples[1], Modules: []declaration.Module{{Module: "web", Content: sum("web zero")}},
			}, []byte("{}"), t0())
			return err
		})
		told(sum("web two"), sum("web three"), sum("web zero"))
		dbtest.Write(t, d, func(tx *db.Tx) error { return inventorystore.RemoveNode(tx, n1, t0()) })
		told()
	})
}
