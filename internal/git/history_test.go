package git

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/manners"
)

func TestDescends(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		for _, filter := range []string{"true", "false"} {
			t.Run("filter "+filter, func(t *testing.T) {
				t.Parallel()
				f := newForge(t)
				r := f.repo("site", map[string]string{"a": "1"})
				r.git("config", "uploadpack.allowFilter", filter)
				g := newGit(t, nil)
				first := r.git("rev-parse", "HEAD")
				second := r.commit("second", map[string]string{"a": "2"})
				r.git("branch", "old")
				third := r.commit("third", map[string]string{"a": "3"})
				r.git("reset", "-q", "--hard", first)
				other := r.commit("other", map[string]string{"a": "4"})
				r.git("checkout", "-q", "--orphan", "anew")
				anew := r.commit("anew", map[string]string{"a": "5"})
				r.git("branch", "-f", "main", anew)
				r.git("branch", "forced", other)
				r.git("branch", "third", third)
				for _, c := range []struct {
					ref, commit, from string
					want              Descent
				}{
					{"refs/heads/old", second, first, Forward},
					{"refs/heads/third", third, first, Forward},
					{"refs/heads/third", third, third, Forward},
					{"refs/heads/forced", other, second, Rewritten},
					{"refs/heads/old", first, second, Rewritten}, // back to where it was
					{"refs/heads/main", anew, third, Unrelated},
					{"refs/heads/forced", other, strings.Repeat("a", 40), Rewritten}, // the forge has it no more
				} {
					got, err := g.Descends(t.Context(), Place{URL: r.url, Ref: c.ref}, c.commit, c.from)
					if err != nil || got != c.want {
						t.Errorf("%s from %s: %q, %v, want %q", c.commit[:7], c.from[:7], got, err, c.want)
					}
				}
				if _, err := g.Descends(t.Context(), Place{URL: r.url}, strings.Repeat("b", 40), first); !errors.Is(err, NoCommit) {
					t.Errorf("a commit that is gone: %v", err)
				}
				if left, _ := os.ReadDir(g.tmp); len(left) != 0 {
					t.Errorf("%v is left", left)
				}
			})
		}
	})
}

func TestDescendsLooksOnlySoFar(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f := newForge(t)
		r := f.repo("long", map[string]string{"a": "1"})
		first := r.git("rev-parse", "HEAD")
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, "commit refs/heads/main\ncommitter a <a@example.org> %d +0000\ndata 1\nx\n", 1_800_000_000+i)
			if i == 0 {
				b.WriteString("from refs/heads/main^0\n")
			}
		}
		r.gitIn(b.String(), "fast-import", "--quiet")
		tip := r.git("rev-parse", "refs/heads/main")
		g := newGit(t, nil)
		for from, want := range map[string]Descent{first: FarApart, r.git("rev-parse", "main~150"): Forward} {
			if got, err := g.Descends(t.Context(), Place{URL: r.url}, tip, from); err != nil || got != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
	})
}

// TestDescendsWaitsItsTurn: it is a question like any other.
func TestDescendsWaitsItsTurn(t *testing.T) {
	t.Parallel()
	f, g := newForge(t), newGit(t, nil)
	r := f.repo("site", map[string]string{"a": "1"})
	commit, host := r.git("rev-parse", "HEAD"), hostOf(r.url)
	g.manners = manners.New(1)
	now := time.Now()
	if err := g.manners.Enter(host, "another", now); err != nil {
		t.Fatal(err)
	}
	_, err := g.Descends(t.Context(), Place{URL: r.url}, commit, commit)
	if later, is := errors.AsType[Later](err); !is || later.After <= 0 {
		t.Fatalf("its forge has enough to do: %v", err)
	}
	g.manners.Leave(host, now, now)
	for range 2 {
		if got, err := g.Descends(t.Context(), Place{URL: r.url}, commit, commit); err != nil || got != Forward {
			t.Fatalf("%q, %v", got, err)
		}
	}
}
