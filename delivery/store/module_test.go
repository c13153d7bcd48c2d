package deliverystore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

func TestModules(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web", "a-b", "ab", "a0") // the language of a database would sort these otherwise
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := deliverystore.Modules(tx)
			var names []string
			for _, m := range all {
				names = append(names, m.Name)
			}
			if diff := cmp.Diff([]string{"a-b", "a0", "ab", "web"}, names); diff != "" {
				t.Error(diff)
			}
			return err
		})
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			return deliverystore.AddModule(tx, module("web"), "bob", t0())
		}), fault.Conflict, `"web"`)
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			return deliverystore.AddModule(tx, module("Web!"), "bob", t0())
		}), fault.Invalid)
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			return deliverystore.SetPolicy(tx, "web", "sometimes", "bob", t0())
		}), fault.Invalid, "manual")
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			return deliverystore.SetPolicy(tx, "wed", "auto", "bob", t0())
		}), fault.NotFound, `did you mean "web"?`)
		at := t0().Add(time.Hour)
		dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.SetPolicy(tx, "web", "auto", "bob", at) })
		dbtest.Read(t, d, func(tx *db.Tx) error {
			got, err := deliverystore.Module(tx, "web")
			want := deliverystore.ModuleRow{Module: module("web"), AddedBy: "ann", AddedAt: t0(), Policy: "auto", PolicyBy: "bob", PolicyAt: at}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			return err
		})
	})
}

func TestSources(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web", "dns")
		content := "a\x00b\u2028<script>"
		want := source.Source{
			Module: "web", Ref: "refs/heads/main", Commit: "c1", Tree: "t1", Head: "c2", LookedAt: t0(), MovedAt: t0().Add(-time.Hour),
			State: source.BadManifest, Why: "line 3: \x1b[31m", Since: t0(),
			Notices: []source.Notice{{Kind: source.Renamed, From: "refs/heads/a", To: "refs/heads/b", Since: t0()}},
			Manifest: manifest.Source{
				Module: "web", Requires: []string{"dns"},
				Resources: []manifest.Resource{{ID: "f", Type: "file", Path: "/etc/f", Content: &content}},
				Build:     &manifest.Build{Run: [][]string{{"make", "site"}}, Artifacts: map[string]manifest.Artifact{"s": {Type: "archive", Path: "d"}}},
			},
		}
		for range 2 { // again is the same
			dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.SaveSource(tx, want) })
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			got, err := deliverystore.Sources(tx)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(map[string]source.Source{"web": want}, got); diff != "" {
				t.Error(diff)
			}
			none, err := deliverystore.Source(tx, "dns")
			if diff := cmp.Diff(source.Source{Module: "dns"}, none); diff != "" {
				t.Error(diff)
			}
			return err
		})
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			return deliverystore.SaveSource(tx, source.Source{Module: "gone"})
		}), fault.NotFound)
	})
}

func TestRemoveModuleKeepsHistory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web")
		b := made(t, d, "web", "c1", t0())
		dbtest.Write(t, d, func(tx *db.Tx) error {
			if err := deliverystore.SaveSource(tx, source.Source{Module: "web", Commit: "c1"}); err != nil {
				return err
			}
			_, err := deliverystore.Declare(tx, deliverystore.DeclareWrite{Module: "web", Build: b, Nodes: []string{"n1"}, By: "ann", At: t0()})
			return err
		})
		remove := func(tx *db.Tx) error { return deliverystore.RemoveModule(tx, "web", t0()) }
		wantKind(t, d.Write(t.Context(), remove), fault.Conflict, "mesh unassign web")
		add(t, d, request(t, "web", "c2", 1, t0().Add(time.Hour)))
		given := mustTake(t, d, "b1", t0().Add(time.Hour))
		dbtest.Write(t, d, func(tx *db.Tx) error {
			if err := deliverystore.Undeclare(tx, "web", "n1"); err != nil {
				return err
			}
			return remove(tx)
		})
		wantKind(t, d.Write(t.Context(), remove), fault.NotFound)
		if diff := cmp.Diff([]string{"web c1 built"}, attempts(t, d, "web")); diff != "" {
			t.Error(diff)
		}
		dbtest.Write(t, d, func(tx *db.Tx) error {
			stop, err := deliverystore.Extend(tx, given.ID, "b1", t0().Add(time.Hour), lease)
			if stop == "" {
				t.Error("the builder of a removed module goes on")
			}
			return err
		})
		addModule(t, d, "web")
		dbtest.Read(t, d, func(tx *db.Tx) error {
			s, err := deliverystore.Source(tx, "web")
			if s.Commit != "" {
				t.Error("a module that was added again has the source of the one before")
			}
			writes, err2 := deliverystore.DeclareWrites(tx, "web", 0)
			if err2 != nil || len(writes) != 1 {
				t.Errorf("%d declare-writes are kept, %v", len(writes), err2)
			}
			return err
		})
		add(t, d, request(t, "web", "c2", 1, t0().Add(2*time.Hour)))
		mustTake(t, d, "b1", t0().Add(2*time.Hour))
	})
}
