package controller

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/api"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/registry"
	"noxmesh/report"
)

// shelved is a registry whose blobs are really there, and every manifest.
type shelved struct {
	quiet
	*oci.Client
}

func (s shelved) HasManifest(context.Context, string, document.Digest) (bool, error) {
	return true, nil
}

func (s shelved) HasBlob(ctx context.Context, repository string, d document.Digest, size int64) (bool, error) {
	return s.Client.HasBlob(ctx, repository, d, size)
}

// X23: what has rotted in the registry is found, gone from it, and built again.
func TestWhatHasRottedIsBuiltAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	reg, err := registry.New(registry.Config{Dir: dir, Authorize: func(context.Context, registry.Access) error { return nil }})
	r.must(err)
	srv := httptest.NewServer(reg)
	t.Cleanup(func() {
		srv.Close()
		r.must(reg.Close())
	})
	client, err := oci.New(oci.Config{Base: srv.URL, User: "b", Secret: "s"})
	r.must(err)
	t.Cleanup(client.Close)
	r.stores = shelved{Client: client}
	r.restart()
	r.edges.registry = reg
	blob := oci.Blob{Repository: "site", Digest: document.Sum([]byte("x")), Size: 1}
	r.must(client.PushBlob(t.Context(), blob, strings.NewReader("x")))
	r.repo("site", "first")
	r.add("site", api.ModuleAddIn{Repository: r.address("site")})
	r.step("site")
	r.library("site", "x")
	asked := func() (open int) {
		_, err := r.buildStep(t.Context(), "site")
		r.must(err)
		r.must(r.record.Read(t.Context(), func(tx *db.Tx) error {
			rows, err := deliverystore.Requests(tx, "site", deliverystore.Open)
			open = len(rows)
			return err
		}))
		return open
	}
	if n := asked(); n != 0 {
		t.Fatalf("nothing has rotted, and %d are asked for", n)
	}
	name := strings.TrimPrefix(string(blob.Digest), "sha256:")
	r.must(os.WriteFile(filepath.Join(dir, "docker/registry/v2/blobs/sha256", name[:2], name, "data"), []byte("y"), 0o600))
	if n := asked(); n != 0 {
		t.Fatalf("nobody has looked at the bytes, and %d are asked for", n)
	}
	result, err := r.weedStep(t.Context(), weedKey)
	r.must(err)
	if result.After != 0 {
		t.Errorf("the first look waits %s", result.After)
	}
	if n := asked(); n != 1 {
		t.Errorf("%d are asked for, want 1", n)
	}
	// A node that says so again and again does not have it all read again and again.
	if result, err = r.weedStep(t.Context(), weedKey); err != nil || result.After <= 0 || result.After > weedGap {
		t.Errorf("soon after: %+v %v", result, err)
	}
}

// A node that was given other bytes brings a look about, and nothing else does.
func TestWhoIsGivenOtherBytesBringsALookAbout(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]bool{
		oci.OtherBytes + " sha256:00: what came is sha256:01": true, "frame 3 of the archive has not the digest that the table gives it": true, "no space left on device": false, "": false,
	} {
		r := report.Report{Resources: []report.Resource{{ID: "site/a", State: report.StateOK}, {ID: "site/b", State: report.StateFailed, Error: says}}}
		if got := suspects(r); got != want {
			t.Errorf("%q: %v", says, got)
		}
	}
}
