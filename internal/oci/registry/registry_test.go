package registry

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

const (
	mine   = "modules/site"
	theirs = "modules/board"
)

// rules is trust.md's: nodes read everything, a builder writes the repository of
// the request that it holds open.
func rules(_ context.Context, a Access) error {
	switch {
	case a.User == "node" && a.Password == "n" && !a.Write:
		return nil
	case a.User == "builder" && a.Password == "b":
		if !a.Write || (a.RequestID == "r1" && a.Repository == mine) {
			return nil
		}
		return fault.New(fault.Denied, "no open request of yours is for %q", a.Repository)
	}
	return fault.New(fault.Denied, "no such credential")
}

type served struct {
	t   *testing.T
	dir string
	srv *httptest.Server
}

func serve(t *testing.T, dir string) *served {
	t.Helper()
	reg, err := New(Config{Dir: dir, Secret: bytes.Repeat([]byte{7}, 32), Authorize: rules, MaxBlob: 1 << 20})
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
	return &served{t, dir, srv}
}

func (s *served) client(user string, secret oci.Secret, request string) *oci.Client {
	s.t.Helper()
	c, err := oci.New(oci.Config{Base: s.srv.URL, TLS: s.tls(), User: user, Secret: secret, RequestID: request})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

func (s *served) tls() *tls.Config {
	return s.srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone() //nolint:forcetypeassert // httptest's own
}

func (s *served) builder() *oci.Client { return s.client("builder", "b", "r1") }
func (s *served) node() *oci.Client    { return s.client("node", "n", "") }

func random(t *testing.T, n int) (oci.Blob, []byte) {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return oci.Blob{Repository: mine, Digest: document.Sum(b), Size: int64(n)}, b
}

func layer(b oci.Blob) oci.Descriptor {
	return oci.Descriptor{MediaType: oci.MediaArchive, Digest: b.Digest, Size: b.Size}
}

func TestPushAndPullThroughARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, dir)
	ctx := t.Context()
	blob, data := random(t, 300_000)
	empty := oci.Blob{Repository: mine, Digest: document.Sum(nil)}
	for b, d := range map[oci.Blob][]byte{blob: data, empty: nil} {
		for range 2 { // the second finds it there
			if err := s.builder().PushBlob(ctx, b, bytes.NewReader(d)); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := oci.Manifest{ArtifactType: oci.MediaBuilt, Config: oci.Descriptor{MediaType: oci.MediaBuilt, Digest: empty.Digest}, Layers: []oci.Descriptor{layer(blob)}}
	digest, err := s.builder().PushManifest(ctx, mine, m)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.builder().PushManifest(ctx, mine, m); err != nil || again != digest {
		t.Fatalf("%s then %s, %v", digest, again, err)
	}
	s.srv.Close()

	s = serve(t, dir)
	got, err := s.node().PullManifest(ctx, mine, digest)
	if err != nil || got.Layers[0].Digest != blob.Digest || got.ArtifactType != oci.MediaBuilt {
		t.Fatalf("%+v %v", got, err)
	}
	givesBack(t, s.node(), blob, data, 5000)
}

// givesBack fails the test where a registry does not have these bytes, whole, and
// so many of them from the thousandth on.
func givesBack(t *testing.T, of *oci.Client, blob oci.Blob, data []byte, some int64) {
	t.Helper()
	b, err := of.PullBytes(t.Context(), blob)
	if err != nil || !bytes.Equal(b, data) {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	r, err := of.ReadRange(t.Context(), blob, 1000, some)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, data[1000:1000+some]) {
		t.Fatalf("%d bytes of a part, %v", len(b), err)
	}
}

func TestManifestBeforeItsBlobsIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	ctx := t.Context()
	config, data := random(t, 100)
	missing, _ := random(t, 200)
	if err := s.builder().PushBlob(ctx, config, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	m := oci.Manifest{Config: layer(config), Layers: []oci.Descriptor{layer(missing)}}
	_, digest, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.builder().PushManifest(ctx, mine, m); fault.KindOf(err) != fault.Invalid {
		t.Fatalf("published without a blob: %v", err)
	}
	if has, err := s.node().HasManifest(ctx, mine, digest); err != nil || has {
		t.Fatalf("half a publication shows: %v %v", has, err)
	}
}

func TestBrokenOffPushShowsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	blob, data := random(t, 500_000)
	broken := errors.New("the disk is gone")
	err := s.builder().PushBlob(t.Context(), blob, io.MultiReader(bytes.NewReader(data[:300_000]), &failing{broken}))
	if !errors.Is(err, broken) {
		t.Fatalf("%v", err)
	}
	if has, err := s.node().HasBlob(t.Context(), mine, blob.Digest, blob.Size); err != nil || has {
		t.Fatalf("half a blob shows: %v %v", has, err)
	}
	if err := s.builder().PushBlob(t.Context(), blob, bytes.NewReader(data[:1000])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("a short source: %v", err)
	}
	data[3] ^= 1
	if err := s.builder().PushBlob(t.Context(), blob, bytes.NewReader(data)); fault.KindOf(err) != fault.Invalid {
		t.Fatalf("other bytes under this digest: %v", err)
	}
	data[3] ^= 1
	if err := s.builder().PushBlob(t.Context(), blob, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestCorruptBlobOnDiskIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	blob, data := random(t, 100_000)
	if err := s.builder().PushBlob(t.Context(), blob, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.dir, "docker/registry/v2/blobs/sha256", blob.Digest.Hex()[:2], blob.Digest.Hex(), "data")
	data[50_000] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.node().PullBlob(t.Context(), blob, io.Discard)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "other bytes") {
		t.Fatalf("%v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if has, err := s.node().HasBlob(t.Context(), mine, blob.Digest, blob.Size); err != nil || has {
		t.Fatalf("gone from the disk, still shown: %v %v", has, err)
	}
}

// request is one raw request, with the status that it must get and with who
// may do it.
type request struct {
	name, method, path, kind, body string
	user, secret, open             string
	want                           int
}

func (s *served) ask(q request) (int, http.Header) {
	s.t.Helper()
	req, err := http.NewRequest(q.method, s.srv.URL+q.path, strings.NewReader(q.body))
	if err != nil {
		s.t.Fatal(err)
	}
	if q.user != "" {
		req.SetBasicAuth(q.user, q.secret)
	}
	if q.open != "" {
		req.Header.Set(oci.RequestHeader, q.open)
	}
	if q.kind != "" {
		req.Header.Set("Content-Type", q.kind)
	}
	resp, err := s.srv.Client().Transport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, resp.Header
}

// TestAuthorisation is TB1 of the threats: what a builder, a node and a stranger may not do.
func TestAuthorisation(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	blob, data := random(t, 1000)
	if err := s.builder().PushBlob(t.Context(), blob, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	m := oci.Manifest{Config: layer(blob)}
	manifest, err := s.builder().PushManifest(t.Context(), mine, m)
	if err != nil {
		t.Fatal(err)
	}
	mb, _, _ := m.Encode()
	d := string(blob.Digest)
	blobs, manifests := "/v2/"+mine+"/blobs/", "/v2/"+mine+"/manifests/"
	start, startTheirs := "/v2/"+mine+"/blobs/uploads/", "/v2/"+theirs+"/blobs/uploads/"
	form := "application/x-www-form-urlencoded"
	cases := []request{
		{name: "nobody pings", method: "GET", path: "/v2/", want: 401},
		{name: "nobody reads", method: "GET", path: blobs + d, want: 401},
		{name: "wrong secret", method: "GET", path: blobs + d, user: "node", secret: "x", want: 403},
		{name: "node pings", method: "GET", path: "/v2/", user: "node", secret: "n", want: 200},
		{name: "node reads", method: "GET", path: blobs + d, user: "node", secret: "n", want: 200},
		{name: "node starts an upload", method: "POST", path: start, user: "node", secret: "n", want: 403},
		{name: "node with another's request", method: "POST", path: start, user: "node", secret: "n", open: "r1", want: 403},
		{name: "node publishes", method: "PUT", path: manifests + string(manifest), kind: oci.MediaManifest, body: string(mb), user: "node", secret: "n", want: 403},
		{name: "builder starts", method: "POST", path: start, user: "builder", secret: "b", open: "r1", want: 202},
		{name: "builder without a request", method: "POST", path: start, user: "builder", secret: "b", want: 403},
		{name: "builder with another request", method: "POST", path: start, user: "builder", secret: "b", open: "r2", want: 403},
		{name: "builder in another repository", method: "POST", path: startTheirs, user: "builder", secret: "b", open: "r1", want: 403},
		{name: "builder publishes in another", method: "PUT", path: "/v2/" + theirs + "/manifests/" + string(manifest), kind: oci.MediaManifest, body: string(mb), user: "builder", secret: "b", open: "r1", want: 403},
		{name: "builder tags", method: "PUT", path: manifests + "latest", kind: oci.MediaManifest, body: string(mb), user: "builder", secret: "b", open: "r1", want: 403},
		{name: "builder publishes an index", method: "PUT", path: manifests + string(manifest), kind: "application/vnd.oci.image.index.v1+json", body: string(mb), user: "builder", secret: "b", open: "r1", want: 403},
		{name: "builder overwrites", method: "PUT", path: manifests + string(manifest), kind: oci.MediaManifest, body: strings.Replace(string(mb), "2", "3", 1), user: "builder", secret: "b", open: "r1", want: 400},
		{name: "node resolves a tag", method: "GET", path: manifests + "latest", user: "node", secret: "n", want: 403},
		{name: "node lists tags", method: "GET", path: "/v2/" + mine + "/tags/list", user: "node", secret: "n", want: 403},
		{name: "node lists everything", method: "GET", path: "/v2/_catalog", user: "node", secret: "n", want: 404},
		{name: "mount", method: "POST", path: startTheirs + "?mount=" + d + "&from=" + mine, user: "builder", secret: "b", open: "r1", want: 403},
		{name: "mount into mine", method: "POST", path: start + "?mount=" + d + "&from=" + theirs, user: "builder", secret: "b", open: "r1", want: 403},
		{name: "mount in a form", method: "POST", path: start, kind: form, body: "mount=" + d + "&from=" + theirs, user: "builder", secret: "b", open: "r1", want: 403},
		{name: "mount with another key", method: "POST", path: start + "?digest=" + d, user: "builder", secret: "b", open: "r1", want: 403},
		{name: "put to an upload that is not there", method: "PUT", path: start + "01234567-0123-0123-0123-0123456789ab?digest=" + d, user: "builder", secret: "b", open: "r1", want: 404},
		{name: "patch", method: "PATCH", path: start + "01234567-0123-0123-0123-0123456789ab", user: "builder", secret: "b", open: "r1", want: 403},
		{name: "an upload's name that is a path", method: "PUT", path: start + "..?digest=" + d, user: "builder", secret: "b", open: "r1", want: 403},
		{name: "delete a blob", method: "DELETE", path: blobs + d, user: "builder", secret: "b", open: "r1", want: 403},
		{name: "delete a manifest", method: "DELETE", path: manifests + string(manifest), user: "builder", secret: "b", open: "r1", want: 403},
		{name: "delete an upload", method: "DELETE", path: start + "01234567-0123-0123-0123-0123456789ab", user: "builder", secret: "b", open: "r1", want: 403},
		{name: "encoded path", method: "POST", path: "/v2/" + mine + "%2F..%2Fboard/blobs/uploads/", user: "builder", secret: "b", open: "r1", want: 400},
		{name: "dots", method: "POST", path: "/v2/" + mine + "/../board/blobs/uploads/", user: "builder", secret: "b", open: "r1", want: 400},
		{name: "a name with two ends", method: "POST", path: "/v2/" + mine + "/blobs/uploads/blobs/uploads/", user: "builder", secret: "b", open: "r1", want: 400},
		{name: "elsewhere", method: "GET", path: "/debug/vars", user: "node", secret: "n", want: 404},
		{name: "too big", method: "PUT", path: start + "01234567-0123-0123-0123-0123456789ab?digest=" + d, body: strings.Repeat("x", 1<<20+1), user: "builder", secret: "b", open: "r1", want: 413},
	}
	for _, q := range cases {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			if got, _ := s.ask(q); got != q.want {
				t.Fatalf("%d, want %d", got, q.want)
			}
		})
	}
	t.Cleanup(func() { // after all of them, and before the registry closes
		ctx := context.WithoutCancel(t.Context())
		if has, err := s.node().HasBlob(ctx, theirs, blob.Digest, blob.Size); err != nil || has {
			t.Errorf("the blob came into another repository: %v %v", has, err)
		}
		if _, err := s.node().PullManifest(ctx, mine, manifest); err != nil {
			t.Error(err)
		}
	})
}

func TestUploadBelongsToItsRepository(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	status, header := s.ask(request{method: "POST", path: "/v2/" + mine + "/blobs/uploads/", user: "builder", secret: "b", open: "r1"})
	if status != 202 {
		t.Fatal(status)
	}
	moved := strings.Replace(header.Get("Location"), mine, theirs, 1) + "&digest=" + string(document.Sum(nil))
	if status, _ := s.ask(request{method: "PUT", path: moved, user: "builder", secret: "b", open: "r1"}); status != 403 {
		t.Fatalf("an upload moved to another repository: %d", status)
	}
}

func TestStillHoldsWritesBack(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	entered := make(chan struct{}, 16)
	reg, err := New(Config{Dir: t.TempDir(), Secret: bytes.Repeat([]byte{7}, 32), Authorize: func(ctx context.Context, a Access) error {
		if a.RequestID != "" { // of a builder: it asks first whether the blob is there, and that waits as well
			entered <- struct{}{}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	srv := httptest.NewTLSServer(reg)
	defer srv.Close()
	s := &served{t: t, srv: srv}
	blob, data := random(t, 1000)
	done := make(chan error, 1)
	err = reg.Still(func() error {
		go func() {
			err := s.builder().PushBlob(context.WithoutCancel(t.Context()), blob, bytes.NewReader(data))
			asked.Store(true)
			done <- err
		}()
		<-entered // the builder is in; it has leave and waits for us
		if has, err := s.node().HasBlob(t.Context(), mine, blob.Digest, blob.Size); err != nil || has {
			t.Errorf("reads wait, or the write did not: %v %v", has, err)
		}
		if asked.Load() {
			t.Error("a write went through")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestAccessPrintsNoPassword(t *testing.T) {
	t.Parallel()
	a := Access{User: "u", Password: "canary", Repository: "r"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, a); strings.Contains(got, "canary") || !strings.Contains(got, "***") {
			t.Errorf("%s prints %s", verb, got)
		}
	}
}

func TestNewRefusesWhatIsNotSafe(t *testing.T) {
	t.Parallel()
	good := Config{Dir: t.TempDir(), Secret: bytes.Repeat([]byte{7}, 32), Authorize: rules}
	for name, change := range map[string]func(*Config){
		"no guard":     func(c *Config) { c.Authorize = nil },
		"no folder":    func(c *Config) { c.Dir = "" },
		"short secret": func(c *Config) { c.Secret = []byte("x") },
	} {
		c := good
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
