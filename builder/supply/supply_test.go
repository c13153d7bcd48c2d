package supply_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"noxmesh/builder/depot"
	"noxmesh/builder/gateway"
	"noxmesh/builder/lock"
	"noxmesh/builder/supply"
	"noxmesh/builder/supply/supplytest"
	"noxmesh/internal/fault"
)

// bench is a supply with its depot, from one registry.
type bench struct {
	t        *testing.T
	dir      string
	supply   *supply.Supply
	registry *supplytest.Registry
	at       string // how its sessions are reached

	mu    sync.Mutex // guards notes
	notes []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, at: "http://127.0.0.1:3128", dir: filepath.Join(t.TempDir(), "depot"), registry: supplytest.Serve(t)}
	d, err := depot.Open(depot.Config{Dir: b.dir, Most: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if b.supply, err = supply.New(d, upstreams(b.registry)); err != nil {
		t.Fatal(err)
	}
	return b
}

// upstreams is a registry for all ecosystems.
func upstreams(r *supplytest.Registry) supply.Upstreams {
	return supply.Upstreams{Go: r.URL + "/go", Npm: r.URL + "/npm", Python: r.URL + "/simple", Cargo: r.URL + "/crates"}
}

// session is one build of a tree with these lock files. Other hosts than the
// operator's are as this test says: public.example is the registry, too.
func (b *bench) session(files map[string]string, fresh bool) *supply.Session {
	b.t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	locks, err := lock.Read(tree)
	if err != nil {
		b.t.Fatal(err)
	}
	x := b.supply.Open(supply.Order{
		Locks: locks, At: b.at, Fresh: fresh, Outside: gateway.Config{
			Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
				if host == "inside.example" {
					return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
				}
				return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
			},
			Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
				d := net.Dialer{}
				return d.DialContext(ctx, "tcp", strings.TrimPrefix(b.registry.URL, "http://"))
			},
		},
		Note: func(line string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.notes = append(b.notes, line)
		},
	})
	supply.Hurry(x)
	b.t.Cleanup(x.Close)
	return x
}

// ask is the status and the body that a tool gets.
func ask(t *testing.T, x *supply.Session, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:3128"+path, nil))
	return w.Code, w.Body.String()
}

// tidy is a tree with the go.sum of one module.
func (b *bench) tidy() map[string]string {
	b.t.Helper()
	b.registry.Go(b.t, "example.com/words", "v1.0.0", map[string]string{"go.mod": "module example.com/words\n", "words.go": "package words\n"})
	files := map[string]string{"go.mod": "module example.com/site\n\ngo 1.23\n\nrequire example.com/words v1.0.0\n", "main.go": "package main\n\nimport _ \"example.com/words\"\n"}
	files["go.mod"], files["go.sum"] = b.registry.Tidy(b.t, files)
	b.registry.Asked()
	return files
}

const (
	wordsMod = "/go/example.com/words/@v/v1.0.0.mod"
	wordsZip = "/go/example.com/words/@v/v1.0.0.zip"
)

// What is named is fetched once, whoever asks for it and however many at a time,
// and is there for the next build; one that is to be fresh fetches it anew, once.
func TestWhatIsNamedIsFetchedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	files := b.tidy()
	x := b.session(files, false)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if code, body := ask(t, x, wordsMod); code != http.StatusOK || body != "module example.com/words\n" {
				t.Errorf("%d: %q", code, body)
			}
		})
	}
	all.Wait()
	if code, _ := ask(t, b.session(files, false), wordsMod); code != http.StatusOK {
		t.Errorf("%d", code)
	}
	if asked := b.registry.Asked(); len(asked) != 1 {
		t.Errorf("asked for %v", asked)
	}
	if says := x.Says(); says != "dependencies: fetched 1, 0 KiB; from here 7" || x.Says() != "" {
		t.Errorf("%q", says)
	}
	x = b.session(files, true)
	for range 2 {
		if code, _ := ask(t, x, wordsMod); code != http.StatusOK {
			t.Errorf("%d", code)
		}
	}
	if asked := b.registry.Asked(); len(asked) != 1 {
		t.Errorf("a fresh one asked for %v", asked)
	}
	if x.Wrong() != nil || x.Lacking() != "" {
		t.Errorf("%v, %q", x.Wrong(), x.Lacking())
	}
}

// A module proxy says of what it has: this version, and these.
func TestWhatAModuleProxySays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.session(b.tidy(), false)
	for path, want := range map[string]string{"/go/example.com/words/@v/list": "v1.0.0\n", "/go/example.com/words/@v/v1.0.0.info": `{"Version":"v1.0.0"}`} {
		if code, body := ask(t, x, path); code != http.StatusOK || body != want {
			t.Errorf("%s: %d: %q", path, code, body)
		}
	}
	upper := b.session(map[string]string{"go.sum": "example.com/Words v1.0.0-RC1/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"}, false)
	if code, _ := ask(t, upper, "/go/example.com/!words/@v/v1.0.0-!r!c1.mod"); code != http.StatusForbidden {
		t.Errorf("%d", code)
	}
	if asked := b.registry.Asked(); len(asked) != 1 || asked[0] != "/go/example.com/!words/@v/v1.0.0-!r!c1.mod" {
		t.Errorf("asked for %v", asked)
	}
	if len(b.registry.Asked()) > 0 {
		t.Error("somebody was asked for it")
	}
}

// What no lock file names leaves nothing: nobody is asked, and what to do is said.
func TestWhatIsNotNamedIsAskedOfNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.session(b.tidy(), false)
	for path, says := range map[string]string{
		"/go/example.com/other/@v/v1.0.0.zip":                  "the Go module example.com/other v1.0.0 is in no go.sum of the tree",
		"/go/example.com/words/@v/v1.0.1.mod":                  "example.com/words v1.0.1",
		"/go/example.com/words/@latest":                        "example.com/words latest",
		"/go/example.com/words/@v/v1.0.0.mod?secret=x":         "example.com/words",
		"/go/../simple/x":                                      "no go.sum",
		"/go/sumdb/sum.golang.org/supported":                   "sumdb",
		"/":                                                    "named by no lock file",
		"/etc/passwd":                                          "named by no lock file",
		"/npm/" + strings.Repeat("a", 3000):                    "…",
		"/go/example.com/words/@v/../../../../secret":          "no go.sum",
		"/go/example.com%2fwords%2f@v%2fv1.0.0.zip/x%1b%5b2Jx": "no go.sum",
	} {
		code, body := ask(t, x, path)
		if code != http.StatusNotFound || !strings.Contains(body, says) || len(body) > 500 || strings.ContainsRune(body, 0x1b) {
			t.Errorf("%s: %d: %q", path, code, body)
		}
	}
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:3128"+wordsMod, strings.NewReader("secret")))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("something can be sent: %d", w.Code)
	}
	if asked := b.registry.Asked(); len(asked) > 0 {
		t.Errorf("asked for %v", asked)
	}
	if x.Wrong() != nil || !strings.Contains(x.Lacking(), "example.com/other v1.0.0 is in no go.sum of the tree (go mod tidy, and commit") {
		t.Errorf("%v, %q", x.Wrong(), x.Lacking())
	}
}

// answers has the registry answer like this.
func answers(code int, body string) func(w http.ResponseWriter, _ *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// What goes wrong with what is named ends the build: as the module's failure
// where its lock file is not true, and never where somebody's server is away.
func TestWhatGoesWrongEndsTheBuild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrong func(w http.ResponseWriter, r *http.Request) bool
		kind  fault.Kind
		says  string
		asks  int
	}{
		"another content": {answers(200, "module evil\n"), fault.Invalid, "it has the hash h1mod-", 1},
		"half of it":      {answers(200, "module example.com/wo"), fault.Invalid, "it has the hash h1mod-", 1},
		"endless": {func(w http.ResponseWriter, _ *http.Request) bool {
			for part := make([]byte, 1<<20); ; {
				if _, err := w.Write(part); err != nil {
					return true
				}
			}
		}, fault.Invalid, "it has more than 16 MiB", 1},
		"not there": {answers(404, "who?\x1b[2J"), fault.NotFound, "it is not there: 404: who? [2J", 1},
		"gone":      {answers(410, ""), fault.NotFound, "it is not there: 410", 1},
		"down":      {answers(500, "oh"), fault.Unavailable, "it answered 500: oh", 3},
		"busy":      {answers(429, ""), fault.Unavailable, "it answered 429", 3},
		"forbidden": {answers(403, ""), fault.Unavailable, "it answered 403", 3},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "module")
			return true
		}, fault.Unavailable, "unexpected EOF", 3},
		"sent on to a private address": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://inside.example/x", http.StatusFound)
			return true
		}, fault.Unavailable, `"inside.example:80" is refused: it is 10.0.0.7`, 3},
		"sent on to the metadata": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
			return true
		}, fault.Unavailable, "is refused: it is 169.254.169.254", 3},
		"sent on to a file": {func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
			return true
		}, fault.Unavailable, "without TLS", 3},
		"sent on for ever": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/go/x", http.StatusFound)
			return true
		}, fault.Unavailable, "redirects again and again", 18},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			x := b.session(b.tidy(), false)
			b.registry.Wrong(c.wrong)
			code, body := ask(t, x, wordsMod)
			err := x.Wrong()
			if code != http.StatusForbidden || err == nil {
				t.Fatalf("%d: %q, %v", code, body, err)
			}
			for _, said := range []string{body, err.Error(), strings.Join(b.notes, "\n")} {
				if !strings.Contains(said, c.says) || !strings.Contains(said, `example.com/words v1.0.0, which "go.sum" names`) {
					t.Errorf("%q does not say %q", said, c.says)
				}
			}
			if fault.KindOf(err) != c.kind || strings.ContainsRune(body, 0x1b) {
				t.Errorf("%s: %v", fault.KindOf(err), err)
			}
			if asked := b.registry.Asked(); len(asked) != c.asks {
				t.Errorf("asked %d times", len(asked))
			}
			b.registry.Wrong(nil)
			if code, _ := ask(t, x, wordsZip); code != http.StatusForbidden || len(b.registry.Asked()) > 0 {
				t.Errorf("the build goes on: %d", code)
			}
			left, err := os.ReadDir(filepath.Join(b.dir, "whole"))
			if err != nil || len(left) > 0 {
				t.Errorf("it is kept: %v, %v", left, err)
			}
			if code, _ := ask(t, b.session(b.tidy(), false), wordsMod); code != http.StatusOK {
				t.Errorf("the next build cannot be made: %d", code)
			}
		})
	}
}

// An upstream that redirects to a public address is followed there.
func TestAnUpstreamMaySendOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.session(b.tidy(), false)
	b.registry.Wrong(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Host == "public.example" {
			return false
		}
		http.Redirect(w, r, "http://public.example"+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	})
	if code, body := ask(t, x, wordsMod); code != http.StatusOK {
		t.Errorf("%d: %s", code, body)
	}
}

// What was spoilt on the disk is fetched again, and said.
func TestWhatIsSpoiltIsFetchedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.session(b.tidy(), false)
	ask(t, x, wordsZip)
	kept, err := filepath.Glob(filepath.Join(b.dir, "whole", "h1-*"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	if err := os.WriteFile(kept[0], []byte("PK evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.registry.Asked()
	if code, body := ask(t, x, wordsZip); code != http.StatusOK || !strings.HasPrefix(body, "PK\x03\x04") || len(b.registry.Asked()) != 1 {
		t.Errorf("%d: %q", code, body)
	}
	if !strings.Contains(strings.Join(b.notes, "\n"), "it is fetched again") {
		t.Errorf("nobody says so: %v", b.notes)
	}
}

// An upstream is an address, without a password that a log would show.
func TestAnUpstreamIsAnAddress(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"x", "file:///srv/go", "https://", "https://me:secret@go.example", "https://go.example?x=y", "https://go.example,direct\x00"} {
		if _, err := supply.New(nil, supply.Upstreams{Go: at}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", at, err)
		}
	}
	if _, err := supply.New(nil, supply.Public()); err != nil {
		t.Error(err)
	}
	s, err := supply.New(nil, supply.Upstreams{})
	if err != nil {
		t.Fatal(err)
	}
	x := s.Open(supply.Order{Locks: lock.Locks{Go: []lock.Go{{Module: "example.com/words", Version: "v1.0.0"}}}})
	if code, body := ask(t, x, wordsMod); code != http.StatusNotFound || !strings.Contains(body, "--go-proxy") {
		t.Errorf("%d: %s", code, body)
	}
	var none *supply.Session
	none.Close()
	if none.Says() != "" || none.Lacking() != "" || none.Ended() != nil || none.Env() != nil {
		t.Error("nothing says something")
	}
}
