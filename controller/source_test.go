package controller

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"noxmesh/api"
)

// away is one way in which a source can be in a bad state.
type away struct {
	name  string
	in    api.ModuleAddIn // the default branch of the rig's repository where it is empty
	cause func(*rig)
	state string
	why   []string
	mend  func(*rig) // nil: it was mended by hand before, as nothing can be here
}

// module is a commit of the repository with this in module.json's place.
func moduleIs(text string) func(*rig) {
	return func(r *rig) { r.commit("site", map[string]string{"module.json": text, "other": "x"}) }
}

// entry puts an object of any mode in module.json's place.
func entry(mode, kind, id string) func(*rig) {
	return func(r *rig) {
		path := filepath.Join(r.root, "entry")
		r.must(os.WriteFile(path, []byte(mode+" "+kind+" "+id+"\tmodule.json\n"), 0o600))
		tree := r.git("site", "-c", "alias.mk=!git mktree --missing < "+path, "mk")
		r.git("site", "update-ref", "refs/heads/main", r.git("site", "commit-tree", "-p", "HEAD", "-m", "odd", tree))
	}
}

func back(r *rig) { r.git("site", "update-ref", "refs/heads/main", "kept") }

func rename(from, to string) func(*rig) {
	return func(r *rig) { r.must(os.Rename(filepath.Join(r.root, from), filepath.Join(r.root, to))) }
}

func awayCases() []away {
	big := `{"module": "site", "summary": "` + strings.Repeat("x", 10<<20) + `"}`
	return []away{
		{name: "the repository is gone", cause: rename("site", "gone"), mend: rename("gone", "site"), state: "no such repository", why: []string{"there is no such repository"}},
		{
			name: "its folder is gone", in: api.ModuleAddIn{Repository: "file://ROOT/site"}, cause: rename("site", "gone"), mend: rename("gone", "site"),
			state: "no such repository", why: []string{"there is no such repository"},
		},
		{
			name: "it is emptied", cause: func(r *rig) { rename("site", "full")(r); r.git("site", "init", "-q", "-b", "main") }, mend: func(r *rig) { r.must(os.RemoveAll(filepath.Join(r.root, "site"))); rename("full", "site")(r) },
			state: "the repository is empty", why: []string{"no commit"},
		},
		{
			name: "its branch is deleted", in: api.ModuleAddIn{Ref: "refs/heads/main"},
			cause: func(r *rig) { r.git("site", "branch", "other"); r.git("site", "update-ref", "-d", "refs/heads/main") }, mend: func(r *rig) { r.git("site", "update-ref", "refs/heads/main", "other") },
			state: "no such branch or tag", why: []string{`"refs/heads/main"`},
		},
		{
			name: "its default branch names none", cause: func(r *rig) { r.git("site", "symbolic-ref", "HEAD", "refs/heads/none") }, mend: func(r *rig) { r.git("site", "symbolic-ref", "HEAD", "refs/heads/main") },
			state: "no such branch or tag", why: []string{"no default branch"},
		},
		{
			name: "its tag is deleted", in: api.ModuleAddIn{Ref: "refs/tags/kept"}, cause: func(r *rig) { r.git("site", "tag", "away", "kept"); r.git("site", "tag", "-d", "kept") },
			mend: func(r *rig) { r.git("site", "tag", "kept", "away") }, state: "no such branch or tag", why: []string{`"refs/tags/kept"`},
		},
		{name: "no manifest", cause: func(r *rig) { r.commit("site", map[string]string{"other": "x"}) }, mend: back, state: "no module.json", why: []string{`"module.json"`, "there is no such file"}},
		{
			name: "no folder", in: api.ModuleAddIn{Repository: "/many", Folder: "services/site"},
			cause: func(r *rig) { r.commit("many", map[string]string{"other": "x"}) }, mend: func(r *rig) { r.git("many", "reset", "-q", "--hard", "HEAD~1") },
			state: "no such folder", why: []string{`folder "services/site"`},
		},
		{
			name: "the folder is a file", in: api.ModuleAddIn{Repository: "/many", Folder: "services/site"},
			cause: func(r *rig) { r.commit("many", map[string]string{"services/site": "x"}) }, mend: func(r *rig) { r.git("many", "reset", "-q", "--hard", "HEAD~1") },
			state: "no such folder", why: []string{`folder "services/site"`},
		},
		{
			name: "the manifest is a link", cause: func(r *rig) {
				r.must(os.Remove(filepath.Join(r.root, "site", "module.json")))
				r.must(os.Symlink("/etc/passwd", filepath.Join(r.root, "site", "module.json")))
				r.git("site", "commit", "-qam", "link")
			}, mend: back, state: "module.json is not a regular file", why: []string{"is a link"},
		},
		{name: "the manifest is a folder", cause: func(r *rig) { r.commit("site", map[string]string{"module.json/x": "{}"}) }, mend: back, state: "module.json is not a regular file", why: []string{"is a folder"}},
		{name: "the manifest is a submodule", cause: entry("160000", "commit", strings.Repeat("1", 40)), mend: back, state: "module.json is not a regular file", why: []string{"is a submodule"}},
		{
			name: "the manifest is with LFS", cause: moduleIs("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"), mend: back,
			state: "module.json is refused", why: []string{"Git LFS", "commit the file itself"},
		},
		{name: "the manifest is 10 MB of JSON", cause: moduleIs(big), mend: back, state: "module.json is refused", why: []string{"too big", fmt.Sprint(len(big)), "at most 1048576"}},
		{name: "the manifest is cut off", cause: moduleIs(`{"module": "site",`), mend: back, state: "module.json is refused", why: []string{"module.json:1:19"}},
		{name: "the manifest is empty", cause: moduleIs(""), mend: back, state: "module.json is refused", why: []string{"module.json:1:1"}},
		{name: "the manifest has an unknown key", cause: moduleIs("{\n \"module\": \"site\",\n \"requirs\": []\n}"), mend: back, state: "module.json is refused", why: []string{"module.json:3:2", "requires"}},
		{name: "the manifest is another module's", cause: moduleIs(`{"module": "board"}`), mend: back, state: "module.json names another module", why: []string{`"board"`}},
		{
			name: "an object of it is missing", cause: func(r *rig) {
				r.commit("site", map[string]string{"module.json": moduleJSON("site", "lost")})
				id := r.git("site", "rev-parse", "HEAD:module.json")
				r.must(os.Remove(filepath.Join(r.root, "site", ".git", "objects", id[:2], id[2:])))
			}, mend: back, state: "the repository is refused", why: []string{"possible repository corruption"},
		},
	}
}

// Each state has its name, since when, over repeats and over another process,
// takes nothing away, and is over by itself.
func TestEverySourceState(t *testing.T) {
	t.Parallel()
	for _, c := range awayCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.repo("site", "first")
			r.git("site", "tag", "kept")
			r.commit("many", map[string]string{"services/site/module.json": moduleJSON("site", "first")})
			in := c.in
			switch in.Repository {
			case "":
				in.Repository = r.address("site")
			case "/many":
				in.Repository = r.address("many")
			}
			in.Repository = strings.ReplaceAll(in.Repository, "ROOT", r.root)
			r.add("site", in)
			r.step("site")
			r.node()
			r.assign("site")
			r.declared("site")
			planned, before := r.planned(), r.source("site")
			if before.State != "read" || !strings.Contains(planned, "/opt/site") {
				t.Fatalf("%+v\n%s", before, planned)
			}
			c.cause(r)
			r.staysAway(c, before.Commit, planned)
			c.mend(r)
			r.step("site")
			if s := r.source("site"); s.State != "read" || s.Why != "" || s.Commit != before.Commit || len(s.Notices) > 0 {
				t.Errorf("mended: %+v", s)
			}
			if got := r.planned(); got != planned {
				t.Errorf("mended, the plan is %s", got)
			}
		})
	}
}

func (r *rig) staysAway(c away, commit, planned string) {
	r.t.Helper()
	r.step("site")
	first := r.source("site")
	for i := range 3 {
		s := r.source("site")
		if s.State != c.state || s.Since.IsZero() || !s.Since.Equal(first.Since) || s.Commit != commit {
			r.t.Errorf("look %d: %+v, first %+v", i, s, first)
		}
		for _, w := range c.why {
			if !strings.Contains(s.Why, w) {
				r.t.Errorf("look %d: why is %q, want %q", i, s.Why, w)
			}
		}
		if len(s.Why) > 1000 {
			r.t.Errorf("why is %d bytes", len(s.Why))
		}
		if got := r.planned(); got != planned {
			r.t.Errorf("look %d: the plan is %s, and was %s", i, got, planned)
		}
		if i == 1 {
			r.restart()
		}
		r.step("site")
	}
}

// A forge can fail to be one in many ways. None is ever an empty repository, or
// none; each is over when the forge is back.
func TestEveryWayAForgeFails(t *testing.T) {
	t.Parallel()
	page := func(code int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}
	refs := "application/x-git-upload-pack-advertisement"
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		state  string
		why    string
	}{
		{"404", page(404, "no"), "no such repository", "there is no such repository"},
		{"410", page(410, "no"), "no such repository", "there is no such repository"},
		{"401", page(401, "who"), "access denied", ""},
		{"403", page(403, "no"), "access denied", "403"},
		{"500", page(500, "oops"), "unreachable", "500"},
		{"503 that says not found", page(503, "repository not found"), "unreachable", "503"},
		{"429", page(429, "slow down"), "unreachable", "429"},
		{"a page", page(200, "<html>welcome, no modules</html>"), "unreachable", ""},
		{"nothing", page(200, ""), "unreachable", ""},
		{"moved", func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "/elsewhere", http.StatusMovedPermanently)
		}, "unreachable", "301"},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", refs)
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
		}, "unreachable", ""},
		{"refs without end", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", refs)
			fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
			line := strings.Repeat("a1", 20) + " refs/heads/"
			line = fmt.Sprintf("%04x%s", 4+len(line)+len("1000000\n"), line)
			var some []byte
			for i := range int64(1 << 20) {
				some = append(strconv.AppendInt(append(some, line...), 1_000_000+i, 10), '\n')
				if len(some) > 64<<10 {
					if _, err := w.Write(some); err != nil {
						return
					}
					some = some[:0]
				}
			}
		}, "unreachable", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.repo("site", "first")
			var broken atomic.Bool
			proxy := httptest.NewServer(reverse(r.url, &broken, c.answer))
			defer proxy.Close()
			r.add("site", api.ModuleAddIn{Repository: proxy.URL + "/site/.git"})
			r.step("site")
			before := r.source("site")
			if before.State != "read" {
				t.Fatalf("%+v", before)
			}
			broken.Store(true)
			r.staysAway(away{state: c.state, why: []string{c.why}}, before.Commit, r.planned())
			broken.Store(false)
			r.step("site")
			if s := r.source("site"); s.State != "read" || s.Why != "" || s.Commit != before.Commit {
				t.Errorf("mended: %+v", s)
			}
		})
	}
}

// A host that is not there, in each way in which it can be so.
func TestHostsThatAreNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.must(err)
	refuses := l.Addr().String()
	r.must(l.Close())
	for name, c := range map[string]struct{ repository, why string }{
		"resolves": {"https://no-such-host.invalid/o/r.git", "esolve host"}, "refuses": {"http://" + refuses + "/o/r.git", "onnect"},
	} {
		r.add(name, api.ModuleAddIn{Repository: c.repository})
		for range 2 {
			r.step(name)
			if s := r.source(name); s.State != "unreachable" || !strings.Contains(s.Why, c.why) || s.Since.IsZero() || s.Commit != "" {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}
