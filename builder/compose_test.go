package builder

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/builder/rootfs"
	"noxmesh/delivery/build"
	"noxmesh/image"
	"noxmesh/internal/oci/imagetest"
	"noxmesh/internal/oci/remote"
	"noxmesh/manifest"
)

const composeManifest = `{"module": "app", "resources": [{"id": "run", "type": "container", "name": "app", "artifact": "image"}], "build": {"artifacts": {"image": {"type": "image", "path": "public", "base": %q, "at": "/srv",
  "command": ["/bin/sh", "/srv/run"], "env": {"GREETING": "hi"}}}}}`

// asAnybody is the registry as a tool reads it that knows nothing of the mesh.
func (r *rig) asAnybody() (host string) {
	to, err := url.Parse(r.registry.server.URL)
	must(r.t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(q *httputil.ProxyRequest) {
		q.SetURL(to)
		q.Out.SetBasicAuth("reader", "")
	}, Transport: &http.Transport{}})
	r.t.Cleanup(proxy.Close)
	return strings.TrimPrefix(proxy.URL, "http://")
}

// unpacked is the root file system of an image in the registry.
func (r *rig) unpacked(made manifest.Image) (rootfs.Root, remote.Image) {
	r.t.Helper()
	source := remote.New(remote.Config{})
	of, ok := image.Parse(r.asAnybody() + "/app@" + string(made.Digest))
	if !ok {
		r.t.Fatal("no reference")
	}
	is, err := source.Image(r.t.Context(), of, made.Digest, Platform)
	must(r.t, err)
	store, err := rootfs.Open(rootfs.Config{Dir: r.t.TempDir(), Most: 1 << 30, Source: source})
	must(r.t, err)
	root, err := store.Root(r.t.Context(), rootfs.Wanted{Of: of, Digest: made.Digest, Platform: Platform})
	must(r.t, err)
	return root, is
}

// An image on top of another is in the mesh's own registry whole, and the same from
// another commit with the same content; whoever pulls it finds both.
func TestAnImageIsPublished(t *testing.T) {
	t.Parallel()
	images, r := imagetest.Serve(t), newRig(t)
	digest := images.Push("site/base", "1", insideImage(t, "one"))[0]
	text := fmt.Sprintf(composeManifest, images.Host+"/site/base@"+string(digest))
	var made []manifest.Image
	for _, readme := range []string{"one\n", "two\n"} {
		a := r.module("app").build(map[string]string{"module.json": text, "public/run": "echo run\n", "public/home": "-> run", "README": readme})
		if a.Outcome != build.OutcomeBuilt || len(a.Manifest.Built.Images) != 1 {
			t.Fatalf("%+v", a)
		}
		made = append(made, a.Manifest.Built.Images...)
		if runs := a.Manifest.Resources[0]; runs.Image != "mesh.internal/app/image@"+string(made[0].Digest) || runs.Digest != "" {
			t.Errorf("the container runs %+v", runs)
		}
	}
	if made[0] != made[1] || made[0].Artifact != "image" {
		t.Errorf("%+v", made)
	}
	root, is := r.unpacked(made[0])
	if len(is.Layers) != 3 || !strings.Contains(string(is.Config), `"Entrypoint":["/bin/sh","/srv/run"],"Env":["HOME=/root","PATH=/bin","GREETING=hi"]`) {
		t.Errorf("%d layers, %s", len(is.Layers), is.Config)
	}
	for file, want := range map[string]string{"srv/run": "echo run\n", "etc/which": "one\n"} {
		if got, err := os.ReadFile(filepath.Join(root.Dir, file)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", file, got, err)
		}
	}
	if to, err := os.Readlink(filepath.Join(root.Dir, "srv/home")); err != nil || to != "run" {
		t.Errorf("%q, %v", to, err)
	}
}

// A base that cannot be had is the surroundings'; what is declared and is not there
// is the module's, and named. An image needs none to stand on.
func TestAnImageThatCannotBeMadeIsNamed(t *testing.T) {
	t.Parallel()
	images, r := imagetest.Serve(t), newRig(t)
	gone := fmt.Sprintf(composeManifest, images.Host+"/site/base@sha256:"+strings.Repeat("0", 64))
	alone := strings.Replace(composeManifest, `"base": %q, `, "", 1)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 12\n"
	for why, c := range map[string]struct {
		files   map[string]string
		outcome build.Outcome
	}{
		`artifact "image": stand on the image ` + images.Host + "/site/base@sha256:0": {map[string]string{"module.json": gone, "public/a": "a"}, build.OutcomeEnvironment},
		`there is no folder "public" after the build`:                                 {map[string]string{"module.json": alone}, build.OutcomeFailed},
		`"big" is a pointer of Git LFS`:                                               {map[string]string{"module.json": alone, "public/big": pointer}, build.OutcomeFailed},
		`"out"`:                                                                       {map[string]string{"module.json": alone, "public/out": "-> ../../x"}, build.OutcomeFailed},
		"":                                                                            {map[string]string{"module.json": alone, "public/a": "a"}, build.OutcomeBuilt},
	} {
		if a := r.module("app").build(c.files); a.Outcome != c.outcome || !strings.Contains(a.Why, why) {
			t.Errorf("want %s: %s %s: %s", why, a.Outcome, a.Step, a.Why)
		}
	}
}
