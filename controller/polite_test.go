package controller

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"noxmesh/api"
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
