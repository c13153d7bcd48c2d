package deliverystore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

// What leaves the record takes all with it that belongs to it and nothing else,
// and is counted; what is named cannot leave.
func TestWhatLeavesTheRecord(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web")
		var ids []string
		for i := range 5 {
			id := made(t, d, "web", fmt.Sprintf("c%d", i), t0().Add(time.Duration(i)*time.Minute))
			if i == 1 {
				if _, err := declare(t, d, deliverystore.DeclareWrite{Module: "web", Build: id, Nodes: []string{"n1"}, By: "ann", At: t0()}); err != nil {
					t.Fatal(err)
				}
			}
			if i < 3 {
				dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.MarkCollected(tx, id, t0()) })
			}
			r := request(t, "web", fmt.Sprintf("c%d", i), 1, t0())
			ids = append(ids, r.ID)
			dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.AppendLog(tx, r.ID, 0, "said") })
		}
		add(t, d, request(t, "web", "c9", 1, t0().Add(time.Hour)))
		lines := func() (all []delivery.Line) {
			dbtest.Read(t, d, func(tx *db.Tx) (err error) {
				all, err = deliverystore.Lines(tx)
				return err
			})
			return all
		}
		for _, l := range lines() {
			bare := l.Request == ids[0] || l.Request == ids[2] // ids[1] is declared
			live := l.Build == ""
			if l.Bare != bare || l.Live != live || live != (l.Log == 0) {
				t.Errorf("%+v: bare %v, live %v", l, bare, live)
			}
		}
		retire := func(r delivery.Retention) {
			dbtest.Write(t, d, func(tx *db.Tx) error {
				return deliverystore.RemoveLines(tx, delivery.Retire(lines(), r), t0().Add(time.Hour))
			})
		}
		retire(delivery.Retention{Builds: 1})
		if diff := cmp.Diff([]string{"web c9 open", "web c4 built", "web c3 built", "web c1 built"}, attempts(t, d, "web")); diff != "" {
			t.Error(diff)
		}
		for _, id := range []string{ids[0], ids[2]} {
			wantKind(t, d.Read(t.Context(), func(tx *db.Tx) error { _, err := deliverystore.Log(tx, id); return err }), fault.NotFound)
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			builds, err := deliverystore.MadeBuilds(tx, "web")
			if err == nil && len(builds) != 3 {
				t.Errorf("%d builds stay", len(builds))
			}
			return err
		})
		retire(delivery.Retention{Logs: 6})
		removed := 0
		for _, id := range ids[3:] {
			if l := logOf(t, d, id); !l.Removed.IsZero() {
				removed++
				if l.Text != "" || l.Missing != 0 {
					t.Errorf("a log that was removed: %+v", l)
				}
			}
		}
		if l := logOf(t, d, ids[4]); l.Text != "said" || removed != 1 {
			t.Errorf("of the newest stays %q, and %d of two were removed", l.Text, removed)
		}
		want := []deliverystore.RetiredRow{{Module: "web", Builds: 2, Logs: 2, At: t0().Add(time.Hour)}}
		for module, want := range map[string][]deliverystore.RetiredRow{"web": want, "": want, "dns": nil} {
			dbtest.Read(t, d, func(tx *db.Tx) error {
				got, err := deliverystore.RetiredOf(tx, module)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%q: %s", module, diff)
				}
				return err
			})
		}
		// What was removed is asked for, made and recorded as if it had never been.
		add(t, d, request(t, "web", "c0", 1, t0().Add(2*time.Hour)))
		mustTake(t, d, "b1", t0().Add(2*time.Hour))
		r := mustTake(t, d, "b2", t0().Add(2*time.Hour))
		if got := save(t, d, built(t, r, "b2", "again"), t0().Add(3*time.Hour)); r.ID != ids[0] || got != deliverystore.SavedFirst {
			t.Errorf("%s is %s of %s", r.ID, got, ids[0])
		}
	})
}
