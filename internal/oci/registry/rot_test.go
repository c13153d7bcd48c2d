package registry

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/oci"
)

// blobPath is where a blob lies.
func blobPath(dir string, d document.Digest) string {
	name := strings.TrimPrefix(string(d), "sha256:")
	return filepath.Join(dir, blobs, name[:2], name, "data")
}

// rot flips one bit of a file, as a disk does.
func rot(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What has rotted is taken away and nothing else; it is gone for whoever asks,
// and can be published again under its name.
func TestWhatHasRottedIsTakenAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	reg, err := New(Config{Dir: dir, Authorize: rules})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(reg)
	t.Cleanup(func() {
		srv.Close()
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &served{t, dir, srv}
	c := s.builder()
	weed := func() (found []document.Digest) {
		t.Helper()
		if err := reg.Weed(t.Context(), 1<<30, func(d document.Digest) { found = append(found, d) }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := weed(); len(found) != 0 {
		t.Errorf("in an empty registry: %v", found)
	}
	var all []oci.Blob
	var bodies [][]byte
	for _, size := range []int{1, 1000, 3 << 18} {
		blob, data := random(t, size)
		if err := c.PushBlob(t.Context(), blob, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		all, bodies = append(all, blob), append(bodies, data)
	}
	if found := weed(); len(found) != 0 {
		t.Errorf("nothing has rotted: %v", found)
	}
	for n, blob := range all {
		rot(t, blobPath(dir, blob.Digest), len(bodies[n])-1)
		if has, err := c.HasBlob(t.Context(), mine, blob.Digest, blob.Size); err != nil || !has {
			t.Fatalf("nobody has looked yet: %v %v", has, err)
		}
		if found := weed(); !slices.Equal(found, []document.Digest{blob.Digest}) {
			t.Errorf("found %v, want %s", found, blob.Digest)
		}
		for m, other := range all {
			if has, err := c.HasBlob(t.Context(), mine, other.Digest, other.Size); err != nil || has != (m != n) {
				t.Errorf("after %d has rotted, %d is there: %v %v", n, m, has, err)
			}
		}
		if err := c.PushBlob(t.Context(), blob, bytes.NewReader(bodies[n])); err != nil {
			t.Fatalf("publishing it again: %v", err)
		}
		if err := c.PullBlob(t.Context(), blob, io.Discard); err != nil {
			t.Error(err)
		}
	}
	if found := weed(); len(found) != 0 {
		t.Errorf("all is whole again: %v", found)
	}
	rot(t, blobPath(dir, all[1].Digest), 0)
	if err := c.PullBlob(t.Context(), all[1], io.Discard); err == nil || !strings.Contains(err.Error(), oci.OtherBytes) {
		t.Errorf("what has rotted is pulled: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(filepath.Dir(blobPath(dir, all[1].Digest))))
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []oci.Blob{all[0], all[2]} { // of 256 folders it may be in the same
		left = slices.DeleteFunc(left, func(d os.DirEntry) bool { return d.Name() == other.Digest.Hex() })
	}
	if len(left) != 1 || left[0].Name() != all[1].Digest.Hex() {
		t.Errorf("beside what has rotted: %v", left)
	}
}
