//go:build meshcrash && power

package registry

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/internal/oci"
	"noxmesh/internal/power"
)

// publication is blobs and, last, the manifest that names them.
type publication struct {
	blobs    map[oci.Blob][]byte
	order    []oci.Blob
	manifest oci.Manifest
	digest   document.Digest
}

func published(t *testing.T, shared oci.Blob, data []byte) publication {
	t.Helper()
	p := publication{blobs: map[oci.Blob][]byte{shared: data}, order: []oci.Blob{shared}}
	for _, size := range []int{100, 40_000} {
		b, data := random(t, size)
		p.blobs[b] = data
		p.order = append(p.order, b)
	}
	p.manifest = oci.Manifest{ArtifactType: oci.MediaBuilt, Config: oci.Descriptor{MediaType: oci.MediaBuilt, Digest: p.order[1].Digest, Size: p.order[1].Size}}
	for _, b := range p.order {
		p.manifest.Layers = append(p.manifest.Layers, layer(b))
	}
	_, digest, err := p.manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	p.digest = digest
	return p
}

// push publishes until the registry is gone, and says how much was acknowledged.
func (p publication) push(ctx context.Context, c *oci.Client) (blobs []document.Digest, whole bool) {
	for _, b := range p.order {
		if c.PushBlob(ctx, b, bytes.NewReader(p.blobs[b])) != nil {
			return blobs, false
		}
		blobs = append(blobs, b.Digest)
	}
	_, err := c.PushManifest(ctx, mine, p.manifest)
	return blobs, err == nil
}

// during runs a registry on the disk in a process of its own while f asks it.
func during(t *testing.T, d *power.Disk, env []string, f func(*oci.Client)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), env...), "REGISTRY_TO_KILL="+d.Dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err == nil { // or it was killed before it listened
		c, err := oci.New(oci.Config{Base: "http://" + strings.TrimSpace(address), User: "builder", Secret: "b", RequestID: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		f(c)
		c.Close()
	}
	if slices.Contains(env, "MESH_CRASH="+power.End) {
		d.Fail(power.Lost)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it is killed
}

// TestPowerIsCutWhileABuildIsPublished cuts the power before and after each
// effect of the registry while two builds that share a blob are published.
func TestPowerIsCutWhileABuildIsPublished(t *testing.T) {
	t.Parallel()
	blank := power.Blank(t, "16M")
	shared, data := random(t, 1000)
	both := []publication{published(t, shared, data), published(t, shared, data)}
	passed := filepath.Join(t.TempDir(), "effects")
	during(t, blank.Mount(t), []string{"MESH_EFFECTS=" + passed}, func(c *oci.Client) {
		for _, p := range both {
			if _, whole := p.push(t.Context(), c); !whole {
				t.Fatal("not published")
			}
		}
	})
	text, err := os.ReadFile(passed)
	if err != nil {
		t.Fatal(err)
	}
	cuts := power.Cuts(string(text))
	t.Logf("%d power cuts", len(cuts))
	if len(cuts) < 80 {
		t.Fatalf("only %v", cuts)
	}
	for _, cut := range cuts {
		t.Run(cut.String(), func(t *testing.T) {
			t.Parallel()
			d := blank.Mount(t)
			var blobs, manifests []document.Digest
			during(t, d, power.Disks{d}.Env(cut), func(c *oci.Client) {
				for _, p := range both {
					acknowledged, whole := p.push(t.Context(), c)
					if blobs = append(blobs, acknowledged...); !whole {
						return
					}
					manifests = append(manifests, p.digest)
				}
			})
			d.Back()
			holdsPublished(t, d.Dir, blobs, manifests)
			during(t, d, nil, func(c *oci.Client) {
				for _, p := range both {
					if _, whole := p.push(t.Context(), c); !whole {
						t.Error("it cannot be published after the cut")
					}
					if _, err := c.PullManifest(t.Context(), mine, p.digest); err != nil {
						t.Error(err)
					}
					for b, data := range p.blobs {
						var got bytes.Buffer
						if err := c.PullBlob(t.Context(), b, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
							t.Error(err)
						}
					}
				}
			})
			holdsPublished(t, d.Dir, nil, []document.Digest{both[0].digest, both[1].digest})
		})
	}
}

// holdsPublished is that nothing is half there, and that everything is which was acknowledged.
func holdsPublished(t *testing.T, dir string, blobs, manifests []document.Digest) {
	t.Helper()
	g, err := observe.Registry(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range invariant.Always(invariant.Seen{Registry: g}) {
		t.Error(f)
	}
	for _, b := range blobs {
		if _, ok := g.Blobs[b]; !ok {
			t.Errorf("blob %s was acknowledged and is not there", b.Short())
		}
	}
	for _, m := range manifests {
		if !slices.ContainsFunc(g.Manifests, func(is invariant.Manifest) bool { return is.Digest == m }) {
			t.Errorf("manifest %s was acknowledged and is not there", m.Short())
		}
	}
}
