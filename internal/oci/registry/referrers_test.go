package registry

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/document"
	"noxmesh/internal/oci"
)

// asks makes one request as the usual tools do: no more than HTTP and a credential.
func (s *served) asks(method, target, user, secret string, body []byte) (*http.Response, []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.srv.URL+target, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, secret)
	}
	req.Header.Set(oci.RequestHeader, "r1")
	req.Header.Set("Accept", oci.MediaManifest)
	if body != nil {
		req.Header.Set("Content-Type", oci.MediaManifest)
	}
	resp, err := s.srv.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, text
}

// list is the referrers of a manifest, page after page.
func (s *served) list(target string) (all []descriptor, resp *http.Response) {
	s.t.Helper()
	for target != "" {
		var text []byte
		resp, text = s.asks(http.MethodGet, target, "node", "n", nil)
		if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "application/vnd.oci.image.index.v1+json" {
			s.t.Fatalf("%s: %d, %q: %s", target, resp.StatusCode, kind, text)
		}
		got, err := document.Decode[referrers]("index", text, document.Limits{Bytes: 8 << 20, Depth: 8})
		if err != nil || got.SchemaVersion != 2 || got.MediaType != "application/vnd.oci.image.index.v1+json" {
			s.t.Fatalf("%v: %s", err, text)
		}
		all = append(all, got.Manifests...)
		next, more := strings.CutSuffix(resp.Header.Get("Link"), `>; rel="next"`)
		target = ""
		if more {
			target = strings.TrimPrefix(next, "<")
		}
	}
	return all, resp
}

// push makes a manifest of one blob as it is, and says how it was answered.
func (s *served) push(m oci.Manifest) (document.Digest, *http.Response) {
	s.t.Helper()
	b, digest, err := m.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	resp, text := s.asks(http.MethodPut, "/v2/"+mine+"/manifests/"+string(digest), "builder", "b", b)
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("Docker-Content-Digest") != string(digest) {
		s.t.Fatalf("%d: %s", resp.StatusCode, text)
	}
	return digest, resp
}

func (s *served) small(text string) oci.Descriptor {
	s.t.Helper()
	d := oci.Descriptor{MediaType: oci.MediaFile, Digest: document.Sum([]byte(text)), Size: int64(len(text))}
	if err := s.builder().PushBlob(s.t.Context(), oci.Blob{Repository: mine, Digest: d.Digest, Size: d.Size}, strings.NewReader(text)); err != nil {
		s.t.Fatal(err)
	}
	return d
}

func referrersOf(d document.Digest) string { return "/v2/" + mine + "/referrers/" + string(d) }

// What the specification of registries asks of a list of referrers: each rule as
// its own tests check it.
func TestReferrersAsTheSpecificationHasThem(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	empty, says := s.small(oci.Empty), s.small("says")
	config := s.small("config")
	config.MediaType = "application/x.config"
	subject := oci.Descriptor{MediaType: oci.MediaManifest, Digest: document.Sum([]byte("not there yet")), Size: 3}

	// Of what is not there, and of a repository that is not, there is an empty list.
	for _, target := range []string{referrersOf(subject.Digest), "/v2/modules/none/referrers/" + string(subject.Digest)} {
		if all, resp := s.list(target); len(all) != 0 || resp.Header.Get(oci.FiltersHeader) != "" {
			t.Errorf("%s: %+v", target, all)
		}
	}
	plain, resp := s.push(oci.Manifest{Config: config})
	if got := resp.Header.Get("OCI-Subject"); got != "" {
		t.Errorf("a manifest about nothing: OCI-Subject %q", got)
	}
	about := func(change func(*oci.Manifest)) document.Digest {
		m := oci.About(subject, says)
		m.Config = empty
		m.Config.MediaType = oci.MediaEmpty
		change(&m)
		digest, resp := s.push(m)
		if got := resp.Header.Get("OCI-Subject"); got != string(subject.Digest) {
			t.Errorf("OCI-Subject %q, want %s", got, subject.Digest)
		}
		return digest
	}
	one := about(func(m *oci.Manifest) {
		m.ArtifactType, m.Annotations = "application/x.one", map[string]string{"a": "b"}
	})
	two := about(func(m *oci.Manifest) { m.ArtifactType, m.Config = "", config })
	chained := about(func(m *oci.Manifest) {
		m.Subject = &oci.Descriptor{MediaType: oci.MediaManifest, Digest: subject.Digest, Size: 3}
		m.ArtifactType = "application/x.two"
	})
	if again, _ := s.push(oci.Manifest{Config: config}); again != plain {
		t.Error("the same twice is another")
	}

	all, resp := s.list(referrersOf(subject.Digest))
	want := []document.Digest{one, two, chained}
	slices.Sort(want)
	var got []document.Digest
	for _, d := range all {
		got = append(got, d.Digest)
		if d.MediaType != oci.MediaManifest || d.Size == 0 {
			t.Errorf("%+v", d)
		}
	}
	if !slices.Equal(got, want) || resp.Header.Get(oci.FiltersHeader) != "" {
		t.Errorf("%v, want %v", got, want)
	}
	for kind, is := range map[string]document.Digest{"application/x.one": one, "application/x.config": two, "application/x.none": ""} {
		all, resp := s.list(referrersOf(subject.Digest) + "?artifactType=" + kind)
		if resp.Header.Get("OCI-Filters-Applied") != "artifactType" {
			t.Errorf("%s: what it was narrowed by is not said", kind)
		}
		if (is == "") != (len(all) == 0) || is != "" && (len(all) != 1 || all[0].Digest != is || all[0].ArtifactType != kind) {
			t.Errorf("%s: %+v", kind, all)
		}
		if is == one && all[0].Annotations["a"] != "b" {
			t.Errorf("without its annotations: %+v", all[0])
		}
	}
	if resp, text := s.asks(http.MethodHead, referrersOf(subject.Digest), "node", "n", nil); resp.StatusCode != http.StatusOK || len(text) != 0 || resp.ContentLength < 100 {
		t.Errorf("HEAD: %d, %q, %d bytes", resp.StatusCode, text, resp.ContentLength)
	}
}

func TestWhoMayAskForReferrersAndHow(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	d := string(document.Sum(nil))
	for name, c := range map[string]struct {
		method, target, user, secret string
		want                         int
		says                         string
	}{
		"nobody":       {http.MethodGet, "/v2/" + mine + "/referrers/" + d, "", "", 401, "UNAUTHORIZED"},
		"wrong secret": {http.MethodGet, "/v2/" + mine + "/referrers/" + d, "node", "x", 403, "no such credential"},
		"node":         {http.MethodGet, "/v2/" + mine + "/referrers/" + d, "node", "n", 200, ""},
		"builder":      {http.MethodGet, "/v2/" + mine + "/referrers/" + d, "builder", "b", 200, ""},
		"no digest":    {http.MethodGet, "/v2/" + mine + "/referrers/latest", "node", "n", 400, "is not a digest"},
		"sha512":       {http.MethodGet, "/v2/" + mine + "/referrers/sha512:" + strings.Repeat("a", 128), "node", "n", 400, "is not a digest"},
		"name":         {http.MethodGet, "/v2/Site/referrers/" + d, "node", "n", 400, "repository"},
		"inner":        {http.MethodGet, "/v2/a/referrers/b/referrers/" + d, "node", "n", 400, "means something else"},
		"put":          {http.MethodPut, "/v2/" + mine + "/referrers/" + d, "builder", "b", 403, "is only read"},
		"delete":       {http.MethodDelete, "/v2/" + mine + "/referrers/" + d, "builder", "b", 403, "is only read"},
		"encoded":      {http.MethodGet, "/v2/" + mine + "/referrers/%73ha256" + d[6:], "node", "n", 400, "encoded"},
	} {
		resp, text := s.asks(c.method, c.target, c.user, c.secret, nil)
		if resp.StatusCode != c.want || !strings.Contains(string(text), c.says) {
			t.Errorf("%s: %d %s, want %d %s", name, resp.StatusCode, text, c.want, c.says)
		}
	}
	// A referrer is pushed by whoever may push what it is about, and by nobody else.
	m, digest, err := oci.About(oci.Descriptor{MediaType: oci.MediaManifest, Digest: document.Sum(nil)}, oci.Descriptor{MediaType: oci.MediaFile, Digest: document.Sum(nil)}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ repo, user, secret string }{{mine, "node", "n"}, {theirs, "builder", "b"}, {theirs, "node", "n"}} {
		resp, text := s.asks(http.MethodPut, "/v2/"+c.repo+"/manifests/"+string(digest), c.user, c.secret, m)
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%+v: %d %s", c, resp.StatusCode, text)
		}
	}
	// One whose blobs are not there is not taken, and not said to be listed.
	resp, text := s.asks(http.MethodPut, "/v2/"+mine+"/manifests/"+string(digest), "builder", "b", m)
	if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusNotFound || resp.Header.Get("OCI-Subject") != "" {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	// One that is too large, or breaks off, is refused.
	resp, text = s.asks(http.MethodPut, "/v2/"+mine+"/manifests/"+string(digest), "builder", "b", make([]byte, oci.ManifestLimit+1))
	if resp.StatusCode/100 != 4 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// A long list comes in pages, each of which is small, and none is lost or doubled
// between them.
func TestALongListOfReferrersComesInPages(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	says := s.small("says")
	s.small(oci.Empty)
	subject := oci.Descriptor{MediaType: oci.MediaManifest, Digest: document.Sum([]byte("subject")), Size: 3}
	want := []document.Digest{}
	for i := range 5 {
		m := oci.About(subject, says)
		m.Annotations = map[string]string{"n": strconv.Itoa(i), "long": strings.Repeat("x", 400<<10)}
		d, _ := s.push(m)
		want = append(want, d)
	}
	slices.Sort(want)
	resp, text := s.asks(http.MethodGet, referrersOf(subject.Digest), "node", "n", nil)
	if len(text) > pageLimit+(1<<10) || !strings.Contains(resp.Header.Get("Link"), `>; rel="next"`) {
		t.Errorf("%d bytes, Link %q", len(text), resp.Header.Get("Link"))
	}
	for _, filter := range []string{"", "?artifactType=" + oci.MediaFile} {
		var got []document.Digest
		all, _ := s.list(referrersOf(subject.Digest) + filter)
		for _, d := range all {
			got = append(got, d.Digest)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", filter, got, want)
		}
	}
}

// What has rotted, what cannot be read as a manifest and what is gone is not listed;
// a disk that refuses is said, and no reason to say that there is nothing.
func TestReferrersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	says := s.small("says")
	s.small(oci.Empty)
	subject := oci.Descriptor{MediaType: oci.MediaManifest, Digest: document.Sum([]byte("subject")), Size: 3}
	var all []document.Digest
	for i := range 3 {
		m := oci.About(subject, says)
		m.Annotations = map[string]string{"n": strconv.Itoa(i)}
		d, _ := s.push(m)
		all = append(all, d)
	}
	data := func(d document.Digest) string { return filepath.Join(s.dir, blobs, d.Hex()[:2], d.Hex(), "data") }
	if err := os.WriteFile(data(all[0]), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(data(all[1])); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.list(referrersOf(subject.Digest)); len(got) != 1 || got[0].Digest != all[2] {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(data(all[2])); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(data(all[2]), 0o700); err != nil {
		t.Fatal(err)
	}
	if resp, text := s.asks(http.MethodGet, referrersOf(subject.Digest), "node", "n", nil); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// Beside an obvious model: whatever is pushed, said to be named and collected, a
// referrer is listed exactly while it is there, stays exactly while what it is about
// stays, and keeps nothing.
func TestReferrersLiveAsLongAsWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := serve(t, t.TempDir())
		reg := s.srv.Config.Handler.(*Registry) //nolint:forcetypeassert // ours
		says := s.small("says")
		s.small(oci.Empty)
		type one struct{ digest, subject document.Digest }
		var all []one
		for i := range rapid.IntRange(1, 7).Draw(rt, "manifests") {
			m := oci.Manifest{Config: says, Annotations: map[string]string{"n": strconv.Itoa(i)}}
			var subject document.Digest
			switch about := rapid.IntRange(-2, i-1).Draw(rt, "about"); {
			case about >= 0:
				subject = all[about].digest
			case about == -1 && i > 0:
				subject = document.Sum([]byte("nowhere"))
			}
			if subject != "" {
				m.Subject = &oci.Descriptor{MediaType: oci.MediaManifest, Digest: subject, Size: 1}
			}
			d, _ := s.push(m)
			all = append(all, one{d, subject})
		}
		named := map[document.Digest]bool{}
		for _, o := range all {
			if rapid.Bool().Draw(rt, "named") {
				named[o.digest] = true
			}
		}
		stays := map[document.Digest]bool{} // what is about something comes after it
		for _, o := range all {
			stays[o.digest] = named[o.digest] || stays[o.subject]
		}
		_, err := reg.Collect(t.Context(), Collecting{Before: time.Now().Add(time.Hour), Names: func(context.Context, string) (Named, error) {
			return Named{Manifests: named}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		subjects := map[document.Digest][]document.Digest{document.Sum([]byte("nowhere")): nil}
		for _, o := range all {
			resp, _ := s.asks(http.MethodGet, "/v2/"+mine+"/manifests/"+string(o.digest), "node", "n", nil)
			if is := resp.StatusCode == http.StatusOK; is != stays[o.digest] {
				rt.Errorf("it is there: %v, want %v", is, stays[o.digest])
			}
			subjects[o.digest] = append(subjects[o.digest], []document.Digest{}...)
			if o.subject != "" && stays[o.digest] {
				subjects[o.subject] = append(subjects[o.subject], o.digest)
			}
		}
		for subject, want := range subjects {
			slices.Sort(want)
			var got []document.Digest
			listed, _ := s.list(referrersOf(subject))
			for _, d := range listed {
				got = append(got, d.Digest)
			}
			if !slices.Equal(got, want) {
				rt.Errorf("of %s: %v, want %v", subject.Short(), got, want)
			}
		}
	})
}
