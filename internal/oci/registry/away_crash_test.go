//go:build meshcrash

package registry

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/elsewhere"
	"noxmesh/internal/oci/registry/registrytest"
)

// TestEveryEffectOfAPushElsewhereMayBeTheLast kills the controller's end before and
// after each effect of a push to another's registry, and lets it fail: no manifest
// shows before its blobs, whoever pushes again is done, what is about the build is
// listed with it, and a collection finds all of it.
func TestEveryEffectOfAPushElsewhereMayBeTheLast(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"elsewhere.blob.push", "elsewhere.manifest.push", "elsewhere.referrers.tag"} {
		for _, n := range []int{1, 2} {
			for _, how := range []string{"CRASH=%s#%d:before", "CRASH=%s#%d:after", "FAIL=%s#%d:EIO"} {
				if n == 2 && name == "elsewhere.referrers.tag" {
					continue
				}
				point := "MESH_" + fmt.Sprintf(how, name, n)
				t.Run(point, func(t *testing.T) { t.Parallel(); killedElsewhere(t, point) })
			}
		}
	}
}

func killedElsewhere(t *testing.T, point string) {
	t.Helper()
	plain, dir, ctx := registrytest.Serve(t, registrytest.Config{}), t.TempDir(), t.Context()
	start := func(environment ...string) *oci.Client {
		base, _ := startToKill(t, dir, append(environment, keptElsewhere+"="+plain.URL+" "+plain.Login)...)
		c, err := oci.New(oci.Config{Base: base, User: "builder", Secret: "b", RequestID: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	content, data := random(t, 3000)
	says, text := random(t, 40)
	build := oci.Manifest{Config: layer(content)}
	_, digest, err := build.Encode()
	if err != nil {
		t.Fatal(err)
	}
	about := oci.Manifest{Config: layer(says), Subject: &oci.Descriptor{MediaType: oci.MediaManifest, Digest: digest, Size: 1}}
	_, listed, err := about.Encode()
	if err != nil {
		t.Fatal(err)
	}
	push := func(c *oci.Client) error {
		err := c.PushBlob(ctx, content, bytes.NewReader(data))
		if err == nil {
			err = c.PushBlob(ctx, says, bytes.NewReader(text))
		}
		if err == nil {
			_, err = c.PushManifest(ctx, mine, about)
		}
		if err == nil {
			_, err = c.PushManifest(ctx, mine, build)
		}
		return err
	}
	if err := push(start(point)); err == nil {
		t.Fatalf("%s was not reached", point)
	}
	has := func(kind string, d document.Digest) bool { return plain.Has(t, "/v2/"+mine+"/"+kind+"/"+string(d)) }
	if has("manifests", digest) && (!has("blobs", content.Digest) || !has("manifests", listed)) {
		t.Error("half of it shows")
	}
	if err := push(start()); err != nil {
		t.Fatalf("the next one: %v", err)
	}
	a := abroadAt(t, plain, "", dir)
	if all, _ := a.list(referrersOf(digest)); len(all) != 1 || all[0].Digest != listed {
		t.Errorf("listed: %+v", all)
	}
	_, err = a.registry.Collect(ctx, Collecting{Before: later(), Names: func(context.Context, string) (Named, error) { return keeping(), nil }})
	if err != nil || has("manifests", digest) || has("manifests", listed) || has("manifests", document.Digest(tagOf(digest))) || has("blobs", content.Digest) || has("blobs", says.Digest) {
		t.Errorf("something stays: %v", err)
	}
}

const collectsElsewhere = "REGISTRY_TO_COLLECT_ELSEWHERE" // the folder, URL and login

// TestEveryEffectOfACollectionElsewhereMayBeTheLast does the same for a collection:
// the next one takes the rest.
func TestEveryEffectOfACollectionElsewhereMayBeTheLast(t *testing.T) {
	t.Parallel()
	everything := func(reg *Registry) error {
		_, err := reg.Collect(t.Context(), Collecting{Before: later(), Names: func(context.Context, string) (Named, error) { return keeping(), nil }})
		return err
	}
	if what := os.Getenv(collectsElsewhere); what != "" {
		words := strings.Fields(what)
		client, err := elsewhere.New(elsewhere.Config{URL: words[1], Login: words[2]})
		if err != nil {
			t.Fatal(err)
		}
		reg, err := New(Config{Dir: words[0], Authorize: rules, Elsewhere: client})
		if err != nil {
			t.Fatal(err)
		}
		if err := everything(reg); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range []string{"elsewhere.manifest.delete", "elsewhere.blob.delete"} {
		for _, how := range []string{"CRASH=%s#1:before", "CRASH=%s#1:after", "CRASH=%s#2:after", "FAIL=%s#1:EIO"} {
			point := "MESH_" + fmt.Sprintf(how, name)
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				a := serveAbroad(t, registrytest.Config{}, "")
				content, _ := a.put(100)
				other, _ := a.put(200)
				digest, err := a.builder().PushManifest(t.Context(), mine, oci.Manifest{Config: layer(content)})
				if err != nil {
					t.Fatal(err)
				}
				about, _ := a.push(oci.Manifest{Config: layer(other), Subject: &oci.Descriptor{MediaType: oci.MediaManifest, Digest: digest, Size: 1}})
				cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^TestEveryEffectOfACollectionElsewhereMayBeTheLast$", "-test.count=1")
				cmd.Env = append(os.Environ(), collectsElsewhere+"="+a.dir+" "+a.plain.URL+" "+a.plain.Login, point)
				if out, err := cmd.CombinedOutput(); err == nil {
					t.Fatalf("it ended well: %s", out)
				}
				if err := everything(a.registry); err != nil {
					t.Fatal(err)
				}
				for _, d := range []document.Digest{digest, about, document.Digest(tagOf(digest))} {
					if a.plain.Has(t, "/v2/"+mine+"/manifests/"+string(d)) {
						t.Errorf("%s stays", d)
					}
				}
				for _, b := range []oci.Blob{content, other} {
					if a.plain.Has(t, "/v2/"+mine+"/blobs/"+string(b.Digest)) {
						t.Errorf("%s stays", b.Digest)
					}
				}
			})
		}
	}
}
