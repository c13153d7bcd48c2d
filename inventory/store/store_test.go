package inventorystore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	mesh "noxmesh"
	"noxmesh/declaration"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
)

const (
	n1 = "n1aaaaaaaa"
	n2 = "n2aaaaaaaa"
	n3 = "n3aaaaaaaa"
)

func t0() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

func wantKind(t *testing.T, err error, kind fault.Kind, says ...string) {
	t.Helper()
	if fault.KindOf(err) != kind {
		t.Fatalf("error %v is %v, want %v", err, fault.KindOf(err), kind)
	}
	for _, s := range says {
		if !strings.Contains(err.Error()+"\n"+fault.HintOf(err), s) {
			t.Errorf("error %q with hint %q does not say %q", err, fault.HintOf(err), s)
		}
	}
}

func addNode(t *testing.T, d *db.DB, id, name string) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) error {
		return inventorystore.AddNode(tx, inventorystore.NewNode{ID: id, Name: name, By: "ann", At: t0()})
	})
}

func joining(id, keys string) inventorystore.Joining {
	return inventorystore.Joining{ID: id, Sign: link.PublicKey("sign" + keys), Nats: "U" + keys, Seal: "age1" + keys, Host: "1.0", Speaks: []int{1}, At: t0().Add(time.Minute)}
}

func join(t *testing.T, d *db.DB, j inventorystore.Joining) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) error { return inventorystore.JoinNode(tx, j) })
}

func node(t *testing.T, d *db.DB, name string) (n inventory.Node) {
	t.Helper()
	dbtest.Read(t, d, func(tx *db.Tx) (err error) {
		n, err = inventorystore.Node(tx, name)
		return err
	})
	return n
}

func issue(t *testing.T, d *db.DB, id, body string) (tuple declaration.Tuple) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) (err error) {
		tuple, err = inventorystore.Issue(tx, inventorystore.Issuing{Node: id, Digest: document.Sum([]byte(body)), Modules: []string{body}, At: t0()})
		return err
	})
	return tuple
}

func hear(t *testing.T, d *db.DB, h link.Hello, at time.Time) (applied bool) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) (err error) {
		applied, err = inventorystore.Heard(tx, h, at)
		return err
	})
	return applied
}

func tuple(epoch, generation int64, body string) declaration.Tuple {
	return declaration.Tuple{Epoch: epoch, Generation: generation, Digest: document.Sum([]byte(body))}
}

func TestNodesByIDAndName(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n2, "web-b")
		addNode(t, d, n1, "web.a")
		addNode(t, d, n3, n1) // named after another's id
		want := inventory.Node{ID: n1, Name: "web.a", AddedAt: t0()}
		for _, by := range []string{n1, "web.a"} {
			if diff := cmp.Diff(want, node(t, d, by)); diff != "" {
				t.Error(diff)
			}
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := inventorystore.Nodes(tx)
			var names []string
			for _, n := range all {
				names = append(names, n.Name)
			}
			if diff := cmp.Diff([]string{n1, "web-b", "web.a"}, names); diff != "" {
				t.Error(diff)
			}
			return err
		})
		for name, c := range map[string]struct {
			node inventorystore.NewNode
			kind fault.Kind
		}{
			"the name is taken": {inventorystore.NewNode{ID: "n9aaaaaaaa", Name: "web.a"}, fault.Conflict},
			"the id is taken":   {inventorystore.NewNode{ID: n1, Name: "other"}, fault.Conflict},
			"not a name":        {inventorystore.NewNode{ID: "n9aaaaaaaa", Name: "Web *"}, fault.Invalid},
			"not an id":         {inventorystore.NewNode{ID: ">", Name: "other"}, fault.Broken},
		} {
			err := d.Write(t.Context(), func(tx *db.Tx) error { return inventorystore.AddNode(tx, c.node) })
			if fault.KindOf(err) != c.kind {
				t.Errorf("%s: %v", name, err)
			}
		}
		err := d.Read(t.Context(), func(tx *db.Tx) error { _, err := inventorystore.Node(tx, "web_a"); return err })
		wantKind(t, err, fault.NotFound, "did you mean")
	})
}

func TestARemovedNodeComesBackAsAnother(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		join(t, d, joining(n1, "one"))
		issue(t, d, n1, "a")
		hear(t, d, link.Hello{Node: n1, Counter: 1, Accepted: tuple(1, 1, "a")}, t0())
		remove := func(tx *db.Tx) error { return inventorystore.RemoveNode(tx, n1, t0()) }
		dbtest.Write(t, d, remove)
		wantKind(t, d.Write(t.Context(), remove), fault.NotFound)
		for name, f := range map[string]func(tx *db.Tx) error{
			"it is added again": func(tx *db.Tx) error {
				return inventorystore.AddNode(tx, inventorystore.NewNode{ID: n1, Name: "web"})
			},
			"it joins": func(tx *db.Tx) error { return inventorystore.JoinNode(tx, joining(n1, "one")) },
			"it says hello": func(tx *db.Tx) error {
				_, err := inventorystore.Heard(tx, link.Hello{Node: n1, Counter: 2}, t0())
				return err
			},
			"it is told": func(tx *db.Tx) error {
				_, err := inventorystore.Issue(tx, inventorystore.Issuing{Node: n1, Digest: document.Sum(nil)})
				return err
			},
			"it was sent": func(tx *db.Tx) error { return inventorystore.SaveSent(tx, n1, tuple(1, 1, "a"), t0()) },
			"it reports": func(tx *db.Tx) error {
				_, err := inventorystore.SaveReport(tx, clean(n1, 9, "x"), nil, t0())
				return err
			},
			"a finding": func(tx *db.Tx) error { return inventorystore.SetFinding(tx, n1, "x") },
			"something on": func(tx *db.Tx) error {
				return inventorystore.Assign(tx, mesh.Assignment{Module: "web", Node: n1}, "ann", t0())
			},
		} {
			if err := d.Write(t.Context(), f); fault.KindOf(err) != fault.NotFound && fault.KindOf(err) != fault.Conflict {
				t.Errorf("%s after it was removed: %v", name, err)
			}
		}
		addNode(t, d, n2, "web")
		want := inventory.Node{ID: n2, Name: "web", AddedAt: t0()}
		if diff := cmp.Diff(want, node(t, d, "web")); diff != "" {
			t.Errorf("the new node inherits: %s", diff)
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			keys, err := inventorystore.RevokedKeys(tx)
			if diff := cmp.Diff([]string{"Uone"}, keys); diff != "" {
				t.Error(diff)
			}
			return err
		})
	})
}

func TestRemoveNodeTakesEverythingOfItAlong(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		addNode(t, d, n2, "dns")
		dbtest.Write(t, d, func(tx *db.Tx) error {
			if err := deliverystore.AddModule(tx, mesh.Module{Name: "site"}, "ann", t0()); err != nil {
				return err
			}
			for _, n := range []string{n1, n2} {
				if err := inventorystore.Assign(tx, mesh.Assignment{Module: "site", Node: n}, "ann", t0()); err != nil {
					return err
				}
				if _, err := tx.Exec(`INSERT INTO registry_secret (id, secret_hash) VALUES ($1, 'h')`, n); err != nil {
					return err
				}
			}
			return inventorystore.RemoveNode(tx, n1, t0())
		})
		dbtest.Read(t, d, func(tx *db.Tx) error {
			left, err := db.All(tx, db.Text, `SELECT id FROM registry_secret UNION SELECT node FROM assignment`)
			if diff := cmp.Diff([]string{n2}, left); diff != "" {
				t.Error(diff)
			}
			return err
		})
	})
}

func TestJoiningAnewBeginsAnew(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		join(t, d, joining(n1, "one"))
		wanted := issue(t, d, n1, "a")
		hear(t, d, link.Hello{Node: n1, Counter: 40, Boot: "b", Host: "1.1", Speaks: []int{1, 2}, Accepted: wanted}, t0())
		dbtest.Write(t, d, func(tx *db.Tx) error {
			if _, err := inventorystore.SaveReport(tx, clean(n1, 40, "one"), []byte("{}"), t0()); err != nil {
				return err
			}
			if err := inventorystore.SaveSent(tx, n1, wanted, t0()); err != nil {
				return err
			}
			return inventorystore.SetFinding(tx, n1, "two machines say they are web")
		})
		before := node(t, d, n1)
		join(t, d, joining(n1, "one")) // the answer was lost
		if diff := cmp.Diff(before, node(t, d, n1)); diff != "" {
			t.Errorf("joining twice with the same keys: %s", diff)
		}
		if before.Report == nil || before.Sent.Tuple != wanted || before.Host != "1.1" || before.Counter != 40 {
			t.Errorf("before: %+v", before)
		}
		join(t, d, joining(n1, "two"))
		want := inventory.Node{
			ID: n1, Name: "web", AddedAt: t0(), JoinedAt: t0().Add(time.Minute), Sign: "signtwo", Nats: "Utwo", Seal: "age1two",
			Host: "1.0", Speaks: []int{1}, Wanted: wanted, Had: []string{"a"},
		}
		if diff := cmp.Diff(want, node(t, d, n1)); diff != "" {
			t.Error(diff)
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			keys, err := inventorystore.RevokedKeys(tx)
			if diff := cmp.Diff([]string{"Uone"}, keys); diff != "" {
				t.Error(diff)
			}
			applied, err2 := inventorystore.Applied(tx, n1)
			if len(applied) != 0 || err2 != nil {
				t.Errorf("applied %v, %v", applied, err2)
			}
			return err
		})
		if next := issue(t, d, n1, "b"); next != tuple(1, 2, "b") {
			t.Errorf("the ledger went on with %+v", next)
		}
		if !hear(t, d, link.Hello{Node: n1, Counter: 1}, t0()) {
			t.Error("the first hello of the new machine was ignored")
		}
	})
}

func TestHellosCountOnlyUpward(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		h := link.Hello{
			Node: n1, Boot: "boot\x00", Counter: 5, Host: "1.2", Speaks: []int{1}, Accepted: tuple(7, 43, "a"), Applied: tuple(7, 42, "b"),
			Refused: &link.Refusal{Epoch: 7, Generation: 41, Digest: document.Sum([]byte("c")), Why: "older than 43"},
		}
		if !hear(t, d, h, t0()) {
			t.Fatal("a new hello was ignored")
		}
		n := node(t, d, n1)
		want := inventory.Node{
			ID: n1, Name: "web", AddedAt: t0(), Host: "1.2", Speaks: []int{1}, Boot: "boot\uFFFD", Counter: 5, LastSeen: t0(),
			Accepted: h.Accepted, Applied: h.Applied, Refused: h.Refused,
		}
		if diff := cmp.Diff(want, n); diff != "" {
			t.Error(diff)
		}
		for _, counter := range []int64{5, 4, 0, -1} {
			if hear(t, d, link.Hello{Node: n1, Counter: counter, Accepted: tuple(7, 1, "old")}, t0().Add(time.Hour)) {
				t.Errorf("hello %d after 5 was believed", counter)
			}
		}
		if diff := cmp.Diff(want, node(t, d, n1)); diff != "" {
			t.Errorf("a replay changed: %s", diff)
		}
		if !hear(t, d, link.Hello{Node: n1, Counter: 6, Accepted: tuple(7, 44, "d")}, t0().Add(time.Hour)) {
			t.Error("hello 6 was ignored")
		}
		if n := node(t, d, n1); n.Refused != nil || n.Accepted != tuple(7, 44, "d") || !n.LastSeen.Equal(t0().Add(time.Hour)) {
			t.Errorf("after hello 6: %+v", n)
		}
	})
}

func TestAssignments(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		addNode(t, d, n2, "dns")
		site := mesh.Assignment{Module: "site", Node: n1, Settings: map[string]string{"port": "80", "name": "a\x00ä"}}
		dbtest.Write(t, d, func(tx *db.Tx) error {
			for _, m := range []string{"site", "base"} {
				if err := deliverystore.AddModule(tx, mesh.Module{Name: m}, "ann", t0()); err != nil {
					return err
				}
			}
			for _, a := range []mesh.Assignment{{Module: "site", Node: n1}, {Module: "base", Node: n2}, {Module: "base", Node: n1}, site} {
				if err := inventorystore.Assign(tx, a, "ann", t0()); err != nil {
					return err
				}
			}
			return nil
		})
		want := []mesh.Assignment{{Module: "base", Node: n1}, {Module: "base", Node: n2}, site}
		check := func(want []mesh.Assignment) {
			t.Helper()
			dbtest.Read(t, d, func(tx *db.Tx) error {
				got, err := inventorystore.Assignments(tx)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				return err
			})
		}
		check(want)
		dbtest.Read(t, d, func(tx *db.Tx) error {
			got, err := inventorystore.AssignmentsOf(tx, n1)
			if diff := cmp.Diff([]mesh.Assignment{want[0], site}, got); diff != "" {
				t.Error(diff)
			}
			return err
		})
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error { return deliverystore.RemoveModule(tx, "base", t0()) }), fault.Conflict, "2 nodes")
		for _, a := range []mesh.Assignment{{Module: "sites", Node: n1}, {Module: "site", Node: "none"}} {
			err := d.Write(t.Context(), func(tx *db.Tx) error { return inventorystore.Assign(tx, a, "ann", t0()) })
			wantKind(t, err, fault.NotFound)
		}
		unassign := func(tx *db.Tx) error { return inventorystore.Unassign(tx, "base", n1) }
		dbtest.Write(t, d, unassign)
		wantKind(t, d.Write(t.Context(), unassign), fault.NotFound, `"base"`)
		check(want[1:])
	})
}
