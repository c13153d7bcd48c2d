package elsewhere

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

func TestOnlyAnAddressThatProtectsTheLoginIsTaken(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://registry.example": "registry.example", "https://registry.example:5000/acme/mesh/": "registry.example:5000/acme/mesh", "http://127.0.0.1:5000": "127.0.0.1:5000",
		"http://registry.example": "", "https://u:p@registry.example": "", "registry.example": "", "https://": "", "ftp://x": "", "https://x/Acme": "", "https://x/a?b": "", "https://x/a/../b": "",
	} {
		c, err := New(Config{URL: address})
		switch {
		case want == "" && fault.KindOf(err) != fault.Invalid:
			t.Errorf("%s: %v", address, err)
		case want != "" && (err != nil || c.Name() != want):
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestALoginIsOneLine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "login")
	for text, good := range map[string]bool{"u:s": true, "u:s:t\n": true, "u:s\r\n": true, "u": false, ":s": false, "u:": false, "u:s\nv:t\n": false, "": false, "u:\x00": false} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := New(Config{URL: "https://x", Login: file})
		if (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := New(Config{URL: "https://x", Login: file + "-none"}); err == nil {
		t.Error("a file that is not there is a login")
	}
}

// Neither a read that is sent elsewhere nor the bytes of an upload take the login along.
func TestTheLoginGoesToTheRegistryAlone(t *testing.T) {
	t.Parallel()
	var seen []string
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.Header.Get("Authorization"))
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusCreated)
		}
	}))
	defer store.Close()
	sees := 0
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		sees++
		w.Header().Set("Location", strings.Replace(store.URL, "127.0.0.1", "localhost", 1)+"/bytes?sig=1")
		w.WriteHeader(map[string]int{http.MethodGet: http.StatusTemporaryRedirect, http.MethodPost: http.StatusAccepted}[r.Method])
	}))
	defer registry.Close()
	file := filepath.Join(t.TempDir(), "login")
	if err := os.WriteFile(file, []byte("u:s"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{URL: registry.URL, Login: file})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	thing := Thing{"a/b", Blobs, document.Sum([]byte("x"))}
	resp, err := c.Read(t.Context(), thing, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := c.PushBlob(t.Context(), thing, 1, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"GET ", "PUT "}; sees != 2 || strings.Join(seen, ";") != strings.Join(want, ";") {
		t.Errorf("the registry was asked %d times with the login, and the store saw %q", sees, seen)
	}
}

// FuzzIndex: what comes out of a list can be listed, and what others have put into it
// stays as it is.
func FuzzIndex(f *testing.F) {
	seeds := []string{
		`{"schemaVersion":2,"mediaType":"` + oci.MediaReferrers + `","manifests":[{"mediaType":"a/b","digest":"` + string(document.Sum(nil)) + `","size":3,"artifactType":"x","data":"e30="}]}`,
		`{"manifests":[{"digest":"sha256:x"}, 7, null]}`, `{"schemaVersion":1}`, `{"mediaType":"text/html"}`, `<html>`, `{"manifests":null,"annotations":{"a":"b"}}`,
	}
	if len(seeds) != 6 {
		f.Fatal("a seed is missing")
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		i, all, err := parseIndex(text)
		if err != nil {
			return
		}
		if len(all) > len(i.Manifests) {
			t.Errorf("%d of %d", len(all), len(i.Manifests))
		}
		for _, r := range all {
			if !r.Digest.Valid() || r.Size < 0 || r.MediaType == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}

// FuzzNextPage: a page that is named stood in the header.
func FuzzNextPage(f *testing.F) {
	seeds := []string{`</v2/a/referrers/x?n=2>; rel="next"`, `<https://x/y>;rel="next"`, `<>; rel="next"`, `</a>; rel="last"`, ``, `</a`}
	if len(seeds) != 6 {
		f.Fatal("a seed is missing")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	if at, ok := nextPage(seeds[0]); !ok || at != "/v2/a/referrers/x?n=2" {
		f.Errorf("%q %t", at, ok)
	}
	for _, s := range seeds[2:] {
		if at, ok := nextPage(s); ok {
			f.Errorf("%q leads to %q", s, at)
		}
	}
	f.Fuzz(func(t *testing.T, link string) {
		if at, ok := nextPage(link); ok && (at == "" || !strings.Contains(link, at)) {
			t.Errorf("%q leads to %q", link, at)
		}
	})
}

// FuzzLogin: a login that is taken can be sent.
func FuzzLogin(f *testing.F) {
	seeds := []string{"u:s\n", "u:s:t", "u", "u:\n", "a\nb:c", ""}
	if len(seeds) != 6 {
		f.Fatal("a seed is missing")
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		user, secret, err := parseLogin("file", text)
		if err == nil && (user == "" || secret == "" || strings.ContainsAny(user+string(secret), "\r\n\x00") || strings.Contains(user, ":")) {
			t.Errorf("%q", text)
		}
		if err != nil && len(text) > 3 && strings.Contains(err.Error(), string(text)) && !strings.Contains(`"file" is no login: want one line, USER:SECRET`, string(text)) {
			t.Errorf("it shows the secret: %v", err)
		}
	})
}
