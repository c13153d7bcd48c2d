package identitystore_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/identity"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	"noxmesh/link"
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

func token(id string) identitystore.TokenRow {
	return identitystore.TokenRow{
		ID: id, Kind: identity.KindNode, Target: "n1aaaaaaaa", Name: "web", Hash: "hash-of-" + id,
		MadeBy: "ann", MadeAt: t0(), Expires: t0().Add(time.Hour),
	}
}

func addToken(t *testing.T, d *db.DB, id string) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) error { return identitystore.AddToken(tx, token(id)) })
}

func use(t *testing.T, d *db.DB, id, hash string, now time.Time) (row identitystore.TokenRow, err error) {
	t.Helper()
	err = d.Write(t.Context(), func(tx *db.Tx) error {
		row, err = identitystore.UseToken(tx, id, hash, now)
		return err
	})
	return row, err
}

func TestATokenIsUsedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addToken(t, d, "t1")
		addToken(t, d, "t2")
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error { return identitystore.AddToken(tx, token("t1")) }), fault.Conflict)
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error { return identitystore.AddToken(tx, identitystore.TokenRow{ID: "t3"}) }), fault.Broken)
		_, unknown := use(t, d, "none", "hash-of-t1", t0())
		_, wrong := use(t, d, "t1", "hash-of-t2", t0())
		_, empty := use(t, d, "t1", "", t0())
		for _, err := range []error{unknown, wrong, empty} {
			wantKind(t, err, fault.Denied)
			if err.Error() != unknown.Error() {
				t.Errorf("without the secret one learns that %q", err)
			}
		}
		got, err := use(t, d, "t1", "hash-of-t1", t0().Add(time.Minute))
		want := token("t1")
		want.UsedAt = t0().Add(time.Minute)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
		_, err = use(t, d, "t1", "hash-of-t1", t0().Add(time.Minute))
		wantKind(t, err, fault.Denied, "was used", "mesh node add")
		_, err = use(t, d, "t2", "hash-of-t2", t0().Add(-time.Hour))
		wantKind(t, err, fault.Denied, "is yet to come", "mesh node add")
		_, err = use(t, d, "t2", "hash-of-t2", t0().Add(time.Hour))
		wantKind(t, err, fault.Denied, "ended")
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := identitystore.Tokens(tx)
			if diff := cmp.Diff([]identitystore.TokenRow{want, token("t2")}, all); diff != "" {
				t.Error(diff)
			}
			return err
		})
	})
}

func TestAUseThatIsRolledBackIsNoUse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addToken(t, d, "t1")
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			if _, err := identitystore.UseToken(tx, "t1", "hash-of-t1", t0()); err != nil {
				return err
			}
			return fault.New(fault.Denied, "the keys are wrong")
		}), fault.Denied, "the keys are wrong")
		if _, err := use(t, d, "t1", "hash-of-t1", t0()); err != nil {
			t.Error(err)
		}
	})
}

func TestOfTwoWhoBringOneTokenAtOnceExactlyOneJoins(t *testing.T) {
	t.Parallel()
	dbtest.EachAddress(t, func(t *testing.T, dsn string) {
		a, b := dbtest.Open(t, dsn, "c"), dbtest.Open(t, dsn, "c")
		for _, id := range []string{"t1", "t2", "t3", "t4", "t5"} {
			addToken(t, a, id)
			var joined atomic.Int64
			var all sync.WaitGroup
			for _, d := range []*db.DB{a, b, a, b} {
				all.Go(func() {
					switch _, err := use(t, d, id, "hash-of-"+id, t0()); fault.KindOf(err) {
					case fault.Unknown:
						joined.Add(1)
					case fault.Denied:
					default:
						t.Error(err)
					}
				})
			}
			all.Wait()
			if joined.Load() != 1 {
				t.Errorf("%d joined with one token", joined.Load())
			}
		}
	})
}

func TestBuilders(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		one := identitystore.BuilderRow{ID: "b1aaaaaaaa", Name: "forge", Sign: "sign1", Nats: "U1", AddedAt: t0(), Version: "1.0"}
		two := identitystore.BuilderRow{ID: "b2aaaaaaaa", Name: "anvil", Sign: "sign2", Nats: "U2", AddedAt: t0(), Version: "1.0"}
		add := func(b identitystore.BuilderRow) func(*db.Tx) error {
			return func(tx *db.Tx) error { return identitystore.AddBuilder(tx, b) }
		}
		dbtest.Write(t, d, add(one))
		dbtest.Write(t, d, add(two))
		wantKind(t, d.Write(t.Context(), add(identitystore.BuilderRow{ID: "b3aaaaaaaa", Name: "forge"})), fault.Conflict, "forge")
		work := link.Work{Builder: one.ID, Counter: 3, Version: "1.1", Platform: "linux/amd64", Sandbox: "no bubblewrap", Speaks: []int{1}}
		see := func(tx *db.Tx) error { return identitystore.SeeBuilder(tx, work, t0().Add(time.Minute)) }
		dbtest.Write(t, d, see)
		wantKind(t, d.Write(t.Context(), see), fault.Conflict, "not newer")
		one.Counter, one.Version, one.Platform, one.Sandbox, one.Speaks, one.LastSeen = 3, "1.1", "linux/amd64", "no bubblewrap", []int{1}, t0().Add(time.Minute)
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := identitystore.Builders(tx)
			if diff := cmp.Diff([]identitystore.BuilderRow{two, one}, all); diff != "" {
				t.Error(diff)
			}
			for _, by := range []string{one.ID, "forge"} {
				got, err := identitystore.Builder(tx, by)
				if diff := cmp.Diff(one, got); diff != "" || err != nil {
					t.Error(diff, err)
				}
			}
			return err
		})
		dbtest.Write(t, d, func(tx *db.Tx) error {
			if err := identitystore.SetRegistrySecret(tx, one.ID, "h1"); err != nil {
				return err
			}
			if err := identitystore.SetRegistrySecret(tx, one.ID, "h2"); err != nil {
				return err
			}
			hash, err := identitystore.RegistrySecret(tx, one.ID)
			if hash != "h2" {
				t.Errorf("the secret's hash is %q", hash)
			}
			if err != nil {
				return err
			}
			return identitystore.RemoveBuilder(tx, one.ID, t0())
		})
		for what, f := range map[string]func(tx *db.Tx) error{
			"its registry credential": func(tx *db.Tx) error { _, err := identitystore.RegistrySecret(tx, one.ID); return err },
			"the builder":             func(tx *db.Tx) error { _, err := identitystore.Builder(tx, one.ID); return err },
			"a question for work": func(tx *db.Tx) error {
				return identitystore.SeeBuilder(tx, link.Work{Builder: one.ID, Counter: 9}, t0())
			},
			"removing it again": func(tx *db.Tx) error { return identitystore.RemoveBuilder(tx, one.ID, t0()) },
		} {
			if err := d.Write(t.Context(), f); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s after it was removed: %v", what, err)
			}
		}
		wantKind(t, d.Write(t.Context(), add(one)), fault.Conflict, "was given")
		one.ID = "b4aaaaaaaa"
		dbtest.Write(t, d, add(one))
		dbtest.Read(t, d, func(tx *db.Tx) error {
			keys, err := identitystore.RevokedKeys(tx)
			if diff := cmp.Diff([]string{"U1"}, keys); diff != "" {
				t.Error(diff)
			}
			return err
		})
	})
}

func TestLoginsAndSettings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ann := identitystore.LoginRow{ID: "l1aaaaaaaa", Name: "ann", Role: "operator", Hash: "h", MadeAt: t0()}
		add := func(tx *db.Tx) error { return identitystore.AddLogin(tx, ann) }
		dbtest.Write(t, d, add)
		wantKind(t, d.Write(t.Context(), add), fault.Conflict, "ann")
		dbtest.Read(t, d, func(tx *db.Tx) error {
			got, err := identitystore.Login(tx, ann.ID)
			if diff := cmp.Diff(ann, got); diff != "" {
				t.Error(diff)
			}
			all, err2 := identitystore.Logins(tx)
			if diff := cmp.Diff([]identitystore.LoginRow{ann}, all); diff != "" || err2 != nil {
				t.Error(diff, err2)
			}
			return err
		})
		dbtest.Write(t, d, func(tx *db.Tx) error { return identitystore.RemoveLogin(tx, "ann") })
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error { return identitystore.RemoveLogin(tx, "ann") }), fault.NotFound)
		wantKind(t, d.Read(t.Context(), func(tx *db.Tx) error { _, err := identitystore.Login(tx, ann.ID); return err }), fault.NotFound)
		for _, value := range []string{"one", "two"} {
			dbtest.Write(t, d, func(tx *db.Tx) error { return identitystore.SetSetting(tx, "mesh", value) })
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			value, found, err := identitystore.Setting(tx, "mesh")
			if value != "two" || !found {
				t.Errorf("the setting is %q %v", value, found)
			}
			_, found, err2 := identitystore.Setting(tx, "none")
			if found || err2 != nil {
				t.Error("a setting that nobody set", found, err2)
			}
			return err
		})
	})
}
