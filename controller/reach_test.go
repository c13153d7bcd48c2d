package controller

import (
	"testing"
	"time"

	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/identity"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/registry"
	"noxmesh/link"
	"noxmesh/manifest"
)

// A builder reads and writes what its open request is about, and nothing else.
func TestWhatABuilderReachesInTheRegistry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secret := identity.NewSecret()
	lib := document.Sum([]byte("lib"))
	request := build.Request{
		Format: 1, ID: "open", Module: "app", Target: "app", Platform: "p", Attempt: 1, Limit: 60,
		Closure: []manifest.Input{{Module: "lib", Artifact: "sdk", Digest: lib}},
		Laid:    []build.Laid{{Module: "lib", Artifact: "sdk", Language: "go", Digest: lib}},
	}
	key, err := link.NewKey()
	r.must(err)
	r.tx(func(tx *db.Tx) error {
		for _, id := range []string{"builder1", "builder2"} {
			r.must(identitystore.AddBuilder(tx, identitystore.BuilderRow{ID: id, Name: "b" + id, Sign: key.Public(), AddedAt: clock.Now()}))
			r.must(identitystore.SetRegistrySecret(tx, id, identity.HashSecret(secret)))
		}
		for id, role := range map[string]identity.Role{"operator1": identity.Operator, "viewer001": identity.Viewer} {
			r.must(identitystore.AddLogin(tx, identitystore.LoginRow{ID: id, Name: id, Role: role, Hash: identity.HashSecret(secret), MadeAt: clock.Now()}))
		}
		r.must(identitystore.SetRegistrySecret(tx, testNode, identity.HashSecret(secret)))
		r.must(deliverystore.AddRequest(tx, deliverystore.RequestRow{Request: request, MadeAt: clock.Now()}))
		_, err := deliverystore.Lease(tx, deliverystore.Leasing{Builder: "builder1", Platform: "p", Sandbox: true, Now: clock.Now(), Lease: time.Minute})
		return err
	})
	for _, c := range []struct {
		user, request, repository string
		write, may                bool
	}{
		{"builder1", "open", "app", true, true},
		{"builder1", "open", "app", false, true},
		{"builder1", "open", "lib", false, true},
		{"builder1", "open", "lib", true, false},
		{"builder1", "open", "other", false, false},
		{"builder1", "open", "other", true, false},
		{"builder1", "", "lib", false, false},
		{"builder1", "", "", false, true}, // whether it has a credential
		{"builder2", "open", "lib", false, false},
		{"builder2", "open", "app", true, false},
		{testNode, "", "other", false, true},
		{testNode, "open", "app", true, false},
		{"nobody", "open", "app", false, false},
		{"operator1", "", "other", false, true}, // with the tools that people have
		{"operator1", "", "", false, true},
		{"operator1", "open", "app", true, false},
		{"viewer001", "", "other", false, false},
		{"viewer001", "", "", false, false},
	} {
		err := r.authorize(t.Context(), registry.Access{Repository: c.repository, Write: c.write, User: c.user, Password: secret.Reveal(), RequestID: c.request})
		if c.may && err != nil || !c.may && fault.KindOf(err) != fault.Denied {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := r.authorize(t.Context(), registry.Access{Repository: "app", User: "operator1", Password: "another"}); fault.KindOf(err) != fault.Denied {
		t.Errorf("an operator with another secret: %v", err)
	}
	r.tx(func(tx *db.Tx) error { return deliverystore.Withdraw(tx, "open", "another comes first", clock.Now()) })
	err = r.authorize(t.Context(), registry.Access{Repository: "lib", User: "builder1", Password: secret.Reveal(), RequestID: "open"})
	if fault.KindOf(err) != fault.Denied {
		t.Errorf("of a request that is withdrawn: %v", err)
	}
}
