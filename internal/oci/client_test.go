package oci

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

var data = bytes.Repeat([]byte("the right bytes. "), 20_000)

func wanted() Blob {
	return Blob{Repository: "modules/site", Digest: document.Sum(data), Size: int64(len(data))}
}

// fakeRegistry is one that answers as the test says.
func fakeRegistry(t *testing.T, answer http.HandlerFunc, change func(*Config)) *Client {
	t.Helper()
	srv := httptest.NewTLSServer(answer)
	t.Cleanup(srv.Close)
	cfg := Config{Base: srv.URL, TLS: trust(srv), User: "node", Secret: "s3cret", RequestID: "r1"}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func trust(srv *httptest.Server) *tls.Config {
	return srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone() //nolint:forcetypeassert // httptest's own
}

func serveData(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}
}

// chunked sends b without saying how much it is.
func chunked(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(b[:1])
		w.(http.Flusher).Flush() //nolint:forcetypeassert // net/http's own
		_, _ = w.Write(b[1:])
	}
}

// TestPullRefusesOtherBytes is TR1: a stolen registry serves what it likes.
func TestPullRefusesOtherBytes(t *testing.T) {
	t.Parallel()
	flipped := bytes.Clone(data)
	flipped[len(flipped)/2] ^= 1
	longer := append(bytes.Clone(data), 'x')
	page := []byte("<html>sign in</html>")
	cases := map[string]http.HandlerFunc{
		"one bit":          serveData(flipped),
		"one bit, chunked": chunked(flipped),
		"longer":           serveData(longer),
		"longer, chunked":  chunked(longer),
		"shorter":          serveData(data[:1000]),
		"shorter, chunked": chunked(data[:1000]),
		"a page":           serveData(page),
		"nothing":          serveData(nil),
		"another part": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 5-10/11")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data)
		},
		"no end": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(data); err != nil {
					return
				}
			}
		},
	}
	for name, answer := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got counter
			err := fakeRegistry(t, answer, nil).PullBlob(t.Context(), wanted(), &got)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "the registry gave other bytes than "+string(wanted().Digest)) {
				t.Fatalf("kind %v: %v", fault.KindOf(err), err)
			}
			if int64(got) > wanted().Size {
				t.Fatalf("%d bytes were written of a blob of %d", got, wanted().Size)
			}
		})
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func TestAnswersBecomeKinds(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]fault.Kind{
		401: fault.Denied, 403: fault.Denied, 404: fault.NotFound, 429: fault.Unavailable, 500: fault.Unavailable,
		502: fault.Unavailable, 503: fault.Unavailable, 400: fault.Invalid, 204: fault.Unavailable,
	} {
		c := fakeRegistry(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			if status != 204 {
				fmt.Fprint(w, "no\x1b[2J\n"+strings.Repeat("x", 10_000))
			}
		}, nil)
		err := c.PullBlob(t.Context(), wanted(), io.Discard)
		if fault.KindOf(err) != kind || !strings.Contains(err.Error(), strconv.Itoa(status)) || len(err.Error()) > 800 || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%d: kind %v: %v", status, fault.KindOf(err), err)
		}
		if _, err := c.HasBlob(t.Context(), "modules/site", wanted().Digest, wanted().Size); status != 404 && fault.KindOf(err) != kind {
			t.Errorf("HEAD %d: kind %v: %v", status, fault.KindOf(err), err)
		}
	}
	c, err := New(Config{Base: "https://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.PullBlob(t.Context(), wanted(), io.Discard); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("nobody there: %v", err)
	}
}

// TestRedirectCarriesNoCredential: the bytes may be elsewhere; who asks for them is nobody's business there.
func TestRedirectCarriesNoCredential(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if len(r.Header.Values("Authorization"))+len(r.Header.Values(RequestHeader)) > 0 || strings.Contains(r.Header.Get("Referer"), "s3cret") {
			t.Errorf("it was told %v", r.Header)
		}
		serveData(data)(w, r)
	}))
	defer elsewhere.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("https was left for http") }))
	defer plain.Close()
	var target atomic.Value
	c := fakeRegistry(t, func(w http.ResponseWriter, r *http.Request) {
		if user, secret, ok := r.BasicAuth(); !ok || user != "node" || secret != "s3cret" {
			t.Error("the registry itself was told nothing")
		}
		http.Redirect(w, r, target.Load().(string), http.StatusTemporaryRedirect) //nolint:forcetypeassert // a string
	}, nil)
	target.Store(elsewhere.URL + "/x")
	if err := c.PullBlob(t.Context(), wanted(), io.Discard); err != nil || asked.Load() != 1 {
		t.Fatalf("asked %d times: %v", asked.Load(), err)
	}
	target.Store(plain.URL + "/x")
	if err := c.PullBlob(t.Context(), wanted(), io.Discard); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("%v", err)
	}
	target.Store(elsewhere.URL + "/x")
	before := asked.Load()
	if _, err := c.PushManifest(t.Context(), "modules/site", Manifest{Config: Descriptor{MediaType: MediaBuilt, Digest: wanted().Digest, Size: 1}}); err == nil || asked.Load() != before {
		t.Fatalf("a write was sent elsewhere: %v", err)
	}
	target.Store("/loop")
	if err := c.PullBlob(t.Context(), wanted(), io.Discard); err == nil {
		t.Fatal("a loop ended well")
	}
}

func TestUploadGoesNowhereElse(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"https://elsewhere.invalid/v2/modules/site/blobs/uploads/1", "//elsewhere.invalid/v2/modules/site/x", "http://127.0.0.1/v2/modules/site/x", "/v2/modules/board/blobs/uploads/1", "/admin", ""} {
		c := fakeRegistry(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodHead:
				w.WriteHeader(http.StatusNotFound)
			case http.MethodPost:
				w.Header().Set("Location", where)
				w.WriteHeader(http.StatusAccepted)
			default:
				t.Errorf("%s %s", r.Method, r.URL)
			}
		}, nil)
		if err := c.PushBlob(t.Context(), wanted(), bytes.NewReader(data)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", where, err)
		}
	}
}

// TestPullGoesOnWhereItBrokeOff cuts the connection again and again.
func TestPullGoesOnWhereItBrokeOff(t *testing.T) {
	t.Parallel()
	for _, ranges := range []bool{true, false} {
		var mu sync.Mutex
		var starts []string
		c := fakeRegistry(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			starts = append(starts, r.Header.Get("Range"))
			n := len(starts)
			mu.Unlock()
			if !ranges {
				r.Header.Del("Range")
			}
			serveData(data)(&cut{ResponseWriter: w, left: n * 90_000}, r)
		}, nil)
		var got bytes.Buffer
		if err := c.PullBlob(t.Context(), wanted(), &got); err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Fatalf("ranges %v: %d bytes, %v", ranges, got.Len(), err)
		}
		if len(starts) < 3 || starts[0] != "" || !strings.HasPrefix(starts[1], "bytes=") {
			t.Fatalf("ranges %v: asked from %q", ranges, starts)
		}
	}
	stays := fakeRegistry(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		serveData(data)(&cut{ResponseWriter: w, left: 50_000}, r)
	}, nil)
	if err := stays.PullBlob(t.Context(), wanted(), io.Discard); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("one that gets no further: %v", err)
	}
}

// cut aborts the answer after some bytes.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	if len(p) >= c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		c.ResponseWriter.(http.Flusher).Flush() //nolint:forcetypeassert // net/http's own
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func TestDripIsGivenUp(t *testing.T) {
	t.Parallel()
	drip := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		for i := range data {
			if _, err := w.Write(data[i : i+1]); err != nil {
				return
			}
			w.(http.Flusher).Flush() //nolint:forcetypeassert // net/http's own
			select {
			case <-r.Context().Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	c := fakeRegistry(t, drip, func(c *Config) { c.Patience, c.MinRate = 300*time.Millisecond, 4000 })
	err := c.PullBlob(t.Context(), wanted(), io.Discard)
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "slower than 4000 bytes a second") {
		t.Fatalf("%v", err)
	}
	r, err := c.ReadRange(t.Context(), wanted(), 0, 100_000)
	if err == nil {
		_, err = io.ReadAll(r)
		r.Close()
	}
	if fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("a range: %v", err)
	}
	silent := fakeRegistry(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(c *Config) { c.Patience = 200 * time.Millisecond })
	if err := silent.PullBlob(t.Context(), wanted(), io.Discard); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("%v", err)
	}
}

func TestReadRange(t *testing.T) {
	t.Parallel()
	read := func(c *Client, off, n int64) ([]byte, error) {
		r, err := c.ReadRange(t.Context(), wanted(), off, n)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	whole := func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		serveData(data)(w, r)
	}
	for name, answer := range map[string]http.HandlerFunc{"a part": serveData(data), "the whole": whole} {
		c := fakeRegistry(t, answer, nil)
		for _, at := range [][2]int64{{0, 1}, {5, 10_000}, {int64(len(data)) - 7, 7}, {0, int64(len(data))}} {
			if b, err := read(c, at[0], at[1]); err != nil || !bytes.Equal(b, data[at[0]:at[0]+at[1]]) {
				t.Errorf("%s, %v: %d bytes, %v", name, at, len(b), err)
			}
		}
		for _, at := range [][2]int64{{-1, 5}, {0, 0}, {0, int64(len(data)) + 1}, {int64(len(data)), 1}} {
			if _, err := read(c, at[0], at[1]); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s, %v: %v", name, at, err)
			}
		}
	}
	early := fakeRegistry(t, func(w http.ResponseWriter, r *http.Request) { serveData(data)(&cut{ResponseWriter: w, left: 10}, r) }, nil)
	if b, err := read(early, 0, 100); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("ends early: %d bytes, %v", len(b), err)
	}
	wrong := fakeRegistry(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Range", "bytes=0-99")
		serveData(data)(w, r)
	}, nil)
	if _, err := read(wrong, 50, 10); fault.KindOf(err) != fault.Invalid {
		t.Errorf("another part: %v", err)
	}
}

func TestPullWriterError(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	err := fakeRegistry(t, serveData(data), nil).PullBlob(t.Context(), wanted(), writerFunc(func([]byte) (int, error) { return 0, full }))
	if !errors.Is(err, full) || fault.KindOf(err) == fault.Unavailable || fault.KindOf(err) == fault.Invalid {
		t.Fatalf("kind %v: %v", fault.KindOf(err), err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestPullManifestRefusesOtherDocuments(t *testing.T) {
	t.Parallel()
	good := Manifest{ArtifactType: MediaBuilt, Config: Descriptor{MediaType: MediaBuilt, Digest: document.Sum(nil)}}
	body, digest, err := good.Encode()
	if err != nil {
		t.Fatal(err)
	}
	both := []byte(strings.Replace(string(body), `"schemaVersion":2`, `"manifests":[],"schemaVersion":2`, 1))
	index := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`)
	named := []byte(strings.Replace(string(body), MediaManifest, "application/vnd.oci.image.index.v1+json", 1))
	old := []byte(strings.Replace(string(body), `"schemaVersion":2`, `"schemaVersion":1`, 1))
	cases := []struct {
		name, kind string
		body       []byte
		digest     document.Digest
		ok         bool
	}{
		{"right", MediaManifest, body, digest, true},
		{"right, with a charset", MediaManifest + "; charset=utf-8", body, digest, true},
		{"other bytes", MediaManifest, old, digest, false},
		{"called an index", "application/vnd.oci.image.index.v1+json", body, digest, false},
		{"called nothing", "", body, digest, false},
		{"an index called a manifest", MediaManifest, index, document.Sum(index), false},
		{"a manifest that names itself an index", MediaManifest, named, document.Sum(named), false},
		{"both at once", MediaManifest, both, document.Sum(both), false},
		{"another version", MediaManifest, old, document.Sum(old), false},
		{"no end", MediaManifest, bytes.Repeat([]byte(" "), 5<<20), digest, false},
		{"a page", "text/html", []byte("<html>"), digest, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := fakeRegistry(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.kind}
				_, _ = w.Write(c.body)
			}, nil)
			m, err := client.PullManifest(t.Context(), "modules/site", c.digest)
			if c.ok != (err == nil) || (c.ok && m.Config.Digest != good.Config.Digest) || (!c.ok && fault.KindOf(err) != fault.Invalid) {
				t.Fatalf("%+v %v", m, err)
			}
		})
	}
}

func TestEncodeIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	m := Manifest{
		ArtifactType: MediaBuilt, Config: Descriptor{MediaType: MediaBuilt, Digest: document.Sum([]byte("c")), Size: 1},
		Layers:      []Descriptor{{MediaType: MediaFile, Digest: document.Sum([]byte("l")), Size: 1, Annotations: map[string]string{"b": "2", "a": "1"}}},
		Annotations: map[string]string{"y": "2", "x": "1"},
	}
	b, d, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(b), `{"annotations":{"x":"1","y":"2"},"artifactType":"application/vnd.mesh.built.v1+json","config":{"digest":`) {
		t.Fatalf("%s", b)
	}
	for range 20 {
		if _, again, _ := m.Encode(); again != d {
			t.Fatalf("%s then %s", d, again)
		}
	}
	m.Layers[0].Digest = "sha256:x"
	if _, _, err := m.Encode(); fault.KindOf(err) != fault.Invalid {
		t.Fatalf("%v", err)
	}
}

func TestNewRefusesUnsafeBases(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "example.org", "http://example.org", "ftp://example.org", "https://u:p@example.org", "https://example.org/v2", "https://example.org?x", "https://", "://"} {
		if _, err := New(Config{Base: base}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", base, err)
		}
	}
	for _, base := range []string{"https://example.org", "https://example.org:5000/", "http://127.0.0.1:5000", "http://localhost", "http://[::1]:1"} {
		if _, err := New(Config{Base: base}); err != nil {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	c := fakeRegistry(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked %s", r.URL) }, nil)
	for _, repo := range []string{"", "/", "../x", "A", "a//b", "a/", "a b", "a?x", "a%2fb", "a/../b", strings.Repeat("a", 300)} {
		if _, err := c.HasBlob(t.Context(), repo, wanted().Digest, 1); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", repo, err)
		}
	}
	for _, d := range []document.Digest{"", "latest", "sha256:", "sha512:" + document.Digest(strings.Repeat("a", 128)), "sha256:../../x"} {
		if _, err := c.PullManifest(t.Context(), "a", d); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", d, err)
		}
	}
}

func TestSecretPrintsStars(t *testing.T) {
	t.Parallel()
	cfg := Config{User: "u", Secret: "canary"}
	js, err := document.Canonical(struct {
		S Secret `json:"s"`
	}{"canary"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), fmt.Sprintf("%s %q %x", cfg.Secret, cfg.Secret, cfg.Secret), string(js)} {
		if strings.Contains(s, "canary") || strings.Contains(s, "63616e617279") || !strings.Contains(s, "***") {
			t.Errorf("%s", s)
		}
	}
}

func TestStoppedPullSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := fakeRegistry(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:1000])
		w.(http.Flusher).Flush() //nolint:forcetypeassert // net/http's own
		cancel()
		<-r.Context().Done()
	}, nil)
	if err := c.PullBlob(ctx, wanted(), io.Discard); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
}
