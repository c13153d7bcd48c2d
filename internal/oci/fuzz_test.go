package oci

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"noxmesh/document"
	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
)

// FuzzDecodeManifest: what is taken is an image manifest and nothing else.
func FuzzDecodeManifest(f *testing.F) {
	whole, _, err := Manifest{Config: Descriptor{MediaType: MediaBuilt, Digest: document.Sum(nil), Size: 2}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	documenttest.Fuzz(f, documenttest.Codec[Manifest]{
		Decode: DecodeManifest,
		Encode: func(m Manifest) ([]byte, error) { b, _, err := m.Encode(); return b, err },
	}, 3, whole, []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`),
		bytes.Replace(whole, []byte(`"layers":[]`), []byte(`"layers":[],"manifests":[]`), 1))
}

// FuzzAnswers gives any answer to every question that a registry is asked: what
// comes out is what was asked for, or an error that can be shown.
func FuzzAnswers(f *testing.F) {
	content := []byte("the bytes of a blob")
	f.Add(200, "application/octet-stream", "", content, 0)
	f.Add(206, "", "bytes 0-18/19", content, 0)
	f.Add(206, "", "bytes 4-8/19", content[4:9], 4)
	f.Add(206, "", "bytes 99-3/1", content, 4)
	f.Add(206, "", "bytes -", []byte{}, 4)
	f.Add(206, "", "bytes 9223372036854775808-", content, 4)
	f.Add(200, MediaManifest, "", []byte(`{"schemaVersion":2}`), 0)
	f.Add(404, "application/json", "", []byte(`{"errors":[{"code":"BLOB_UNKNOWN","message":"\u001b[2J"}]}`), 0)
	f.Add(500, "text/html", "", []byte("<html>\x1b[31m\xff</html>"), 0)
	f.Add(416, "", "bytes */19", []byte{}, 18)
	f.Fuzz(func(t *testing.T, status int, kind, place string, body []byte, off int) {
		off = ((off % len(content)) + len(content)) % len(content)
		header := http.Header{"Content-Type": {kind}, "Content-Range": {place}}
		c := &Client{
			cfg: Config{Patience: time.Second}, base: &url.URL{Scheme: "https", Host: "registry.example"},
			http: &http.Client{Transport: answering{status, header, body}},
		}
		ctx := t.Context()
		defer documenttest.Bounded(t, len(body))()
		blob := Blob{"m/site", document.Sum(content), int64(len(content))}
		if got, err := c.PullBytes(ctx, blob); err != nil {
			shown(t, err)
		} else if !bytes.Equal(got, content) {
			t.Errorf("other bytes: %q", got)
		}
		if m, err := c.PullManifest(ctx, "m/site", document.Sum(body)); err != nil {
			shown(t, err)
		} else if m.MediaType != MediaManifest {
			t.Errorf("a manifest of type %q", m.MediaType)
		}
		most := int64(len(content) - off)
		if got, err := readRange(ctx, c, blob, int64(off), most); err != nil {
			shown(t, err)
		} else if int64(len(got)) != most {
			t.Errorf("asked for %d bytes, got %d", most, len(got))
		}
		if _, err := c.HasBlob(ctx, "m/site", document.Sum(content), int64(len(content))); err != nil {
			shown(t, err)
		}
	})
}

func readRange(ctx context.Context, c *Client, b Blob, off, n int64) ([]byte, error) {
	r, err := c.ReadRange(ctx, b, off, n)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(r)
	if e := r.Close(); err == nil {
		err = e
	}
	return got, err
}

func shown(t *testing.T, err error) {
	t.Helper()
	documenttest.Plain(t, err)
	if kind := fault.KindOf(err); kind == fault.Unknown || kind == fault.Broken {
		t.Errorf("kind %s: %v", kind, err)
	}
}

// answering is a registry that always says the same.
type answering struct {
	status int
	header http.Header
	body   []byte
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.NopCloser(bytes.NewReader(a.body))
	if r.Method == http.MethodHead {
		body = http.NoBody
	}
	return &http.Response{
		StatusCode: a.status, Status: strconv.Itoa(a.status), Header: a.header.Clone(), Request: r, ContentLength: int64(len(a.body)), Body: body,
	}, nil
}

// FuzzChallenge: a realm that comes out stood in the header.
func FuzzChallenge(f *testing.F) {
	seeds := []string{
		`Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/golang:pull"`,
		`bearer realm=https://a.example/x , service = "a\"b"`, `Basic realm="x"`, `Bearer`, `Bearer realm="`, `Bearer realm="",x`,
	}
	if len(seeds) != 6 {
		f.Fatal("a seed is missing")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		defer documenttest.Bounded(t, len(header))()
		if c, ok := ParseChallenge(header); ok && (c.Realm == "" || len(c.Realm) > len(header)) {
			t.Errorf("%q sends to %q", header, c.Realm)
		}
	})
}

// FuzzToken: a token that comes out can stand in a header, and is used for a while.
func FuzzToken(f *testing.F) {
	seeds := []string{`{"token":"a","expires_in":300}`, `{"access_token":"b"}`, `{"token":"a\nb"}`, `{"token":"a","expires_in":-5}`, `{"token":7}`, ``}
	if len(seeds) != 6 {
		f.Fatal("a seed is missing")
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		defer documenttest.Bounded(t, len(body))()
		text, good := ParseToken(body)
		if text != "" && (good <= 0 || strings.ContainsAny(text, " \r\n\x00")) {
			t.Errorf("%q for %s", text, good)
		}
	})
}

func TestAChallengeIsRead(t *testing.T) {
	t.Parallel()
	c, ok := ParseChallenge(`Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="x"`)
	if !ok || c != (Challenge{"https://auth.docker.io/token", "registry.docker.io", "x"}) {
		t.Errorf("%+v", c)
	}
	if _, ok := ParseChallenge(`Basic realm="x"`); ok {
		t.Error("Basic is no token")
	}
}
