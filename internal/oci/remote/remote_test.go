package remote

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/imagetest"
)

const here64, other64 = "linux/amd64", "linux/arm64"

func simple(platform, text string) imagetest.Image {
	return imagetest.Image{Platform: platform, Env: []string{"PATH=/x", "A=b=c", "bad"}, Layers: []imagetest.Layer{{{Name: "etc/", Kind: '5'}, {Name: "etc/a", Text: text}}}}
}

func parse(t *testing.T, s string) image.Reference {
	t.Helper()
	r, ok := image.Parse(s)
	if !ok {
		t.Fatalf("%q is no reference", s)
	}
	return r
}

func client(t *testing.T) *Client {
	t.Helper()
	c := New(Config{})
	t.Cleanup(c.Close)
	return c
}

func TestANameIsTheImageForThePlatform(t *testing.T) {
	t.Parallel()
	r, c := imagetest.Serve(t), client(t)
	of := parse(t, r.Reference("site/base", "1"))
	first := r.Push("site/base", "1", simple(other64, "a"), simple(here64, "a"))
	got, err := c.Resolve(t.Context(), of, here64, "")
	if err != nil || got.Digest != first[1] || got.Same || got.Head == got.Digest {
		t.Fatalf("%+v, %v", got, err)
	}
	if arm, err := c.Resolve(t.Context(), of, other64, ""); err != nil || arm.Digest != first[0] || arm.Head != got.Head {
		t.Fatalf("%+v, %v", arm, err)
	}
	r.Asked()
	same, err := c.Resolve(t.Context(), of, here64, got.Head)
	if asked := r.Asked(); err != nil || !same.Same || !slices.Equal(asked, []string{"HEAD manifests/1"}) {
		t.Fatalf("%+v, %v, after %q", same, err, asked)
	}
	// Another platform's push moves the name, and not this platform's image.
	r.Push("site/base", "1", simple(other64, "b"), simple(here64, "a"))
	moved, err := c.Resolve(t.Context(), of, here64, got.Head)
	if err != nil || moved.Same || moved.Head == got.Head || moved.Digest != got.Digest {
		t.Fatalf("%+v, %v", moved, err)
	}
	// A name that means one image alone is that image.
	one, _ := r.One("site/base", simple(here64, "c"))
	r.Tag("site/base", "1", one)
	if alone, err := c.Resolve(t.Context(), of, here64, moved.Head); err != nil || alone.Digest != one || alone.Head != one {
		t.Fatalf("%+v, %v", alone, err)
	}
	whole, err := c.Image(t.Context(), of, one, here64)
	if err != nil || len(whole.Layers) != 1 || whole.Layers[0].Compression != Gzip || whole.Layers[0].Plain != document.Sum(simple(here64, "c").Layers[0].Tar()) {
		t.Fatalf("%+v, %v", whole, err)
	}
	if !slices.Equal(whole.Env, [][2]string{{"PATH", "/x"}, {"A", "b=c"}}) {
		t.Errorf("its environment is %q", whole.Env)
	}
}

func TestWhatIsWrongWithANameHasACause(t *testing.T) {
	t.Parallel()
	r, c := imagetest.Serve(t), client(t)
	r.Push("a", "arm", simple(other64, "a"))
	arm, _ := r.One("a", simple(other64, "a"))
	r.Tag("a", "one", arm)
	for name, b := range map[string]string{
		"chart": `{"schemaVersion":2,"mediaType":"` + imagetest.MediaManifest + `","config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","digest":"` + string(document.Sum([]byte("{}"))) + `","size":2},"layers":[]}`,
	} {
		if _, err := parsePage([]byte(b)); !errors.Is(err, NotImage) || !strings.Contains(err.Error(), "helm") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, row := range []struct {
		tag   string
		cause Cause
		says  string
	}{
		{"none", Gone, "answered 404"},
		{"arm", NoPlatform, "images for linux/arm64 and none for linux/amd64"},
		{"one", NoPlatform, "it is for linux/arm64"},
	} {
		_, err := c.Resolve(t.Context(), parse(t, r.Reference("a", row.tag)), here64, "")
		if !errors.Is(err, row.cause) || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v", row.tag, err)
		}
	}
	of := parse(t, r.Reference("a", "arm"))
	r.Status(401, "WWW-Authenticate", `Basic realm="x"`)
	if _, err := c.Resolve(t.Context(), of, here64, ""); !errors.Is(err, Refused) || fault.KindOf(err) != fault.Denied || !strings.Contains(fault.HintOf(err), "no credentials for registries yet") {
		t.Errorf("it refuses: %v", err)
	}
	r.Answer(func(w http.ResponseWriter, q *http.Request) { _, _ = w.Write([]byte("<html>")) })
	if _, err := c.Resolve(t.Context(), of, here64, ""); !errors.Is(err, NotImage) {
		t.Errorf("a page of the web: %v", err)
	}
	r.Status(500)
	if _, err := c.Resolve(t.Context(), of, here64, ""); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("it is broken: %v", err)
	}
	if _, err := c.Resolve(t.Context(), parse(t, "127.0.0.1:1/a:1"), here64, ""); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), `registry "127.0.0.1:1"`) {
		t.Errorf("nobody is there: %v", err)
	}
}

func TestARegistryThatWantsToBeLeftAloneIs(t *testing.T) {
	t.Parallel()
	r, c := imagetest.Serve(t), client(t)
	r.Push("a", "1", simple(here64, "a"))
	of := parse(t, r.Reference("a", "1"))
	r.Status(429, "Retry-After", "120")
	_, err := c.Resolve(t.Context(), of, here64, "")
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.HintOf(err), "2m0s") {
		t.Fatalf("%v", err)
	}
	r.Answer(nil)
	r.Asked()
	_, err = c.Resolve(t.Context(), of, here64, "")
	later, is := errors.AsType[Later](err)
	if !is || later.After < 110*time.Second || later.After > 131*time.Second || len(r.Asked()) != 0 {
		t.Fatalf("%v", err)
	}
}

func TestATokenIsFetchedOnceForWhoeverAsks(t *testing.T) {
	t.Parallel()
	r, c := imagetest.Serve(t), client(t)
	digest := r.Push("a", "1", simple(here64, "a"))[0]
	r.WantTokens()
	of := parse(t, r.Reference("a", "1"))
	for range 3 {
		if got, err := c.Resolve(t.Context(), of, here64, ""); err != nil || got.Digest != digest {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if r.Given() != 1 {
		t.Errorf("%d tokens were asked for", r.Given())
	}
	r.Status(401, "WWW-Authenticate", `Bearer realm="http://elsewhere.example/token"`)
	if _, err := client(t).Resolve(t.Context(), of, here64, ""); err == nil || !strings.Contains(err.Error(), "no address with TLS") {
		t.Errorf("a token was asked for in the clear: %v", err)
	}
}

func pulled(t *testing.T, c *Client, of image.Reference, b Blob, file string) (string, error) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = c.Pull(t.Context(), of, b, f)
	text, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(text), err
}

func TestAPullGoesOnWhereItStood(t *testing.T) {
	t.Parallel()
	r, c := imagetest.Serve(t), client(t)
	text := strings.Repeat("the bytes of a layer\n", 5000)
	r.Push("a", "1", simple(here64, "a"))
	digest := r.Blob("a", []byte(text))
	of, b, file := parse(t, r.Reference("a", "1")), Blob{digest, int64(len(text))}, filepath.Join(t.TempDir(), "part")
	if err := os.WriteFile(file, []byte(text[:1000]), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Asked()
	got, err := pulled(t, c, of, b, file)
	if asked := r.Asked(); err != nil || got != text || !slices.Equal(asked, []string{"GET blobs/" + string(digest) + " bytes=1000-"}) {
		t.Fatalf("%v after %q", err, asked)
	}
	if got, err := pulled(t, c, of, b, file); err != nil || got != text || len(r.Asked()) != 0 {
		t.Fatalf("what is whole was asked for again: %v", err)
	}
	// What lay there was of something else: it is thrown away, and the next pull is right.
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := pulled(t, c, of, b, file); err == nil || got != "" {
		t.Fatalf("other bytes were taken: %v", err)
	}
	if got, err := pulled(t, c, of, b, file); err != nil || got != text {
		t.Fatalf("%v", err)
	}
	for _, wrong := range []Blob{{document.Sum([]byte("no")), 2}, {digest, 5}, {digest, int64(len(text)) + 1}} {
		if _, err := pulled(t, c, of, wrong, filepath.Join(t.TempDir(), "part")); err == nil {
			t.Errorf("%+v was pulled", wrong)
		}
	}
	// A connection that breaks off is taken up again.
	half := 0
	r.Answer(func(w http.ResponseWriter, q *http.Request) {
		half++
		if half == 1 {
			w.Header().Set("Content-Length", "105000")
			_, _ = w.Write([]byte(text[:500]))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		r.Read(w, q)
	})
	if got, err := pulled(t, c, of, b, filepath.Join(t.TempDir(), "part")); err != nil || got != text || half != 2 {
		t.Fatalf("%v after %d", err, half)
	}
}
