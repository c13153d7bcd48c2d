package inventorystore_test

import (
	"fmt"
	"testing"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/report"
)

func setSecret(t *testing.T, d *db.DB, s inventory.Secret) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) error {
		s.Module, s.Sealed, s.By = "site", fmt.Sprintf("%s-%d", s.Name, s.Version), "ann"
		return inventorystore.SetSecret(tx, s, "age1one")
	})
}

// secretsOf is a line for each secret of a node: its version and what is applied.
func secretsOf(t *testing.T, d *db.DB, id string) (text string) {
	t.Helper()
	dbtest.Read(t, d, func(tx *db.Tx) error {
		all, err := inventorystore.SecretsOf(tx, id)
		for _, s := range all {
			text += fmt.Sprintf("%s %s v%d %s by %s applied %d;", s.Module, s.Name, s.Version, s.Sealed, s.By, s.Applied)
		}
		return err
	})
	return text
}

func TestSecretsAreKeptForEachNode(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		addNode(t, d, n2, "db")
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			return inventorystore.SetSecret(tx, inventory.Secret{Node: n1, Module: "site", Name: "url", Version: 1, Sealed: "x", By: "ann", At: t0()}, "")
		})
		wantKind(t, err, fault.Conflict, `node "web" has another key`) // it has none
		join(t, d, joining(n1, "one"))
		join(t, d, joining(n2, "one"))
		err = d.Write(t.Context(), func(tx *db.Tx) error {
			return inventorystore.SetSecret(tx, inventory.Secret{Node: n1, Module: "site", Name: "url", Version: 1, Sealed: "x", By: "ann", At: t0()}, "age1two")
		})
		wantKind(t, err, fault.Conflict, "give it again")
		next := func(name string) (n int64) {
			dbtest.Read(t, d, func(tx *db.Tx) (err error) {
				n, err = inventorystore.NextVersion(tx, "site", name)
				return err
			})
			return n
		}
		setSecret(t, d, inventory.Secret{Node: n1, Name: "url", Version: 1, At: t0()})
		setSecret(t, d, inventory.Secret{Node: n1, Name: "url", Version: 2, At: t0()})
		setSecret(t, d, inventory.Secret{Node: n2, Name: "url", Version: 3, At: t0()})
		setSecret(t, d, inventory.Secret{Node: n1, Name: "key", Version: 1, At: t0()})
		if a, b, c := next("url"), next("key"), next("none"); a != 4 || b != 2 || c != 1 {
			t.Errorf("the next versions are %d, %d, %d", a, b, c)
		}
		if got := secretsOf(t, d, n1); got != "site key v1 key-1 by ann applied 0;site url v2 url-2 by ann applied 0;" {
			t.Error(got)
		}

		join(t, d, joining(n1, "one")) // the same keys: nothing is lost
		if got := secretsOf(t, d, n1); got == "" {
			t.Error("it is lost")
		}
		join(t, d, joining(n1, "two"))
		if got := secretsOf(t, d, n1); got != "" {
			t.Errorf("sealed to a key that nobody has: %s", got)
		}
		dbtest.Write(t, d, func(tx *db.Tx) error { return inventorystore.RemoveNode(tx, n2, t0()) })
		if got := secretsOf(t, d, n2); got != "" {
			t.Errorf("of a node that is gone: %s", got)
		}
		addNode(t, d, n3, "three")
		join(t, d, joining(n3, "one"))
		setSecret(t, d, inventory.Secret{Node: n3, Name: "url", Version: 1, At: t0()})
		had := false
		for _, want := range []bool{true, false} {
			dbtest.Write(t, d, func(tx *db.Tx) (err error) {
				had, err = inventorystore.RemoveSecret(tx, n3, "site", "url")
				return err
			})
			if had != want {
				t.Errorf("there was one: %v", had)
			}
		}
		setSecret(t, d, inventory.Secret{Node: n3, Name: "url", Version: 1, At: t0()})
		dbtest.Write(t, d, func(tx *db.Tx) error { return inventorystore.ForgetSecrets(tx, "site") })
		if got := secretsOf(t, d, n3); got != "" {
			t.Errorf("of a module that is gone: %s", got)
		}
	})
}

// X48: what is applied is what the node has reported, and an older value stays
// applied until it has reported on another.
func TestASecretIsAppliedByTheNodesWordAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		join(t, d, joining(n1, "one"))
		issueWith := func(version int64, at time.Time) (tuple declaration.Tuple) {
			t.Helper()
			dbtest.Write(t, d, func(tx *db.Tx) (err error) {
				body := fmt.Sprint("body ", version, at)
				tuple, err = inventorystore.Issue(tx, inventorystore.Issuing{Node: n1, Digest: document.Sum([]byte(body)), Modules: []string{"site"}, At: at, Secrets: map[string]inventory.SecretFile{
					"site/env": {Digest: document.Sum([]byte(fmt.Sprint("env", version))), Versions: map[string]int64{"url": version}},
				}})
				return err
			})
			return tuple
		}
		sequence := int64(0)
		says := func(on declaration.Tuple, version int64, state report.State) {
			t.Helper()
			sequence++
			r := clean(n1, sequence, "x")
			r.Accepted, r.Resources = on, []report.Resource{{ID: "site/env", Digest: document.Sum([]byte(fmt.Sprint("env", version))), State: state}}
			if !keep(t, d, r, t0().Add(time.Hour)) {
				t.Fatal("the report was ignored")
			}
		}
		is := func(want string) {
			t.Helper()
			if got := secretsOf(t, d, n1); got != want+";" {
				t.Errorf("%s, want %s", got, want)
			}
		}
		setSecret(t, d, inventory.Secret{Node: n1, Name: "url", Version: 1, At: t0()})
		one := issueWith(1, t0())
		is("site url v1 url-1 by ann applied 0")
		says(one, 1, report.StateFailed)
		is("site url v1 url-1 by ann applied 0")
		says(one, 1, report.StateChanged)
		is("site url v1 url-1 by ann applied 1")

		setSecret(t, d, inventory.Secret{Node: n1, Name: "url", Version: 2, At: t0().Add(time.Second)}) // the node is away
		two := issueWith(2, t0().Add(time.Second))
		says(one, 1, report.StateOK)
		is("site url v2 url-2 by ann applied 1")
		says(two, 2, report.StateFailed) // what it has is still the first
		is("site url v2 url-2 by ann applied 1")
		says(declaration.Tuple{Epoch: two.Epoch, Generation: two.Generation, Digest: document.Sum([]byte("another"))}, 2, report.StateOK) // never issued
		is("site url v2 url-2 by ann applied 1")
		says(two, 2, report.StateChanged)
		is("site url v2 url-2 by ann applied 2")

		// Removed and given again, versions begin anew: what was said of the first
		// first one says nothing of this.
		dbtest.Write(t, d, func(tx *db.Tx) error {
			_, err := inventorystore.RemoveSecret(tx, n1, "site", "url")
			return err
		})
		setSecret(t, d, inventory.Secret{Node: n1, Name: "url", Version: 1, At: t0().Add(time.Minute)})
		says(one, 1, report.StateOK)
		is("site url v1 url-1 by ann applied 0")
	})
}
