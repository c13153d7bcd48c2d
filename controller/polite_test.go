package controller

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/internal/git"
)

// A forge that wants to be left alone is not asked again, whatever looks are
// wanted; what it said is a state of the one module that asked, and nothing is
// changed of any other.
func TestAForgeThatWantsToBeLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.repo("site", "first")
	r.repo("board", "first")
	var broken atomic.Bool
	var asked atomic.Int64
	proxy := httptest.NewServer(reverse(r.url, &broken, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "300")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	}))
	defer proxy.Close()
	for _, name := range []string{"site", "board"} {
		r.add(name, api.ModuleAddIn{Repository: proxy.URL + "/" + name + "/.git"})
		r.step(name)
	}
	broken.Store(true)
	r.step("site")
	first := r.source("site")
	if first.State != "unreachable" {
		t.Fatalf("%+v", first)
	}
	for range 5 {
		for _, name := range []string{"site", "board"} {
			if after := r.step(name); after < 4*time.Minute {
				t.Errorf("%s is looked at again after %s", name, after)
			}
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	if s := r.source("site"); s.State != "unreachable" || !s.Since.Equal(first.Since) || s.Why != first.Why {
		t.Errorf("%+v, first %+v", s, first)
	}
	if s := r.source("board"); s.State != "read" {
		t.Errorf("%+v", s)
	}
	host := strings.TrimPrefix(proxy.URL, "http://")
	for _, name := range []string{"site", "board"} {
		s := r.source(name)
		if !strings.HasPrefix(notices(s), "forge "+host+" asks to be left alone until 20") || len(s.Notices) != 1 || s.Notices[0].Since.IsZero() {
			t.Errorf("%s: %+v", name, s.Notices)
		}
	}
	r.add("elsewhere", api.ModuleAddIn{Repository: r.address("site")})
	if s := r.source("elsewhere"); notices(s) != "" {
		t.Errorf("a module of another forge: %+v", s.Notices)
	}
}

// busyForge is one that has no room for questions about what came before.
type busyForge struct {
	Forge
	after time.Duration
}

func (f *busyForge) Descends(ctx context.Context, p git.Place, to, from string) (git.Descent, error) {
	if f.after > 0 {
		return "", git.Later{After: f.after}
	}
	return f.Forge.Descends(ctx, p, to, from)
}

// What came before a commit is asked when the forge has room for it: the look is
// none the worse, and comes again then.
func TestWhatCameBeforeWaitsItsTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := &busyForge{Forge: r.forge, after: 3 * time.Second}
	r.forge = f
	r.restart()
	r.repo("site", "first")
	r.add("site", api.ModuleAddIn{Repository: r.address("site")})
	r.step("site")
	r.git("site", "checkout", "-q", "--orphan", "other")
	second := r.repo("site", "second")
	r.git("site", "branch", "-q", "-M", "other", "main")
	if after := r.step("site"); after != f.after {
		t.Errorf("it comes again after %s", after)
	}
	if s := r.source("site"); s.State != "read" || s.Commit != second || notices(s) != "" {
		t.Errorf("%+v", s)
	}
	f.after = 0
	if after := r.step("site"); after != 0 {
		t.Errorf("it comes again after %s", after)
	}
	if s := r.source("site"); len(s.Notices) != 1 {
		t.Errorf("%+v", s.Notices)
	}
}
