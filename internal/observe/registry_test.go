package observe_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/registry"
)

// published is a real registry's folder with one manifest of two blobs.
func published(t *testing.T) (dir string, blobs []document.Digest) {
	t.Helper()
	dir = t.TempDir()
	reg, err := registry.New(registry.Config{Dir: dir, Authorize: func(context.Context, registry.Access) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(reg)
	defer server.Close()
	c, err := oci.New(oci.Config{Base: server.URL, User: "b", Secret: "b"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var m oci.Manifest
	for _, text := range []string{"config", "layer"} {
		d := oci.Descriptor{MediaType: oci.MediaFile, Digest: document.Sum([]byte(text)), Size: int64(len(text))}
		blobs = append(blobs, d.Digest)
		if err := c.PushBlob(t.Context(), oci.Blob{Repository: "modules/site", Digest: d.Digest, Size: d.Size}, bytes.NewReader([]byte(text))); err != nil {
			t.Fatal(err)
		}
		if m.Config.Size == 0 {
			m.Config = d
		} else {
			m.Layers = append(m.Layers, d)
		}
	}
	if _, err := c.PushManifest(t.Context(), "modules/site", m); err != nil {
		t.Fatal(err)
	}
	return dir, blobs
}

func TestARegistryIsReadAsItLies(t *testing.T) {
	t.Parallel()
	path := func(dir string, words ...string) string {
		return filepath.Join(append([]string{dir, "docker", "registry", "v2"}, words...)...)
	}
	for want, spoil := range map[string]func(dir string, blob document.Digest) error{
		"": func(string, document.Digest) error { return nil },
		"and its blob": func(dir string, blob document.Digest) error {
			return os.RemoveAll(path(dir, "blobs", "sha256", blob.Hex()[:2], blob.Hex()))
		},
		"its bytes are": func(dir string, blob document.Digest) error {
			return os.WriteFile(path(dir, "blobs", "sha256", blob.Hex()[:2], blob.Hex(), "data"), []byte("lay0r"), 0o600)
		},
		"its repository has no link to": func(dir string, blob document.Digest) error {
			return os.RemoveAll(path(dir, "repositories", "modules/site", "_layers", "sha256", blob.Hex()))
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir, blobs := published(t)
			if err := spoil(dir, blobs[1]); err != nil {
				t.Fatal(err)
			}
			g, err := observe.Registry(dir)
			if err != nil || len(g.Manifests) != 1 || len(g.Manifests[0].Names) != 2 {
				t.Fatalf("%+v (%v)", g, err)
			}
			found := invariant.Always(invariant.Seen{Registry: g})
			if want == "" && len(found) != 0 || want != "" && (len(found) != 1 || !strings.Contains(found[0].What, want)) {
				t.Errorf("found %v, want %q", found, want)
			}
		})
	}
}

func TestARegistryThatIsNotThereHoldsNothing(t *testing.T) {
	t.Parallel()
	g, err := observe.Registry(filepath.Join(t.TempDir(), "none"))
	if err != nil || len(g.Blobs) != 0 || len(g.Manifests) != 0 {
		t.Errorf("%+v (%v)", g, err)
	}
}
