package deliverystore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

func declare(t *testing.T, d *db.DB, w deliverystore.DeclareWrite) (id int64, err error) {
	t.Helper()
	err = d.Write(t.Context(), func(tx *db.Tx) error {
		id, err = deliverystore.Declare(tx, w)
		return err
	})
	return id, err
}

func TestDeclareIsOneWriteForAllItsNodes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web", "dns")
		one, two := made(t, d, "web", "c1", t0()), made(t, d, "web", "c2", t0().Add(time.Minute))
		first := deliverystore.DeclareWrite{Module: "web", Build: one, Nodes: []string{"n2", "n1", "n2"}, By: "ann", At: t0(), Why: "because"}
		id, err := declare(t, d, first)
		if err != nil || id != 1 {
			t.Fatalf("write %d, %v", id, err)
		}
		second := deliverystore.DeclareWrite{Module: "web", Build: two, Nodes: []string{"n2"}, By: "policy", At: t0().Add(time.Hour)}
		if id, err = declare(t, d, second); err != nil || id != 2 {
			t.Fatalf("write %d, %v", id, err)
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			got, err := deliverystore.Declared(tx)
			want := []deliverystore.DeclaredRow{
				{Module: "web", Node: "n1", Build: one, Write: 1, By: "ann", At: t0(), Why: "because"},
				{Module: "web", Node: "n2", Build: two, Write: 2, By: "policy", At: t0().Add(time.Hour)},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			on, err2 := deliverystore.DeclaredOn(tx, "n2")
			if diff := cmp.Diff(want[1:], on); diff != "" || err2 != nil {
				t.Error(diff, err2)
			}
			writes, err2 := deliverystore.DeclareWrites(tx, "web", 0)
			first.ID, first.Nodes, second.ID = 1, []string{"n1", "n2"}, 2
			if diff := cmp.Diff([]deliverystore.DeclareWrite{second, first}, writes); diff != "" || err2 != nil {
				t.Error(diff, err2)
			}
			if writes, err2 = deliverystore.DeclareWrites(tx, "web", 1); len(writes) != 1 || err2 != nil {
				t.Error(writes, err2)
			}
			return err
		})
		dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.Undeclare(tx, "web", "n1", "n3") })
		dbtest.Read(t, d, func(tx *db.Tx) error {
			on, err := deliverystore.DeclaredOn(tx, "n1")
			if len(on) != 0 {
				t.Errorf("still declared: %+v", on)
			}
			writes, err2 := deliverystore.DeclareWrites(tx, "web", 0)
			if len(writes) != 2 || err2 != nil {
				t.Errorf("%d writes are kept, %v", len(writes), err2)
			}
			return err
		})
	})
}

// TestNothingIsDeclaredWithoutAVerdict is the last gate on the way from a build to a machine.
func TestNothingIsDeclaredWithoutAVerdict(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web", "dns")
		ofWeb := made(t, d, "web", "c0", t0())
		for n, tests := range []build.Tests{build.TestsFailed, "", "maybe"} {
			commit := "c" + string(rune('1'+n))
			add(t, d, request(t, "web", commit, 1, t0()))
			r := mustTake(t, d, "b1", t0())
			a := built(t, r, "b1", commit)
			a.Tests = tests
			save(t, d, a, t0())
			_, err := declare(t, d, deliverystore.DeclareWrite{Module: "web", Build: a.Build, Nodes: []string{"n1"}, By: "ann", At: t0()})
			wantKind(t, err, fault.Conflict, "mesh logs "+r.ID)
		}
		_, err := declare(t, d, deliverystore.DeclareWrite{Module: "dns", Build: ofWeb, Nodes: []string{"n1"}})
		wantKind(t, err, fault.Conflict, `"web"`)
		_, err = declare(t, d, deliverystore.DeclareWrite{Module: "web", Build: "sha256:none", Nodes: []string{"n1"}})
		wantKind(t, err, fault.NotFound)
		_, err = declare(t, d, deliverystore.DeclareWrite{Module: "none", Build: ofWeb, Nodes: []string{"n1"}})
		wantKind(t, err, fault.NotFound)
		_, err = declare(t, d, deliverystore.DeclareWrite{Module: "web", Build: ofWeb})
		wantKind(t, err, fault.Invalid)
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := deliverystore.Declared(tx)
			if len(all) != 0 {
				t.Errorf("declared: %+v", all)
			}
			return err
		})
	})
}
