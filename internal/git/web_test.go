package git

import (
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/git/gitserve"
)

// noGit is a Git whose git does nothing but fail: what it finds it has asked itself.
func noGit(t *testing.T, change func(*Config)) *Git {
	t.Helper()
	return newGit(t, func(c *Config) {
		if c.Binary = "/bin/false"; change != nil {
			change(c)
		}
	})
}

// counted counts what a forge is asked.
type counted struct {
	gets, posts, conns atomic.Int64
	url                string
	between            func(http.ResponseWriter, *http.Request) bool // answers in its place
	seen               func(*http.Request)
}

func count(t *testing.T, f *forge) *counted {
	t.Helper()
	c := &counted{}
	h := gitserve.Handler(f.root)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost {
			c.posts.Add(1)
		} else {
			c.gets.Add(1)
		}
		if c.seen != nil {
			c.seen(q)
		}
		if c.between == nil || !c.between(w, q) {
			h.ServeHTTP(w, q)
		}
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.conns.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c.url = srv.URL
	return c
}

// TestAnUnchangedLookIsOneRequest, over one connection, without git, and with
// nothing in it that anybody else should see.
func TestAnUnchangedLookIsOneRequest(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	r := f.repo("site", map[string]string{"module.json": "{}"})
	head := r.git("rev-parse", "HEAD")
	c := count(t, f)
	c.seen = func(q *http.Request) {
		for _, name := range []string{"Authorization", "Cookie", "Referer", "Idempotency-Key"} {
			if q.Header.Get(name) != "" {
				t.Errorf("%s: %q", name, q.Header.Get(name))
			}
		}
	}
	g := noGit(t, nil)
	const looks = 20
	for range looks {
		found, err := g.Look(t.Context(), Place{URL: c.url + "/site/.git"}, Known{Commit: head})
		if err != nil || !found.Unchanged || found.Ref != "refs/heads/main" {
			t.Fatalf("%+v %v", found, err)
		}
	}
	if c.gets.Load() != 1 || c.posts.Load() != looks || c.conns.Load() != 1 {
		t.Fatalf("%d looks were %d and %d requests over %d connections", looks, c.gets.Load(), c.posts.Load(), c.conns.Load())
	}
}

// TestEveryStateIsToldWithoutGit has the same answers as TestLsRemoteNamesEveryState.
func TestEveryStateIsToldWithoutGit(t *testing.T) {
	t.Parallel()
	f, g := newForge(t), noGit(t, nil)
	r := f.repo("site", map[string]string{"module.json": "{}"})
	head := r.git("rev-parse", "HEAD")
	r.git("tag", "-a", "v1", "-m", "v1")
	r.git("tag", "-a", "twice", "-m", "a tag of a tag", "v1")
	r.git("branch", "main2")
	r.git("branch", "zażółć")
	empty := f.repo("empty", nil)
	unborn := f.repo("unborn", map[string]string{"a": "a"})
	unborn.git("symbolic-ref", "HEAD", "refs/heads/nothing")
	detached := f.repo("detached", map[string]string{"a": "a"})
	detached.git("checkout", "-q", "--detach")
	wide := f.repo("wide", nil)
	wide.git("init", "-q", "--object-format=sha256", "-b", "trunk", "inner")
	wide.dir += "/inner"
	wide.commit("first", map[string]string{"a": "a"})
	for name, c := range map[string]struct {
		url, ref string
		want     Head
		cause    error
	}{
		"default":        {url: r.url, want: Head{"refs/heads/main", head}},
		"branch":         {url: r.url, ref: "refs/heads/main", want: Head{"refs/heads/main", head}},
		"not ASCII":      {url: r.url, ref: "refs/heads/zażółć", want: Head{"refs/heads/zażółć", head}},
		"annotated tag":  {url: r.url, ref: "refs/tags/v1", want: Head{"refs/tags/v1", head}},
		"tag of a tag":   {url: r.url, ref: "refs/tags/twice", want: Head{"refs/tags/twice", head}},
		"sha256":         {url: f.url + "/wide/inner/.git", want: Head{"refs/heads/trunk", wide.git("rev-parse", "HEAD")}},
		"detached":       {url: detached.url, want: Head{"HEAD", detached.git("rev-parse", "HEAD")}},
		"only a prefix":  {url: r.url, ref: "refs/heads/mai", cause: NoRef},
		"empty":          {url: empty.url, cause: Empty},
		"empty, branch":  {url: empty.url, ref: "refs/heads/main", cause: Empty},
		"names nothing":  {url: unborn.url, cause: NoRef},
		"no repository":  {url: f.url + "/none.git", cause: NoRepository},
		"slash at end":   {url: r.url + "/", want: Head{"refs/heads/main", head}},
		"without a .git": {url: strings.TrimSuffix(r.url, "/.git"), cause: NoRepository},
	} {
		for range 2 { // with and without what is remembered
			got, err := g.LsRemote(t.Context(), c.url, c.ref)
			other, otherErr := newOther(t).LsRemote(t.Context(), c.url, c.ref)
			if got != other || fault.KindOf(err) != fault.KindOf(otherErr) {
				t.Errorf("%s: %+v %v, and git says %+v %v", name, got, err, other, otherErr)
			}
			if c.cause == nil && (err != nil || got != c.want) {
				t.Errorf("%s: %+v %v", name, got, err)
			}
			if c.cause != nil && name != "without a .git" && !errors.Is(err, c.cause) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func newOther(t *testing.T) *Git { t.Helper(); return onlyGit(t, nil) }

// TestWhatIsRememberedIsForgotten: a server that is another one now, and a
// repository that is, are seen at the next look.
func TestWhatIsRememberedIsForgotten(t *testing.T) {
	t.Parallel()
	f, g := newForge(t), noGit(t, nil)
	r := f.repo("site", map[string]string{"a": "a"})
	if _, err := g.LsRemote(t.Context(), r.url, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.dir, r.dir+"-away"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.LsRemote(t.Context(), r.url, ""); !errors.Is(err, NoRepository) {
		t.Fatalf("gone: %v", err)
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main", "--object-format=sha256")
	commit := r.commit("first", map[string]string{"a": "b"})
	if got, err := g.LsRemote(t.Context(), r.url, ""); err != nil || got.Commit != commit || len(commit) != 64 {
		t.Fatalf("another in its place: %+v %v", got, err)
	}
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.dir+"-away", r.dir); err != nil {
		t.Fatal(err)
	}
	if got, err := g.LsRemote(t.Context(), r.url, ""); err != nil || got.Commit != r.git("rev-parse", "HEAD") || len(got.Commit) != 40 {
		t.Fatalf("the first again: %+v %v", got, err)
	}
}

// TestAnOddForgeIsGits: whatever is not exactly in the protocol is thrown away,
// and git's answer counts; this client then stays away for a while.
func TestAnOddForgeIsGits(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"the old protocol": func(_ http.ResponseWriter, q *http.Request) bool { q.Header.Del("Git-Protocol"); return false },
		"a page instead of refs": func(w http.ResponseWriter, q *http.Request) bool {
			if q.Method == http.MethodPost && strings.Contains(q.UserAgent(), "mesh") {
				status(200, "<html>")(w, q)
				return true
			}
			return false
		},
		"refs that are none": func(w http.ResponseWriter, q *http.Request) bool {
			if q.Method == http.MethodPost && strings.Contains(q.UserAgent(), "mesh") {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				status(200, "0032"+strings.Repeat("z", 40)+" HEAD\n0000")(w, q)
				return true
			}
			return false
		},
		"refs that are cut off": func(w http.ResponseWriter, q *http.Request) bool {
			if q.Method == http.MethodPost && strings.Contains(q.UserAgent(), "mesh") {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				status(200, "0032"+strings.Repeat("1", 40)+" HEAD\n")(w, q)
				return true
			}
			return false
		},
		"another kind of answer": func(w http.ResponseWriter, q *http.Request) bool {
			if strings.Contains(q.UserAgent(), "mesh") {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
				status(200, "000eversion 2\n0000")(w, q)
				return true
			}
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, g := newForge(t), newGit(t, nil)
			r := f.repo("site", map[string]string{"a": "a"})
			want := Head{"refs/heads/main", r.git("rev-parse", "HEAD")}
			c := count(t, f)
			c.between = between
			var ours atomic.Int64
			c.seen = func(q *http.Request) {
				if strings.Contains(q.UserAgent(), "mesh") {
					ours.Add(1)
				}
			}
			for range 2 {
				if got, err := g.LsRemote(t.Context(), c.url+"/site/.git", ""); err != nil || got != want {
					t.Fatalf("%+v %v", got, err)
				}
			}
			if n := ours.Load(); n < 1 || n > 2 {
				t.Errorf("it was asked %d times beside git", n)
			}
		})
	}
}

// TestARedirectLeadsOnlyWhereARepositoryMayBe: never away from https, never to
// another question, and without anything that was not meant for that host.
func TestARedirectLeadsOnlyWhereARepositoryMayBe(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	r := f.repo("site", map[string]string{"a": "a"})
	var to atomic.Value
	h := gitserve.Handler(f.root)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/old/") {
			http.Redirect(w, q, to.Load().(string), http.StatusFound) //nolint:forcetypeassert // the test stores nothing else
			return
		}
		if q.Header.Get("Referer") != "" {
			t.Errorf("it tells where it comes from: %q", q.Header.Get("Referer"))
		}
		h.ServeHTTP(w, q)
	}))
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		to    string
		taken bool
	}{
		{"/site/.git/info/refs?service=git-upload-pack", true},
		{srv.URL + "/site/.git/info/refs?service=git-upload-pack", true},
		{r.url + "/info/refs?service=git-upload-pack", false}, // http
		{"/site/.git/info/refs", false},
		{"/site/.git/info/refs?service=git-receive-pack", false},
		{"https://user:secret@" + strings.TrimPrefix(srv.URL, "https://") + "/site/.git/info/refs?service=git-upload-pack", false},
		{"/login", false},
		{"/old/.git/info/refs?service=git-upload-pack", false}, // for ever
		{"file:///etc/info/refs?service=git-upload-pack", false},
	} {
		to.Store(c.to)
		got, err := noGit(t, func(cfg *Config) { cfg.CAFile = ca }).LsRemote(t.Context(), srv.URL+"/old/.git", "")
		if c.taken != (err == nil) {
			t.Errorf("%s: %+v %v", c.to, got, err)
		}
	}
}

// TestAForgeThatWantsToBeLeftAloneIs, whichever of its repositories said so, and
// no other is.
func TestAForgeThatWantsToBeLeftAloneIs(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.repo("site", map[string]string{"a": "a"})
	other := f.repo("other", map[string]string{"module.json": "{}"})
	for _, code := range []int{403, 429, 503} {
		c := count(t, f)
		c.between = func(w http.ResponseWriter, q *http.Request) bool {
			w.Header().Set("Retry-After", "120")
			status(code, "slow down")(w, q)
			return true
		}
		g := newGit(t, nil)
		_, err := g.Look(t.Context(), Place{URL: c.url + "/site/.git"}, Known{})
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.HintOf(err), "2m0s") {
			t.Fatalf("%d: %v", code, err)
		}
		for range 10 {
			_, err = g.Look(t.Context(), Place{URL: c.url + "/other/.git"}, Known{})
			later, is := errors.AsType[Later](err)
			if !is || later.After < 119*time.Second || later.After > 2*time.Minute+10*time.Second {
				t.Fatalf("%d: %v", code, err)
			}
		}
		if n := c.gets.Load() + c.posts.Load(); n != 1 {
			t.Errorf("%d: it was asked %d times", code, n)
		}
		if _, err := g.Look(t.Context(), Place{URL: other.url}, Known{}); err != nil {
			t.Errorf("%d: another forge: %v", code, err)
		}
	}
}
