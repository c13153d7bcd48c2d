package registry

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/elsewhere"
	"noxmesh/internal/oci/registry/registrytest"
)

// served elsewhere: the same front, and another's registry behind it.
type abroad struct {
	*served
	registry *Registry
	plain    *registrytest.Registry
	told     chan error
}

func serveAbroad(t *testing.T, c registrytest.Config, prefix string) *abroad {
	t.Helper()
	return abroadAt(t, registrytest.Serve(t, c), prefix, t.TempDir())
}

func abroadAt(t *testing.T, plain *registrytest.Registry, prefix, dir string) *abroad {
	t.Helper()
	client, err := elsewhere.New(elsewhere.Config{URL: plain.URL + prefix, Login: plain.Login})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1000)
	reg, err := New(Config{Dir: dir, Authorize: rules, MaxBlob: 1 << 20, Elsewhere: client, Kept: func(err error) { told <- err }})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(reg)
	t.Cleanup(func() {
		srv.Close()
		client.Close()
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	return &abroad{&served{t, dir, srv}, reg, plain, told}
}

// last is what was told last of keeping what is published.
func (a *abroad) last() (err error) {
	for {
		select {
		case err = <-a.told:
		default:
			return err
		}
	}
}

func (a *abroad) put(n int) (oci.Blob, []byte) {
	a.t.Helper()
	b, data := random(a.t, n)
	if err := a.builder().PushBlob(a.t.Context(), b, bytes.NewReader(data)); err != nil {
		a.t.Fatal(err)
	}
	return b, data
}

// kinds is every way in which another's registry lets the mesh in.
func kinds() map[string]registrytest.Config {
	return map[string]registrytest.Config{"a login": {}, "tokens": {Tokens: true}}
}

// What is published lies in the other registry, whole, under the prefix, and whoever
// reads it gets it from the front: all of it, and parts.
func TestWhatIsPublishedIsKeptElsewhere(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serveAbroad(t, kind, "/acme/mesh")
			ctx := t.Context()
			blob, data := a.put(100_000)
			empty := oci.Blob{Repository: mine, Digest: document.Sum(nil)}
			if err := a.builder().PushBlob(ctx, empty, strings.NewReader("")); err != nil {
				t.Errorf("an empty blob: %v", err)
			}
			if has, err := a.node().HasBlob(ctx, theirs, blob.Digest, blob.Size); err != nil || has {
				t.Errorf("another repository has it: %t %v", has, err)
			}
			digest, err := a.builder().PushManifest(ctx, mine, oci.Manifest{Config: layer(blob)})
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"blobs/" + string(blob.Digest), "manifests/" + string(digest)} {
				if !a.plain.Has(t, "/v2/acme/mesh/"+mine+"/"+path) {
					t.Errorf("%s is not there", path)
				}
			}
			if _, err := os.Stat(filepath.Join(a.dir, filepath.FromSlash(blobs), blob.Digest.Hex()[:2], blob.Digest.Hex())); err == nil {
				t.Error("the bytes are here too")
			}
			givesBack(t, a.node(), blob, data, 500)
			if m, err := a.node().PullManifest(ctx, mine, digest); err != nil || m.Config.Digest != blob.Digest {
				t.Errorf("%+v %v", m, err)
			}
			if has, err := a.node().HasManifest(ctx, mine, document.Sum([]byte("none"))); err != nil || has {
				t.Errorf("one that is not there: %t %v", has, err)
			}
			if err := a.last(); err != nil {
				t.Errorf("told of %v", err)
			}
			// Who may do what is decided in front as ever.
			other := oci.Blob{Repository: theirs, Digest: blob.Digest, Size: blob.Size}
			if err := a.builder().PushBlob(ctx, other, bytes.NewReader(data)); fault.KindOf(err) != fault.Denied {
				t.Errorf("another module's repository: %v", err)
			}
		})
	}
}

// A blob whose bytes are others is refused by the registry that keeps it, and one
// that breaks off is no trouble of the registry's.
func TestWhatIsNotWholeIsNotKeptElsewhere(t *testing.T) {
	t.Parallel()
	a := serveAbroad(t, registrytest.Config{}, "")
	blob, data := random(t, 1000)
	if err := a.builder().PushBlob(t.Context(), blob, bytes.NewReader(make([]byte, 1000))); err == nil {
		t.Error("other bytes are taken")
	}
	a.last()
	if err := a.builder().PushBlob(t.Context(), blob, short{bytes.NewReader(data[:500])}); err == nil {
		t.Error("a part is all of it")
	}
	if err := a.last(); err != nil {
		t.Errorf("it is told of: %v", err)
	}
	if has, err := a.builder().HasBlob(t.Context(), mine, blob.Digest, blob.Size); err != nil || has {
		t.Errorf("half a blob shows: %t %v", has, err)
	}
	resp, text := a.asks(http.MethodPut, "/v2/"+mine+"/manifests/"+string(document.Sum([]byte("x"))), "builder", "b", []byte(`{"schemaVersion":2}`))
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%d: %s", resp.StatusCode, text)
	}
}

// A login that is not taken is named with its file wherever it is met, is no no of
// the mesh's own, and a right one is taken without a restart.
func TestALoginThatIsNotTakenIsNamed(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serveAbroad(t, kind, "")
			right, err := os.ReadFile(a.plain.Login)
			if err != nil {
				t.Fatal(err)
			}
			write := func(text string) {
				if err := os.WriteFile(a.plain.Login, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("mesh:wrong-one\n")
			blob, data := random(t, 10)
			named := func(err error) {
				t.Helper()
				if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "--registry-login") || !strings.Contains(err.Error(), "login") || strings.Contains(err.Error(), "wrong-one") {
					t.Errorf("%v", err)
				}
			}
			_, err = a.builder().PullManifest(t.Context(), mine, blob.Digest)
			named(err)
			put := func() error {
				c := a.builder()
				return c.PushBlob(t.Context(), blob, bytes.NewReader(data))
			}
			if err := put(); err == nil {
				t.Error("it is taken")
			}
			resp, text := a.asks(http.MethodPut, "/v2/"+mine+"/blobs/uploads/"+newUpload()+"?digest="+string(blob.Digest), "builder", "b", nil)
			if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "--registry-login") {
				t.Errorf("%d %s", resp.StatusCode, text)
			}
			if err := a.last(); err == nil || !strings.Contains(err.Error(), a.plain.Login) {
				t.Errorf("told of %v", err)
			}
			if err := a.registry.Try(t.Context()); err == nil {
				t.Error("a try finds nothing")
			}
			write(string(right))
			if err := a.registry.Try(t.Context()); err != nil {
				t.Errorf("with the right one: %v", err)
			}
			if err := put(); err != nil || a.last() != nil {
				t.Errorf("with the right one: %v", err)
			}
		})
	}
}

// Where the registry lists no referrers they are under the tag that the specification
// has for such, and are found whoever put them there; where it does, there is no tag.
func TestReferrersOfARegistryThatListsNone(t *testing.T) {
	t.Parallel()
	a := serveAbroad(t, registrytest.Config{}, "/p")
	says := a.small("says")
	empty := a.small(oci.Empty)
	empty.MediaType = oci.MediaEmpty
	subject := oci.Descriptor{MediaType: oci.MediaManifest, Digest: document.Sum([]byte("not there yet")), Size: 3}
	if all, _ := a.list(referrersOf(subject.Digest)); len(all) != 0 {
		t.Errorf("of what nobody knows: %+v", all)
	}
	var want []string
	for _, kind := range []string{"application/x.a", "application/x.b"} {
		m := oci.About(subject, says)
		m.ArtifactType = kind
		digest, resp := a.push(m)
		if resp.Header.Get(oci.SubjectHeader) != string(subject.Digest) {
			t.Errorf("%s: OCI-Subject %q", kind, resp.Header.Get(oci.SubjectHeader))
		}
		if again, _ := a.push(m); again != digest {
			t.Error("the same is another")
		}
		want = append(want, string(digest))
	}
	slices.Sort(want)
	tag := "/v2/p/" + mine + "/manifests/" + strings.Replace(string(subject.Digest), ":", "-", 1)
	if !a.plain.Has(t, tag) {
		t.Error("there is no tag")
	}
	all, _ := a.list(referrersOf(subject.Digest))
	var got []string
	for _, d := range all {
		got = append(got, string(d.Digest))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	only, resp := a.list(referrersOf(subject.Digest) + "?artifactType=application/x.a")
	if len(only) != 1 || only[0].ArtifactType != "application/x.a" || resp.Header.Get(oci.FiltersHeader) != "artifactType" {
		t.Errorf("%+v", only)
	}

	// One that lists them by itself: its list is read, and no tag is made.
	listing := serveAbroad(t, registrytest.Config{}, "/p")
	listing.plain.Wrong(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.Contains(r.URL.Path, "/referrers/"):
			w.Header().Set("Content-Type", oci.MediaReferrers)
			if r.URL.Query().Get("page") == "" {
				w.Header().Set("Link", fmt.Sprintf("<%s?page=2>; rel=\"next\"", r.URL.Path))
				fmt.Fprintf(w, `{"schemaVersion":2,"manifests":[{"mediaType":"a/b","digest":"%s","size":1}, {"digest":7}]}`, want[1])
				return true
			}
			fmt.Fprintf(w, `{"schemaVersion":2,"manifests":[{"mediaType":"a/b","digest":"%s","size":1}]}`, want[0])
			return true
		case r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256:"):
			w.Header().Set(oci.SubjectHeader, "sha256:x")
		}
		return false
	})
	listing.small("says")
	listing.small(oci.Empty)
	listing.push(oci.About(subject, says))
	if listing.plain.Has(t, tag) {
		t.Error("a tag is made beside the registry's own list")
	}
	if all, _ := listing.list(referrersOf(subject.Digest)); len(all) != 2 || string(all[0].Digest) != want[0] {
		t.Errorf("%+v", all)
	}
}

// A collection takes away what the mesh has put there and nothing names any more, and
// nothing else.
func TestACollectionElsewhereTakesOnlyWhatIsTheMeshs(t *testing.T) {
	t.Parallel()
	a := serveAbroad(t, registrytest.Config{}, "")
	ctx := t.Context()
	keep, _ := a.put(1000)
	drop, _ := a.put(2000)
	orphan, _ := a.put(3000)
	publish := func(subject document.Digest, blobs ...oci.Blob) document.Digest {
		m := oci.Manifest{Config: layer(blobs[0])}
		for _, b := range blobs[1:] {
			m.Layers = append(m.Layers, layer(b))
		}
		if subject != "" {
			m.Subject = &oci.Descriptor{MediaType: oci.MediaManifest, Digest: subject, Size: 1}
		}
		d, err := a.builder().PushManifest(ctx, mine, m)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	kept := publish("", keep)
	gone := publish("", drop, keep)
	note, _ := a.put(7)
	about := publish(gone, note)
	stays := publish(kept, note)
	// Somebody else has put something there too.
	foreign, data := random(t, 50)
	if err := a.registry.cfg.Elsewhere.PushBlob(ctx, elsewhere.Thing{Repository: mine, Kind: elsewhere.Blobs, Digest: foreign.Digest}, foreign.Size, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	has := func(kind string, d document.Digest) bool {
		t.Helper()
		return a.plain.Has(t, "/v2/"+mine+"/"+kind+"/"+string(d))
	}
	collect := func(look bool) Collected {
		t.Helper()
		done, err := a.registry.Collect(ctx, Collecting{Before: later(), Look: look, Names: func(context.Context, string) (Named, error) { return keeping(kept), nil }})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if done := collect(true); done.Manifests != 2 || !has("manifests", gone) || !has("blobs", orphan.Digest) {
		t.Errorf("a look: %+v", done)
	}
	done := collect(false)
	if done.Manifests != 2 || done.Bytes < 5000 {
		t.Errorf("%+v", done)
	}
	for what, there := range map[string][2]bool{
		"what is named": {has("manifests", kept), true}, "its blob": {has("blobs", keep.Digest), true}, "what is about it": {has("manifests", stays), true}, "of that": {has("blobs", note.Digest), true},
		"what nothing names": {has("manifests", gone), false}, "what is about that": {has("manifests", about), false}, "its blob alone": {has("blobs", drop.Digest), false},
		"what no manifest names": {has("blobs", orphan.Digest), false}, "another's": {has("blobs", foreign.Digest), true},
		"the list of what stays": {has("manifests", document.Digest(tagOf(kept))), true}, "the list of what goes": {has("manifests", document.Digest(tagOf(gone))), false},
	} {
		if there[0] != there[1] {
			t.Errorf("%s: there %t", what, there[0])
		}
	}
	if again := collect(false); again.Manifests+again.Blobs != 0 {
		t.Errorf("again: %+v", again)
	}
}

func tagOf(d document.Digest) string { return strings.Replace(string(d), ":", "-", 1) }

// A registry that lets nothing be deleted is said to be one, with what to do, and
// what would go stays noted.
func TestARegistryThatKeepsEverythingIsNamed(t *testing.T) {
	t.Parallel()
	a := serveAbroad(t, registrytest.Config{Keeps: true}, "")
	blob, _ := a.put(10)
	digest, err := a.builder().PushManifest(t.Context(), mine, oci.Manifest{Config: layer(blob)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err = a.registry.Collect(t.Context(), Collecting{Before: later(), Names: func(context.Context, string) (Named, error) { return keeping(), nil }})
		if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "it lets nothing be deleted") || !strings.Contains(fault.HintOf(err), "collect there by its own means") {
			t.Errorf("%v (%s)", err, fault.HintOf(err))
		}
	}
	if has, err := a.node().HasManifest(t.Context(), mine, digest); err != nil || !has {
		t.Errorf("it is gone: %v", err)
	}
}

// A registry that answers nonsense, or not at all, is unavailable to whoever asks, and
// is never what it is not.
func TestAnotherRegistryThatIsNotWell(t *testing.T) {
	t.Parallel()
	a := serveAbroad(t, registrytest.Config{}, "")
	blob, data := a.put(5000)
	for name, wrong := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"it is full": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusInsufficientStorage)
			return true
		},
		"it has had enough": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		},
		"it refuses": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true },
		"no place": func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(http.StatusNotFound)
			return r.Method == http.MethodPost
		},
		"elsewhere without TLS": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Location", "http://192.0.2.7/v2/x")
			w.WriteHeader(http.StatusAccepted)
			return true
		},
		"it hangs up": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
	} {
		a.plain.Wrong(wrong)
		fresh, text := random(t, 20)
		if err := a.registry.behind.client.PushBlob(t.Context(), elsewhere.Thing{Repository: mine, Kind: elsewhere.Blobs, Digest: fresh.Digest}, 20, bytes.NewReader(text)); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	half := data[:2000]
	a.plain.Wrong(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "" {
			return false
		}
		w.Header().Set("Content-Length", "5000")
		_, _ = w.Write(half)
		return true
	})
	got, err := a.node().PullBytes(t.Context(), blob) // goes on where it breaks off
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
}
