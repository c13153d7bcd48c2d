package controller

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/api"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/git"
	"noxmesh/link"
	"noxmesh/status"
	troublestore "noxmesh/trouble/store"
)

// slowForge is a forge that a test holds: what it gives, how long it takes, and
// when each look began.
type slowForge struct {
	mu     sync.Mutex // guards what follows
	commit string
	takes  time.Duration
	begun  time.Time
	looks  []string
}

func (f *slowForge) Look(_ context.Context, p git.Place, known git.Known) (git.Found, error) {
	f.mu.Lock()
	commit := f.commit
	f.looks = append(f.looks, fmt.Sprintf("%s at %s", p.Folder, time.Since(f.begun).Round(time.Millisecond)))
	f.mu.Unlock()
	time.Sleep(f.takes)
	manifest := []byte(moduleJSON(p.Folder, "x"))
	return git.Found{Ref: "refs/heads/main", Commit: commit, Tree: commit, Manifest: manifest, Unchanged: commit == known.Commit}, nil
}

func (f *slowForge) Descends(context.Context, git.Place, string, string) (git.Descent, error) {
	return git.Forward, nil
}

func (f *slowForge) Held(string, time.Time) (git.Held, bool) { return git.Held{}, false }

func (f *slowForge) Whole(context.Context, string, string) (string, error) { return f.commit, nil }

func (f *slowForge) gives(commit string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commit = commit
}

// seen is the looks since the last call.
func (f *slowForge) seen() []string {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	looks := f.looks
	f.looks, f.begun = nil, time.Now()
	return looks
}

var commits = struct{ a, b, c string }{strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)}

// hooked is a rig with a slow forge in a bubble of time, its source loop
// running, and two modules of one repository and one of another.
func hooked(t *testing.T) (*rig, *slowForge) {
	f := &slowForge{commit: commits.a, begun: time.Now()}
	r := &rig{t: t, root: t.TempDir(), stores: quiet{}, forge: f, record: dbtest.Open(t, dbtest.SQLite(t), dbtest.Holder)}
	key, err := link.NewKey()
	r.must(err)
	r.key = key
	r.restart()
	for name, repository := range map[string]string{
		"site": "https://git.example.org:3000/web/all.git", "board": "ssh://git@Git.example.org:3000/web/all/", "other": "https://git.example.org/web/all",
	} {
		r.add(name, api.ModuleAddIn{Repository: repository, Folder: name})
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.sources.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	if first := f.seen(); len(first) < 3 {
		t.Fatalf("at first: %v", first)
	}
	time.Sleep(5 * time.Second)
	f.seen()
	return r, f
}

func (r *rig) hook(in api.HookIn) {
	r.t.Helper()
	_, err := r.answerHook(r.t.Context(), api.Who{}, in)
	r.must(err)
}

func (r *rig) pushed(before, after string) api.HookIn {
	in := api.HookIn{Module: "site"}
	in.Body = fmt.Appendf(nil, `{"ref":"refs/heads/main","before":%q,"after":%q,"commits":[]}`, before, after)
	mac := hmac.New(sha256.New, []byte(r.hookSecret("site")))
	mac.Write(in.Body)
	in.Signature = hex.EncodeToString(mac.Sum(nil))
	return in
}

func notices(s status.Source) string {
	var out []string
	for _, n := range s.Notices {
		out = append(out, n.Says)
	}
	return strings.Join(out, "; ")
}

// However many hooks come, each repository is looked at once in two seconds at
// most: each module of it, whatever its address looks like, and no other.
func TestHooksAreOneLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := hooked(t)
		for range 1000 {
			r.hook(api.HookIn{Module: "site"})
		}
		if got := f.seen(); len(got) != 2 || strings.Contains(fmt.Sprint(got), "other") {
			t.Errorf("at once: %v", got)
		}
		for range 40 { // ten seconds of them
			for range 25 {
				r.hook(api.HookIn{Module: "board", Body: []byte("x"), Signature: "wrong"})
				r.hook(api.HookIn{Module: "nobody"})
			}
			time.Sleep(250 * time.Millisecond)
		}
		if got := f.seen(); len(got) < 8 || len(got) > 12 {
			t.Errorf("in ten seconds: %v", got)
		}
		time.Sleep(3 * time.Second)
		f.seen()
		time.Sleep(10 * time.Second)
		if got := f.seen(); len(got) != 0 {
			t.Errorf("afterwards: %v", got)
		}
	})
}

// X2: pushes while a look is running lead to exactly one more.
func TestHooksDuringALookAreOneMore(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{100 * time.Millisecond, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r, f := hooked(t)
			f.takes = takes
			r.hook(api.HookIn{Module: "other"})
			time.Sleep(takes / 2)
			for range 50 {
				r.hook(api.HookIn{Module: "other"})
			}
			f.gives(commits.b) // the look that runs has asked already
			time.Sleep(25 * time.Second)
			if got := f.seen(); len(got) != 2 {
				t.Errorf("a look takes %s: %v", takes, got)
			}
			if s := r.source("other"); s.Commit != commits.b {
				t.Errorf("a look takes %s: %+v", takes, s)
			}
		})
	}
}

// A forge that gives the old commit after its own webhook is shown, since when,
// looked at again soon and for a while, and all of it is over with the commit.
func TestAForgeBehindItsWebhook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := hooked(t)
		began := time.Now()
		r.hook(r.pushed(commits.a, commits.b))
		time.Sleep(hookGap)
		f.seen()
		first := r.source("site")
		if want := "the forge is behind its webhook: that says bbbbbbb, the forge says aaaaaaa"; notices(first) != want || first.State != "read" {
			t.Fatalf("%+v, want %q", first, want)
		}
		if b := r.source("board"); notices(b) != notices(first) || notices(r.source("other")) != "" {
			t.Errorf("board: %+v", b)
		}
		time.Sleep(3 * time.Minute)
		looks := strings.Join(f.seen(), ", ")
		if n := strings.Count(looks, "site"); n < mostPatience-2 || n > mostPatience+5 { // its polls are among them, and beside them
			t.Errorf("within three minutes: %s", looks)
		}
		r.hook(r.pushed(commits.b, commits.c)) // one more push, and the forge has none of it
		time.Sleep(hookGap)
		f.seen()
		if s := r.source("site"); !strings.Contains(notices(s), "that says ccccccc") || !s.Notices[0].Since.Equal(first.Notices[0].Since) || s.Notices[0].Since.Sub(began) > hookGap {
			t.Errorf("%+v, and first %+v", s, first)
		}
		f.gives(commits.c)
		time.Sleep(2 * time.Minute)
		if s := r.source("site"); notices(s) != "" || s.Commit != commits.c {
			t.Errorf("over: %+v", s)
		}
	})
}

// What is not signed right, or says nothing that fits, is only a hook.
func TestHooksThatSayNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := hooked(t)
		good := r.pushed(commits.a, commits.b)
		for name, in := range map[string]api.HookIn{
			"nobody signed":       {Body: good.Body},
			"a wrong signature":   {Body: good.Body, Signature: strings.Repeat("0", 64)},
			"a short signature":   {Body: good.Body, Signature: good.Signature[:10]},
			"no signature at all": {Body: good.Body, Signature: "sha256=" + good.Signature},
			"another body":        {Body: r.pushed(commits.a, commits.c).Body, Signature: good.Signature},
			"a wrong token":       {Body: good.Body, Token: "guess"},
			"another's token":     {Body: good.Body, Token: r.hookSecret("other")},
			"an old push":         r.pushed(commits.c, commits.b),
			"the same again":      r.pushed(commits.c, commits.a),
			"no JSON":             {Body: []byte("payload=x"), Token: r.hookSecret("site")},
			"a ping":              {Body: []byte(`{"zen":"x","hook_id":1}`), Token: r.hookSecret("site")},
		} {
			in.Module = "site"
			r.hook(in)
			time.Sleep(5 * time.Second)
			if got := f.seen(); len(got) < 2 {
				t.Errorf("%s: %v", name, got)
			}
			if s := r.source("site"); strings.Contains(notices(s), "the forge is behind") || s.Commit != commits.a {
				t.Errorf("%s: %+v", name, s)
			}
		}
		r.hook(api.HookIn{Module: "site", Body: good.Body, Token: r.hookSecret("site")})
		time.Sleep(hookGap)
		f.seen()
		if s := r.source("site"); !strings.Contains(notices(s), "the forge is behind") {
			t.Errorf("a right token: %+v", s)
		}
	})
}

// A hook whose signature is wrong still means "look now", and is said of the
// module that it names: from where, when, how many; until one is signed right.
func TestHooksThatAreSignedWrongAreSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := hooked(t)
		good := r.pushed(commits.a, commits.b)
		began := time.Now()
		for n := range 1000 {
			for _, module := range []string{"site", "nobody"} {
				r.hook(api.HookIn{Module: module, Body: good.Body, Signature: "00", From: fmt.Sprintf("10.0.0.%d", n%256)})
			}
			r.hook(api.HookIn{Module: "board", From: "10.0.0.1"}) // nobody signed it
			time.Sleep(time.Second)
		}
		last := began.Add(999 * time.Second).UTC().Format(time.RFC3339)
		want := "a webhook with a wrong signature came 1000 times, the last at " + last + " from 10.0.0.231; if that is its forge, give it the secret that mesh module hook site shows"
		if s := r.source("site"); notices(s) != want || !s.Notices[0].Since.Equal(began) || s.State != "read" {
			t.Errorf("%+v, want %q since %s", s.Notices, want, began)
		}
		if s := r.source("board"); notices(s) != "" {
			t.Errorf("one that nobody signed: %+v", s.Notices)
		}
		if len(r.hooks.wrong) != 1 {
			t.Errorf("%d modules are kept", len(r.hooks.wrong))
		}
		f.seen() // the look that they have brought about is over
		time.Sleep(hookGap)
		f.seen()
		recorded := func() (count int64) {
			r.must(r.record.Read(t.Context(), func(tx *db.Tx) error {
				is, _, err := troublestore.One(tx, forgedKey("site"))
				count = is.Count
				return err
			}))
			return count
		}
		if n := recorded(); n != 1000 {
			t.Errorf("%d are in the record", n)
		}
		// Another process says it before it has looked, and goes on counting afterwards.
		running := r.Controller
		r.restart()
		if s := r.source("site"); notices(s) != want || !s.Notices[0].Since.Equal(began) {
			t.Errorf("after a restart: %+v", s.Notices)
		}
		r.step("site")
		r.hook(api.HookIn{Module: "site", Body: good.Body, Signature: "00", From: "10.0.0.9"})
		if s := r.source("site"); !strings.Contains(notices(s), "came 1001 times, the last at ") || !s.Notices[0].Since.Equal(began) {
			t.Errorf("one more after a restart: %+v", s.Notices)
		}
		r.Controller = running
		r.hook(api.HookIn{Module: "site", Body: []byte("x"), Token: r.hookSecret("site"), From: "10.0.0.1"})
		if s := r.source("site"); notices(s) != "" {
			t.Errorf("after one that was signed right: %+v", s.Notices)
		}
		time.Sleep(hookGap)
		f.seen()
		if n := recorded(); n != 0 {
			t.Errorf("%d are in the record after one that was signed right", n)
		}
		r.hook(api.HookIn{Module: "site", Body: good.Body, Token: "guess", From: "10.0.0.1"})
		if s := r.source("site"); !strings.Contains(notices(s), "came once at ") {
			t.Errorf("%+v", s.Notices)
		}
		r.hooks.forget("site")
		if len(r.hooks.wrong) != 0 {
			t.Error("a module that is gone is kept")
		}
	})
}

// The secret is the mesh's and the module's own, and the same after a restart.
func TestHookSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.repo("site", "x")
	r.add("site", api.ModuleAddIn{Repository: r.address("site")})
	out, err := r.answerModuleHook(t.Context(), api.Who{}, api.ModuleIn{Module: "site"})
	r.must(err)
	if out.URL != "https://mesh.example.org:7443/hooks/site" || len(out.Secret) != 64 || out.Secret == r.hookSecret("other") {
		t.Errorf("%+v", out)
	}
	r.restart()
	if r.hookSecret("site") != out.Secret {
		t.Error("another secret after a restart")
	}
	if _, err := r.answerModuleHook(t.Context(), api.Who{}, api.ModuleIn{Module: "nobody"}); err == nil {
		t.Error("a module that is not there has a hook")
	}
}
