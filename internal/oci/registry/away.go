package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/elsewhere"
)

// away keeps what is published in a registry that is not the mesh's own. Who may do
// what has been decided in front of it as ever. What is sent there is noted in the
// folder first, as if it were kept in it: that is what a collection may take away.
type away struct {
	registry *Registry
	client   *elsewhere.Client
	notes    *driver

	mu   sync.Mutex // guards last
	last string     // the repository to which something could not be pushed last
}

func newAway(g *Registry) *away {
	return &away{registry: g, client: g.cfg.Elsewhere, notes: &driver{root: g.cfg.Dir, kept: g.cfg.Kept, short: g.short}}
}

// ServeHTTP answers what route has let through.
func (a *away) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	rest, last := path.Split(strings.TrimPrefix(r.URL.Path, "/v2/"))
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	kind := parts[len(parts)-1]
	switch {
	case rest == "":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	case kind == "uploads" && r.Method == http.MethodPost:
		w.Header().Set("Location", r.URL.Path+newUpload()) // one upload is one PUT: it begins there with its bytes
		w.WriteHeader(http.StatusAccepted)
	case kind == "uploads":
		a.pushBlob(w, r, elsewhere.Thing{Repository: strings.Join(parts[:len(parts)-2], "/"), Kind: elsewhere.Blobs, Digest: document.Digest(r.URL.Query().Get("digest"))})
	default:
		t := elsewhere.Thing{Repository: strings.Join(parts[:len(parts)-1], "/"), Kind: elsewhere.Kind(kind), Digest: document.Digest(last)}
		if reads(r.Method) {
			a.read(w, r, t)
			return
		}
		a.pushManifest(w, r, t)
	}
}

// newUpload is a name that no other upload has.
func newUpload() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// read hands on what is there. Whoever reads checks it, and goes on where it breaks off.
func (a *away) read(w http.ResponseWriter, r *http.Request, t elsewhere.Thing) {
	resp, err := a.client.Read(r.Context(), t, r)
	if err != nil {
		a.failed(r, err)
		a.refuse(w, err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		answer(w, http.StatusNotFound, "BLOB_UNKNOWN", "registry "+strconv.Quote(a.client.Name())+" has none of this digest")
		return
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Range", "Accept-Ranges", "Etag"} {
		if v := resp.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.Header().Set("Docker-Content-Digest", string(t.Digest))
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		_ = http.NewResponseController(w).Flush() // whoever reads goes on from there
		panic(http.ErrAbortHandler)               // the answer is not whole, and must not end as if it were
	}
}

// source is the bytes that somebody pushes, and whether it was they that broke off.
type source struct {
	from io.Reader
	err  error
}

// Read reads on.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (a *away) pushBlob(w http.ResponseWriter, r *http.Request, t elsewhere.Thing) {
	if r.ContentLength < 0 {
		answer(w, http.StatusLengthRequired, "SIZE_INVALID", "say how many bytes there are")
		return
	}
	from := &source{from: r.Body}
	err := a.note(r.Context(), t, r.ContentLength)
	if err == nil {
		err = a.client.PushBlob(r.Context(), t, r.ContentLength, from)
	}
	if from.err != nil {
		answer(w, http.StatusBadRequest, "BLOB_UPLOAD_INVALID", "the bytes break off")
		return
	}
	a.pushed(w, r, t, err)
}

func (a *away) pushManifest(w http.ResponseWriter, r *http.Request, t elsewhere.Thing) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, fault.Wrap(fault.Invalid, err, "read the manifest"))
		return
	}
	m, err := oci.DecodeManifest(text)
	if err == nil && document.Sum(text) != t.Digest {
		err = fault.New(fault.Invalid, "its digest is %s", document.Sum(text))
	}
	if err != nil {
		refuse(w, fault.Wrap(fault.Invalid, err, "manifest %s", t.Digest))
		return
	}
	a.pushed(w, r, t, a.publish(r.Context(), t, m, text))
}

// publish notes a manifest, puts it there, and sees to it that it is listed with what
// it is about. Ended between the two, it is pushed again by whoever was not told.
func (a *away) publish(ctx context.Context, t elsewhere.Thing, m oci.Manifest, text []byte) error {
	hex := t.Digest.Hex()
	if err := a.notes.PutContent(ctx, "/"+path.Join(blobs, hex[:2], hex, "data"), text); err != nil {
		return a.unnoted(t, err)
	}
	if err := a.note(ctx, t, int64(len(text))); err != nil {
		return err
	}
	listed, err := a.client.PushManifest(ctx, t, oci.MediaManifest, text)
	if err != nil || m.Subject == nil || listed {
		return err
	}
	return a.client.Attach(ctx, t.Repository, m.Subject.Digest, refersTo(m, t.Digest, len(text)))
}

// pushed answers what became of a push, and tells of it: a registry that cannot keep
// what is published is seen before anything else.
func (a *away) pushed(w http.ResponseWriter, r *http.Request, t elsewhere.Thing, err error) {
	if err == nil {
		a.registry.cfg.Kept(nil)
		w.Header().Set("Docker-Content-Digest", string(t.Digest))
		w.Header().Set("Location", "/v2/"+t.Repository+"/"+string(t.Kind)+"/"+string(t.Digest))
		w.WriteHeader(http.StatusCreated)
		return
	}
	a.mu.Lock()
	a.last = t.Repository
	a.mu.Unlock()
	a.failed(r, err)
	a.refuse(w, err)
}

// failed tells of what the registry elsewhere could not do, unless whoever asked has gone.
func (a *away) failed(r *http.Request, err error) {
	if r.Context().Err() == nil {
		a.registry.cfg.Kept(err)
	}
}

// refuse answers what the registry elsewhere could not do. Its no to the mesh is none
// to whoever asks the mesh.
func (a *away) refuse(w http.ResponseWriter, err error) {
	if kind := fault.KindOf(err); kind != fault.Unavailable {
		err = fault.Wrap(fault.Unavailable, err, "")
	}
	refuse(w, err)
}

// try is nil where what could not be pushed last could be pushed now.
func (a *away) try(ctx context.Context) error {
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	return a.client.Try(ctx, last)
}

// note writes down that a thing is sent there.
func (a *away) note(ctx context.Context, t elsewhere.Thing, size int64) error {
	at := path.Join(repositories, t.Repository, "_layers", "sha256", t.Digest.Hex(), "link")
	if t.Kind == elsewhere.Manifests {
		at = path.Join(repositories, t.Repository, "_manifests", "revisions", "sha256", t.Digest.Hex(), "link")
	}
	err := a.notes.PutContent(ctx, "/"+at, fmt.Appendf(nil, "%s %d", t.Digest, size))
	return a.unnoted(t, err)
}

func (a *away) unnoted(t elsewhere.Thing, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, err, "note in %q that %s goes to %q", a.registry.cfg.Dir, t.Digest, a.client.Name())
}

// page is what is about a manifest there, from the last that was seen on.
func (a *away) page(ctx context.Context, repository string, q asked) (list []descriptor, more bool, err error) {
	all, err := a.client.Referrers(ctx, repository, q.of)
	if err != nil {
		return nil, false, fault.Wrap(fault.Unavailable, err, "")
	}
	list = []descriptor{}
	size := 0
	for _, d := range all {
		if string(d.Digest) <= q.last || q.only != "" && q.only != d.ArtifactType {
			continue
		}
		if size > 0 && size+length(d) > pageLimit {
			return list, true, nil
		}
		list, size = append(list, d), size+length(d)
	}
	return list, false, nil
}

// dropManifest takes a manifest away from where it is kept, out of the list with its
// subject first: nothing names what is gone.
func (a *away) dropManifest(ctx context.Context, repository, hex string) error {
	if a == nil {
		return nil
	}
	if m, err := a.registry.manifest(hex); err == nil && m.Subject != nil {
		if err := a.client.Detach(ctx, repository, m.Subject.Digest, digestOf(hex)); err != nil {
			return a.keeps(err)
		}
	}
	return a.keeps(a.client.Delete(ctx, elsewhere.Thing{Repository: repository, Kind: elsewhere.Manifests, Digest: digestOf(hex)}))
}

// dropBlob takes a blob away. A registry that lets manifests be deleted and no blobs
// collects these itself.
func (a *away) dropBlob(ctx context.Context, repository, hex string) error {
	if a == nil {
		return nil
	}
	err := a.client.Delete(ctx, elsewhere.Thing{Repository: repository, Kind: elsewhere.Blobs, Digest: digestOf(hex)})
	if errors.Is(err, elsewhere.ErrKeeps) {
		return nil
	}
	return err
}

// keeps says what to do about a registry that lets nothing go.
func (a *away) keeps(err error) error {
	if !errors.Is(err, elsewhere.ErrKeeps) {
		return err
	}
	return fault.Wrap(fault.Conflict, err, "nothing is collected").
		With("switch deletion on in registry %q (REGISTRY_STORAGE_DELETE_ENABLED=true where it is the usual one), or collect there by its own means", a.client.Name())
}

// elsewhere counts a blob of which only a note is here.
func (s *sweep) elsewhere(r room, hex string, goes bool) {
	if s.registry.behind == nil {
		return
	}
	size := noted(r.dir, hex)
	if goes {
		s.done.Blobs, s.done.Bytes = s.done.Blobs+1, s.done.Bytes+size
		return
	}
	s.done.Kept, s.done.KeptBytes = s.done.Kept+1, s.done.KeptBytes+size
}

// noted is the size that a note says, or 0 where it cannot be read.
func noted(dir, hex string) int64 {
	text, err := os.ReadFile(path.Join(dir, hex, "link"))
	if err != nil {
		return 0
	}
	_, size, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
