package git

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/manners"
)

// twins is two commits of this tree whose ids begin with the same seven digits.
func (r *repo) twins(tree string) (a, b string) {
	r.t.Helper()
	seen := map[string]string{}
	for i := range 1 << 20 {
		text := fmt.Sprintf("tree %s\nauthor a <a@example.org> %d +0000\ncommitter a <a@example.org> 1 +0000\n\ntwin\n", tree, i+1)
		sum := sha1.Sum([]byte(fmt.Sprintf("commit %d\x00%s", len(text), text)))
		short := hex.EncodeToString(sum[:])[:ShortLimit]
		if other, there := seen[short]; there {
			return r.object("commit", other), r.object("commit", text)
		}
		seen[short] = text
	}
	r.t.Fatal("no two commits begin alike")
	return "", ""
}

func TestACommitIsKnownByItsFirstDigits(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		for _, filter := range []string{"true", "false"} {
			f, g := newForge(t), newGit(t, nil)
			r := f.repo("site", map[string]string{"a": "1"})
			r.git("config", "uploadpack.allowFilter", filter)
			first := r.git("rev-parse", "HEAD")
			second := r.commit("second", map[string]string{"a": "2"})
			r.git("checkout", "-q", "--orphan", "other")
			third := r.commit("third", map[string]string{"a": "3"})
			r.git("tag", "-a", "v3", "-m", "v3")
			r.git("checkout", "-q", "main")
			r.git("branch", "-D", "other")
			r.git("branch", first[:ShortLimit], third) // a branch with a name like that is none of the id's
			for what, c := range map[string]struct{ short, want string }{
				"the tip":            {second[:7], second},
				"of its history":     {first[:8], first},
				"all but one digit":  {first[:39], first},
				"through a tag only": {third[:10], third},
				"a tag's own id":     {r.git("rev-parse", "v3")[:12], third},
			} {
				if got, err := g.Whole(t.Context(), r.url, c.short); err != nil || got != c.want {
					t.Errorf("filter %s: %s: %q, %v, want %q", filter, what, got, err, c.want)
				}
			}
			for what, short := range map[string]string{"of a tree": r.git("rev-parse", "HEAD^{tree}")[:10], "of nothing": strings.Repeat("0", 9)} {
				if got, err := g.Whole(t.Context(), r.url, short); !errors.Is(err, NoCommit) || fault.KindOf(err) != fault.NotFound {
					t.Errorf("filter %s: %s: %q, %v", filter, what, got, err)
				}
			}
			a, b := r.twins(r.git("rev-parse", "HEAD^{tree}"))
			r.git("update-ref", "refs/heads/a", a)
			r.git("update-ref", "refs/heads/b", b)
			_, err := g.Whole(t.Context(), r.url, a[:ShortLimit])
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.HintOf(err), a) || !strings.Contains(fault.HintOf(err), b) {
				t.Errorf("filter %s: two begin so: %v (%s)", filter, err, fault.HintOf(err))
			}
			if got, err := g.Whole(t.Context(), r.url, b[:20]); err != nil || got != b {
				t.Errorf("filter %s: more of it: %q, %v", filter, got, err)
			}
			for _, bad := range []string{"", first[:6], "main", first[:7] + "~1", "--all000"} {
				if _, err := g.Whole(t.Context(), r.url, bad); fault.KindOf(err) != fault.Invalid {
					t.Errorf("%q: %v", bad, err)
				}
			}
			if left, _ := os.ReadDir(g.tmp); len(left) != 0 {
				t.Errorf("%v is left", left)
			}
		}
	})
}

func TestACommitOfASHA256Repository(t *testing.T) {
	t.Parallel()
	f, g := newForge(t), newGit(t, nil)
	r := f.repo("wide", nil)
	if err := os.RemoveAll(r.dir + "/.git"); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "--object-format=sha256", "-b", "main")
	commit := r.commit("first", map[string]string{"a": "1"})
	if got, err := g.Whole(t.Context(), r.url, commit[:9]); err != nil || got != commit {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := g.Whole(t.Context(), f.repo("empty", nil).url, commit[:9]); !errors.Is(err, Empty) {
		t.Fatal(err)
	}
}

// TestWholeWaitsItsTurn: it is a look like any other.
func TestWholeWaitsItsTurn(t *testing.T) {
	t.Parallel()
	f, g := newForge(t), newGit(t, nil)
	r := f.repo("site", map[string]string{"a": "1"})
	commit, host := r.git("rev-parse", "HEAD"), hostOf(r.url)
	g.manners = manners.New(1)
	now := time.Now()
	if err := g.manners.Enter(host, "another", now); err != nil {
		t.Fatal(err)
	}
	_, err := g.Whole(t.Context(), r.url, commit[:8])
	if later, is := errors.AsType[Later](err); !is || later.After <= 0 {
		t.Fatalf("its forge has enough to do: %v", err)
	}
	g.manners.Leave(host, now, now)
	for range 2 {
		if got, err := g.Whole(t.Context(), r.url, commit[:8]); err != nil || got != commit {
			t.Fatalf("%q, %v", got, err)
		}
	}
	g.manners.Hold(host, time.Minute, time.Now())
	if _, err := g.Whole(t.Context(), r.url, commit[:8]); err == nil {
		t.Fatal("its forge wants to be left alone")
	}
}
