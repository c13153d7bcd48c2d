package builder

import (
	"strings"
	"testing"

	"noxmesh/delivery/build"
)

// A check makes what the build makes, and nothing of it is published but what
// says which files its archives hold.
func TestACheckPublishesNothing(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	q := repo.request(repo.commit(site(nil)), "")
	c := q
	c.Check = q.ID
	a := rig.build(identified(t, c))
	if a.Outcome != build.OutcomeBuilt || a.Tests != build.TestsPassed {
		t.Fatalf("%s %s %s", a.Outcome, a.Step, a.Why)
	}
	if log := rig.controller.logOf(identified(t, c)); !strings.Contains(log, "a check of request "+q.ID+": nothing is published") {
		t.Errorf("its log does not say so:\n%s", log)
	}
	if has, err := rig.registry.client.HasManifest(t.Context(), "site", a.Published); has || err != nil {
		t.Errorf("a manifest is published: %v %v", has, err)
	}
	if len(a.Where.Archives) != 1 {
		t.Fatalf("it has made %+v", a.Where)
	}
	for _, p := range a.Where.Archives {
		for what, blob := range map[bool]struct {
			digest string
			has    func() (bool, error)
		}{
			true:  {string(p.Index), func() (bool, error) { return rig.registry.client.HasBlob(t.Context(), "site", p.Index, p.IndexSize) }},
			false: {string(p.Blob), func() (bool, error) { return rig.registry.client.HasBlob(t.Context(), "site", p.Blob, p.Size) }},
		} {
			if has, err := blob.has(); has != what || err != nil {
				t.Errorf("blob %s is there %v, want %v: %v", blob.digest, has, what, err)
			}
		}
	}
	b := rig.build(q)
	if b.Build != a.Build || b.Content != a.Content || b.Published != a.Published {
		t.Errorf("the check has made %s, and the build %s", a.Build, b.Build)
	}
	if has, err := rig.registry.client.HasManifest(t.Context(), "site", b.Published); !has || err != nil {
		t.Errorf("the build is not published: %v", err)
	}
}

// A library that is kept has no part in a check: it is fetched and unpacked anew.
func TestACheckUsesNoLibraryThatIsKept(t *testing.T) {
	t.Parallel()
	_, rig := newRepository(t), newRig(t)
	w, err := openWorkshop(t.TempDir(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := w.fresh("one")
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{config: rig.config}
	if b.shelf, err = openLibraries(rig.config, w); err != nil {
		t.Fatal(err)
	}
	own, err := b.librariesFor(build.Request{Check: "x"}, at)
	if err != nil || own == b.shelf {
		t.Errorf("a check is given what is kept: %v", err)
	}
	if kept, err := b.librariesFor(build.Request{}, at); err != nil || kept != b.shelf {
		t.Errorf("a build is not given what is kept: %v", err)
	}
	if err := at.clear(); err != nil {
		t.Error(err)
	}
}
