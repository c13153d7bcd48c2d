package deliverystore_test

import (
	"fmt"
	"testing"
	"time"

	"noxmesh/delivery"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
)

// withdraw withdraws a request as moved.
func withdraw(t *testing.T, d *db.DB, r deliverystore.RequestRow, want bool) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) error {
		was, err := deliverystore.WithdrawMoved(tx, r.Module, delivery.Withdrawal{ID: r.ID, Why: delivery.MovedOn + "why"}, t0())
		if was != want {
			t.Errorf("request of commit %s was withdrawn: %v, want %v", r.Commit, was, want)
		}
		return err
	})
}

// What has moved is taken back while nobody has it, and is open again when it is
// asked for again: as it is asked for then, behind what was asked for meanwhile.
func TestWhatHasMovedIsTakenBackAndAskedForAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		begun, moved := request(t, "web", "c1", 1, t0()), request(t, "web", "c2", 1, t0())
		add(t, d, begun)
		mustTake(t, d, "b1", t0())
		add(t, d, moved)
		withdraw(t, d, begun, false)
		withdraw(t, d, moved, true)
		withdraw(t, d, moved, false)
		if r := look(t, d, moved.ID); r.State != deliverystore.Withdrawn || r.Why != "no longer asked for: why" {
			t.Errorf("it is %s: %q", r.State, r.Why)
		}
		if r := look(t, d, begun.ID); r.State != deliverystore.Leased {
			t.Errorf("what is being built is %s", r.State)
		}
		if r := take(t, d, "b2", t0()); r != nil {
			t.Errorf("%s was given", r.Commit)
		}
		add(t, d, request(t, "dns", "c1", 1, t0()))
		again := moved
		again.Commands, again.MadeAt = true, t0().Add(time.Minute)
		add(t, d, again)
		if r := look(t, d, moved.ID); r.State != deliverystore.Open || r.Why != "" || !r.Commands || !r.Since.Equal(again.MadeAt) {
			t.Errorf("asked for again it is %s since %s: %q, commands: %v", r.State, r.Since, r.Why, r.Commands)
		}

		// What a person has withdrawn is not opened by asking again.
		dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.Withdraw(tx, moved.ID, delivery.CancelledBy+"ann", t0()) })
		add(t, d, again)
		if r := look(t, d, moved.ID); r.State != deliverystore.Withdrawn {
			t.Errorf("what was cancelled is %s", r.State)
		}
	})
}

// Of what was taken back before anybody had it, the newest ten stay.
func TestOfWhatWasTakenBackTheNewestStay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		had := request(t, "web", "had", 1, t0())
		add(t, d, had)
		mustTake(t, d, "b1", t0())
		dbtest.Write(t, d, func(tx *db.Tx) error {
			_, err := deliverystore.GiveBack(tx, "b1", "its disk is full", t0())
			return err
		})
		withdraw(t, d, had, true)
		add(t, d, request(t, "dns", "c1", 1, t0()))
		for n := range 13 {
			r := request(t, "web", fmt.Sprintf("c%d", n), 1, t0())
			add(t, d, r)
			withdraw(t, d, r, true)
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := deliverystore.Requests(tx, "", "")
			left := map[string]bool{}
			for _, r := range all {
				left[r.Module+"/"+r.Commit] = true
			}
			if len(all) != 12 || !left["web/had"] || !left["dns/c1"] || !left["web/c12"] || !left["web/c3"] || left["web/c2"] {
				t.Errorf("there are %v", left)
			}
			return err
		})
	})
}
