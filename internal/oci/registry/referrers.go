package registry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"

	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/elsewhere"
)

// pageLimit is how many bytes of descriptors one answer holds, or one descriptor
// where it has more.
const pageLimit = 1 << 20

// referrers is a list of manifests as registries write it.
type referrers struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// descriptor is one manifest that is about another.
type descriptor = elsewhere.Referrer

// listReferrers answers which manifests of a repository are about one, whether
// that is there or not. It is worked out of the manifests that are there, so
// that nothing has to be kept in step with them.
func (g *Registry) listReferrers(w http.ResponseWriter, r *http.Request, a Access) {
	q := r.URL.Query()
	only := q.Get("artifactType")
	list, more, err := g.page(r.Context(), a.Repository, asked{a.Referrers, only, q.Get("last")})
	if err != nil {
		refuse(w, err)
		return
	}
	b, err := document.Canonical(referrers{2, oci.MediaReferrers, list})
	if err != nil {
		refuse(w, err)
		return
	}
	h := w.Header()
	if only != "" {
		h.Set(oci.FiltersHeader, "artifactType")
	}
	if more {
		next := url.Values{"last": {string(list[len(list)-1].Digest)}}
		if only != "" {
			next.Set("artifactType", only)
		}
		h.Set("Link", "<"+(&url.URL{Path: r.URL.Path, RawQuery: next.Encode()}).String()+`>; rel="next"`)
	}
	h.Set("Content-Type", oci.MediaReferrers)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b) // whoever asked has gone
	}
}

// asked is what somebody wants to see.
type asked struct {
	of   document.Digest
	only string // artifactType
	last string // the last digest that was seen
}

// page is the next of them, by digest, and whether there are more.
func (g *Registry) page(ctx context.Context, repository string, q asked) (list []descriptor, more bool, err error) {
	if g.behind != nil {
		return g.behind.page(ctx, repository, q)
	}
	there, err := links(g.path(repositories, repository, "_manifests", "revisions", "sha256"))
	if err != nil {
		return nil, false, err
	}
	list = []descriptor{}
	size := 0
	for _, hex := range slices.Sorted(maps.Keys(there)) {
		digest := digestOf(hex)
		if there[hex].IsZero() || string(digest) <= q.last {
			continue
		}
		d, is, err := g.refers(hex, q)
		if err != nil {
			return nil, false, err
		}
		if !is {
			continue
		}
		if size > 0 && size+length(d) > pageLimit {
			return list, true, nil
		}
		list, size = append(list, d), size+length(d)
	}
	return list, false, nil
}

func length(d descriptor) int {
	n := 256 + len(d.ArtifactType)
	for k, v := range d.Annotations {
		n += 8 + len(k) + len(v)
	}
	return n
}

// refers is a manifest where it is about what is asked for.
func (g *Registry) refers(hex string, q asked) (d descriptor, is bool, err error) {
	if subject, known := g.about.of(hex); known && subject != q.of {
		return d, false, nil
	}
	b, err := os.ReadFile(g.path(blobs, hex[:2], hex, "data"))
	if errors.Is(err, fs.ErrNotExist) {
		return d, false, nil // it has been taken away meanwhile
	}
	if err != nil {
		return d, false, fault.Wrap(fault.Unavailable, disk.Say(err, g.cfg.Dir), "read manifest %s", hex)
	}
	if document.Sum(b) != digestOf(hex) {
		return d, false, nil // it has rotted: nobody could pull it
	}
	m, err := oci.DecodeManifest(b)
	if err != nil {
		g.about.set(hex, "")
		return d, false, nil //nolint:nilerr // what cannot be read is about nothing, for a collection too
	}
	if m.Subject == nil {
		g.about.set(hex, "")
		return d, false, nil
	}
	g.about.set(hex, m.Subject.Digest)
	d = refersTo(m, digestOf(hex), len(b))
	kind := d.ArtifactType
	return d, m.Subject.Digest == q.of && (q.only == "" || q.only == kind), nil
}

// refersTo is a manifest as a list of referrers has it.
func refersTo(m oci.Manifest, digest document.Digest, size int) descriptor {
	kind := m.ArtifactType
	if kind == "" {
		kind = m.Config.MediaType
	}
	return descriptor{MediaType: m.MediaType, Digest: digest, Size: int64(size), ArtifactType: kind, Annotations: m.Annotations}
}

func digestOf(hex string) document.Digest { return document.Digest("sha256:" + hex) }

// mostSubjects is how many manifests it is remembered of what they are about.
const mostSubjects = 1 << 16

// subjects is what manifests are about, by their digests: a digest never comes to
// mean another, so that what is in it is right for ever.
type subjects struct {
	mu    sync.Mutex // guards byHex
	byHex map[string]document.Digest
}

func (s *subjects) of(hex string) (subject document.Digest, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	subject, known = s.byHex[hex]
	return subject, known
}

func (s *subjects) set(hex string, subject document.Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHex == nil || len(s.byHex) >= mostSubjects {
		s.byHex = map[string]document.Digest{}
	}
	s.byHex[hex] = subject
}

// readSubject reads the manifest that is pushed, and lets the answer say what it is
// about: whoever pushes knows by that that the registry lists it.
func readSubject(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, error) {
	b, err := io.ReadAll(io.LimitReader(r.Body, oci.ManifestLimit+1))
	if err != nil {
		return w, fault.Wrap(fault.Invalid, err, "read the manifest")
	}
	if len(b) > oci.ManifestLimit {
		return w, fault.New(fault.Invalid, "a manifest of more than %d bytes", oci.ManifestLimit)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	m, err := oci.DecodeManifest(b)
	if err != nil || m.Subject == nil {
		return w, nil //nolint:nilerr // the registry behind says what is wrong with it
	}
	return &subjectWriter{w, m.Subject.Digest}, nil
}

// subjectWriter says of what was pushed what it is about.
type subjectWriter struct {
	http.ResponseWriter
	subject document.Digest
}

// WriteHeader adds the subject where it was taken.
func (s *subjectWriter) WriteHeader(status int) {
	if status == http.StatusCreated {
		s.Header().Set(oci.SubjectHeader, string(s.subject))
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap is the writer behind, for what the server can do besides.
func (s *subjectWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
