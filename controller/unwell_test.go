package controller

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/oci/registry"
	"noxmesh/status"
)

func TestUnwellSinceTheFirstFailureUntilAWrite(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	var u unwell
	u.note(fault.New(fault.NotFound, "no module"), at(1))
	if why, _ := u.now(); why != "" {
		t.Errorf("a refusal counts as an illness of the record: %q", why)
	}
	u.note(fault.New(fault.Unavailable, "disk full"), at(2))
	u.note(fault.New(fault.Unavailable, "read-only"), at(3))
	u.note(fault.New(fault.Conflict, "there already"), at(4))
	if why, since := u.now(); why != "read-only" || !since.Equal(at(2)) {
		t.Errorf("unwell = %q since %v, want the last reason since the first failure", why, since)
	}
	u.note(nil, at(5))
	if why, _ := u.now(); why != "" {
		t.Errorf("after a write: %q, want nothing", why)
	}
}

// That the registry could not keep something stands until it could, and not
// until somebody happens to publish.
func TestTheRegistryIsWellAgainByItself(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	var err error
	r.edges.registry, err = registry.New(registry.Config{Dir: dir, Authorize: func(context.Context, registry.Access) error { return nil }, Kept: r.shelve})
	r.must(err)
	defer r.edges.registry.Close()
	look := func() *status.Unwell {
		_, err := r.registryStep(t.Context(), mendKey)
		r.must(err)
		return r.status().Registry
	}
	if u := look(); u != nil {
		t.Errorf("at first: %+v", u)
	}
	r.must(os.RemoveAll(filepath.Join(dir, "staging"))) // what stands against it
	r.shelve(fault.New(fault.Unavailable, "no space left on device"))
	since := r.status().Registry.Since
	if u := look(); u == nil || !u.Since.Equal(since) || !strings.Contains(u.Why, dir) {
		t.Errorf("while something stands against it: %+v", u)
	}
	r.must(os.Mkdir(filepath.Join(dir, "staging"), 0o700))
	if u := look(); u != nil {
		t.Errorf("nothing stands against it: %+v", u)
	}
}
