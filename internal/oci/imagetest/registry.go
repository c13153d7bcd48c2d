package imagetest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/registry"
)

// Registry is one that anybody may read, over plain http on loopback. It keeps
// blobs and manifests as the embedded one does; which tag means what stands in
// front of it.
type Registry struct {
	Host string // 127.0.0.1:PORT, as it stands in a reference

	t      testing.TB
	back   *httptest.Server
	server *httptest.Server

	mu    sync.Mutex // guards what follows
	tags  map[string]document.Digest
	other map[document.Digest]page // documents that the registry behind does not keep
	fault http.HandlerFunc
	token bool
	asked []string
	given int
}

const (
	pusher = "pusher"
	bearer = "a-token-for-anybody"
)

// page is a document and what it is called.
type page struct {
	kind string
	text []byte
}

// Serve is an empty registry. It ends with the test.
func Serve(t testing.TB) *Registry {
	t.Helper()
	reg, err := registry.New(registry.Config{Dir: t.TempDir(), Authorize: func(context.Context, registry.Access) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	r := &Registry{t: t, back: httptest.NewServer(reg), tags: map[string]document.Digest{}, other: map[document.Digest]page{}}
	r.server = httptest.NewServer(r)
	r.Host = strings.TrimPrefix(r.server.URL, "http://")
	t.Cleanup(func() {
		r.server.Close()
		r.back.Close()
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Answer lets the registry answer everything in this way; nil: as it should.
func (r *Registry) Answer(f http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = f
}

// Status lets the registry answer everything with this status and header.
func (r *Registry) Status(code int, header ...string) {
	r.Answer(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	})
}

// WantTokens lets the registry give nothing to whoever comes without the token
// that it gives to anybody, as Docker's does.
func (r *Registry) WantTokens() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.token = true
}

// Asked is each question so far, as "HEAD manifests/1.0", and forgets them.
func (r *Registry) Asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// Given is how many tokens were given.
func (r *Registry) Given() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.given
}

// Reference is how a module names an image of this registry.
func (r *Registry) Reference(repository, tag string) string {
	return r.Host + "/" + repository + ":" + tag
}

// ServeHTTP answers as a registry does.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	fault, token := r.fault, r.token
	if at := strings.Index(q.URL.Path, "/manifests/"); at >= 0 {
		r.asked = append(r.asked, q.Method+" "+q.URL.Path[at+1:])
	} else if at := strings.Index(q.URL.Path, "/blobs/"); at >= 0 {
		r.asked = append(r.asked, strings.TrimSpace(q.Method+" "+q.URL.Path[at+1:]+" "+q.Header.Get("Range")))
	}
	r.mu.Unlock()
	switch {
	case fault != nil:
		fault(w, q)
	case q.URL.Path == "/token":
		r.mu.Lock()
		r.given++
		r.mu.Unlock()
		fmt.Fprintf(w, `{"token": %q, "expires_in": 300}`, bearer)
	case token && q.Header.Get("Authorization") != "Bearer "+bearer:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="registry.example",scope="repository:x:pull"`, r.Host))
		w.WriteHeader(http.StatusUnauthorized)
	default:
		r.Read(w, q)
	}
}

// Read gives what is there; a tag is what it means now.
func (r *Registry) Read(w http.ResponseWriter, q *http.Request) {
	if q.Method != http.MethodGet && q.Method != http.MethodHead {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	q = q.Clone(q.Context())
	if repository, tag, ok := strings.Cut(strings.TrimPrefix(q.URL.Path, "/v2/"), "/manifests/"); ok && !document.Digest(tag).Valid() {
		r.mu.Lock()
		digest, known := r.tags[repository+":"+tag]
		r.mu.Unlock()
		if !known {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		q.URL.Path = "/v2/" + repository + "/manifests/" + string(digest)
	}
	r.mu.Lock()
	p, kept := r.other[document.Digest(path.Base(q.URL.Path))]
	r.mu.Unlock()
	if kept {
		digest := path.Base(q.URL.Path)
		w.Header().Set("Docker-Content-Digest", digest)
		if q.Header.Get("If-None-Match") == `"`+digest+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", p.kind)
		_, _ = w.Write(p.text)
		return
	}
	q.SetBasicAuth(pusher, "x")
	r.back.Config.Handler.ServeHTTP(w, q)
}

func (r *Registry) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// Blob puts a blob there.
func (r *Registry) Blob(repository string, b []byte) document.Digest {
	r.t.Helper()
	c, err := oci.New(oci.Config{Base: r.back.URL, User: pusher, Secret: "x"})
	r.must(err)
	defer c.Close()
	digest := document.Sum(b)
	r.must(c.PushBlob(r.t.Context(), oci.Blob{Repository: repository, Digest: digest, Size: int64(len(b))}, bytes.NewReader(b)))
	return digest
}

// Manifest puts a manifest there, as it is.
func (r *Registry) Manifest(repository, kind string, b []byte) document.Digest {
	r.t.Helper()
	digest := document.Sum(b)
	if kind != MediaManifest {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.other[digest] = page{kind, b}
		return digest
	}
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodPut, r.back.URL+"/v2/"+repository+"/manifests/"+string(digest), bytes.NewReader(b))
	r.must(err)
	q.SetBasicAuth(pusher, "x")
	q.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(q)
	r.must(err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		var why bytes.Buffer
		_, _ = why.ReadFrom(resp.Body)
		r.t.Fatalf("put a manifest: %s %s", resp.Status, &why)
	}
	return digest
}

// Tag lets a tag mean this.
func (r *Registry) Tag(repository, tag string, digest document.Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tags[repository+":"+tag] = digest
}

// Untag lets a tag mean nothing.
func (r *Registry) Untag(repository, tag string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tags, repository+":"+tag)
}
