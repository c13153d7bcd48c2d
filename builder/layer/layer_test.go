package layer_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/builder/layer"
	"noxmesh/document"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		if to, is := strings.CutPrefix(text, "-> "); is {
			must(t, os.Symlink(to, file))
			continue
		}
		must(t, os.WriteFile(file, []byte(text), 0o640))
		if strings.HasPrefix(text, "#!") {
			must(t, os.Chmod(file, 0o4711))
		}
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

func contents() map[string]string {
	return map[string]string{"bin/serve": "#!/bin/sh\n", "pages/index.html": "hello", "pages/home": "-> index.html"}
}

// list is what a layer holds, and the digest of its tar.
func list(t *testing.T, text []byte) (all []string, plain document.Digest) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(text))
	must(t, err)
	whole, err := io.ReadAll(z)
	must(t, err)
	r := tar.NewReader(bytes.NewReader(whole))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, document.Sum(whole)
		}
		must(t, err)
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 315532800 {
			t.Errorf("%+v", h)
		}
		all = append(all, h.FileInfo().Mode().String()+" "+h.Name+" "+h.Linkname)
	}
}

// The same content is the same layer; its digest is pinned.
func TestOneContentIsOneLayer(t *testing.T) {
	t.Parallel()
	var first, second bytes.Buffer
	is, err := layer.Write(t.Context(), folder(t, contents()), "/srv/www", true, &first)
	must(t, err)
	again, err := layer.Write(t.Context(), folder(t, contents()), "/srv/www", true, &second)
	must(t, err)
	all, plain := list(t, first.Bytes())
	if is != again || is.Plain != plain || is.Digest != document.Sum(first.Bytes()) || is.Size != int64(first.Len()) {
		t.Errorf("%+v, %+v, %s", is, again, plain)
	}
	const pinned = "sha256:8d32adf2009ad8bd7592bf2260bfa11a5d30dbe572d518834a2a2946571b98de"
	if is.Digest != pinned {
		t.Errorf("the digest is %s, it was %s", is.Digest, pinned)
	}
	want := []string{
		"drwxr-xr-x srv/ ", "drwxr-xr-x srv/www/ ", "drwxr-xr-x srv/www/bin/ ", "-rwxr-xr-x srv/www/bin/serve ", "drwxr-xr-x srv/www/pages/ ",
		"Lrwxrwxrwx srv/www/pages/home index.html", "-rw-r--r-- srv/www/pages/index.html ",
	}
	if d := cmp.Diff(want, all); d != "" {
		t.Error(d)
	}
	for at, first := range map[string]string{"": "drwxr-xr-x bin/ ", "/": "drwxr-xr-x bin/ ", "/srv": "drwxr-xr-x srv/bin/ "} {
		var b bytes.Buffer
		_, err := layer.Write(t.Context(), folder(t, contents()), at, false, &b)
		must(t, err)
		if all, _ := list(t, b.Bytes()); all[0] != first {
			t.Errorf("at %q it begins with %q", at, all[0])
		}
	}
	if _, err := layer.Write(t.Context(), folder(t, map[string]string{"a/.wh.b": "x"}), "/", false, io.Discard); err == nil || !strings.Contains(err.Error(), "begins with .wh.") {
		t.Errorf("%v", err)
	}
}

// An image takes over what its base says of itself, but for what it says anew.
func TestAnImageStandsOnAnother(t *testing.T) {
	t.Parallel()
	base := []byte(`{"created": "2026-01-01T00:00:00Z", "history": [{}], "os": "linux", "architecture": "amd64", "rootfs": {"type": "layers", "diff_ids": ["x"]},
		"config": {"User": "www", "Env": ["PATH=/bin", "A=1"], "Entrypoint": ["/start"], "Cmd": ["x"], "Labels": {"b": "c"}}}`)
	one, two := document.Sum([]byte("1")), document.Sum([]byte("2"))
	layers := []layer.Layer{{Plain: one}, {Plain: two}}
	for name, c := range map[string]struct {
		says layer.Says
		want string
	}{
		"with all": {
			layer.Says{Platform: "linux/amd64", Base: base, Command: []string{"/serve", "a b"}, Env: map[string]string{"Z": "9", "A": "2"}},
			`{"Entrypoint":["/serve","a b"],"Env":["PATH=/bin","A=2","Z=9"],"Labels":{"b":"c"},"User":"www"}`,
		},
		"with nothing": {layer.Says{Platform: "linux/amd64", Base: base}, `{"Cmd":["x"],"Entrypoint":["/start"],"Env":["PATH=/bin","A=1"],"Labels":{"b":"c"},"User":"www"}`},
		"on nothing":   {layer.Says{Platform: "linux/amd64"}, `{}`},
	} {
		got, err := layer.Config(c.says, layers)
		must(t, err)
		want := `{"architecture":"amd64","config":` + c.want + `,"created":"1980-01-01T00:00:00Z","os":"linux","rootfs":{"diff_ids":["` + string(one) + `","` + string(two) + `"],"type":"layers"}}`
		if string(got) != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	if _, err := layer.Config(layer.Says{Base: []byte("{")}, nil); err == nil {
		t.Error("a base that is none is taken")
	}
}
