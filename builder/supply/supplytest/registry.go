package supplytest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Registry is a server that has, below a folder each, what the ecosystems' own
// have: /go, /npm, /simple and /crates.
type Registry struct {
	URL    string
	server *httptest.Server

	mu    sync.Mutex // guards what follows
	files map[string][]byte
	asked []string
	wrong func(w http.ResponseWriter, r *http.Request) bool
}

// Serve is an empty one.
func Serve(t *testing.T) *Registry {
	t.Helper()
	r := &Registry{files: map[string][]byte{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	r.URL = r.server.URL
	return r
}

func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, q.URL.Path)
	wrong, body := r.wrong, r.files[q.URL.Path]
	r.mu.Unlock()
	switch {
	case wrong != nil && wrong(w, q):
	case body == nil:
		http.Error(w, "no such thing here", http.StatusNotFound)
	default:
		if strings.HasPrefix(q.URL.Path, "/simple/") {
			w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		}
		_, _ = w.Write(body)
	}
}

// Put has something be at a path.
func (r *Registry) Put(path string, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[path] = body
}

// Wrong has the registry do something else where this reports so.
func (r *Registry) Wrong(instead func(w http.ResponseWriter, r *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = instead
}

// Asked is what it was asked for since it was last said, in order of names.
func (r *Registry) Asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.asked
	r.asked = nil
	slices.Sort(all)
	return all
}

// Go has a version of a Go module, whose path has no capital letters.
func (r *Registry) Go(t *testing.T, module, version string, files map[string]string) {
	t.Helper()
	below := map[string]string{}
	for name, text := range files {
		below[module+"@"+version+"/"+name] = text
	}
	at := "/go/" + module + "/@v/" + version
	r.Put(at+".zip", zipped(t, below))
	r.Put(at+".mod", []byte(files["go.mod"]))
	r.Put(at+".info", fmt.Appendf(nil, `{"Version":%q,"Time":"2020-01-01T00:00:00Z"}`, version))
	r.Put("/go/"+module+"/@v/list", []byte(version+"\n"))
}

// Npm has a version of an npm package, and gives its integrity.
func (r *Registry) Npm(t *testing.T, name, version string, files map[string]string) string {
	t.Helper()
	body := Tarball(t, "package/", files)
	r.Put("/npm/"+name+"/-/"+path.Base(name)+"-"+version+".tgz", body)
	sum := sha512.Sum512(body)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Crate has a version of a crate, and gives its checksum.
func (r *Registry) Crate(t *testing.T, name, version string, files map[string]string) string {
	t.Helper()
	body := Tarball(t, name+"-"+version+"/", files)
	r.Put("/crates/"+name+"/"+version+"/download", body)
	return fmt.Sprintf("%x", sha256.Sum256(body))
}

// Python has a wheel of a project with one file, which says something, and gives
// its hash.
func (r *Registry) Python(t *testing.T, project, version, says string) string {
	t.Helper()
	about := project + "-" + version + ".dist-info/"
	name := project + "-" + version + "-py3-none-any.whl"
	body := zipped(t, map[string]string{
		project + ".py":    "SAYS = '" + says + "'\n",
		about + "METADATA": "Metadata-Version: 2.1\nName: " + project + "\nVersion: " + version + "\n",
		about + "WHEEL":    "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		about + "RECORD":   project + ".py,,\n" + about + "METADATA,,\n" + about + "WHEEL,,\n" + about + "RECORD,,\n",
	})
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	r.Put("/files/"+name, body)
	r.Put("/simple/"+project+"/", fmt.Appendf(nil, `{"meta": {"api-version": "1.0"}, "name": %q, "files": [
		{"filename": "%[1]s-0.1-py3-none-any.whl", "url": "../../files/none", "hashes": {"sha256": "00"}, "requires-python": null},
		{"filename": %[2]q, "url": "../../files/%[2]s", "hashes": {"sha256": %[3]q}, "requires-python": ">=3.6", "yanked": false}]}`, project, name, sum))
	return "sha256:" + sum
}

// zipped is files in a zip.
func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	names := []string{}
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Tarball is files in a .tar.gz, each below a folder.
func Tarball(t *testing.T, below string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	w := tar.NewWriter(packed)
	names := []string{}
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		err := w.WriteHeader(&tar.Header{Name: below + name, Mode: 0o644, Size: int64(len(files[name]))})
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Tidy is the go.sum that the go command writes for these files, and its go.mod.
func (r *Registry) Tidy(t *testing.T, files map[string]string) (mod, sum string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "tidy")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY="+r.URL+"/go", "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+t.TempDir(), "GOTOOLCHAIN=local", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}
	var texts [2]string
	for i, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	return texts[0], texts[1]
}
