package controller

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"noxmesh/api"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

// What is odd and keeps nothing from being delivered is said, since when, over
// repeats and another process, until it is over.
func TestEveryNotice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		ref   string
		cause func(*rig)
		says  string // with FROM and TO for the commits
		over  func(*rig)
	}{
		{
			"a force-push", "", func(r *rig) { r.git("site", "reset", "-q", "--hard", "first"); r.repo("site", "other") },
			"history was rewritten: from FROM to TO", func(r *rig) { r.repo("site", "later") },
		},
		{
			"a force-push back", "", func(r *rig) { r.git("site", "reset", "-q", "--hard", "first") },
			"history was rewritten: from FROM to TO", func(r *rig) { r.repo("site", "later") },
		},
		{
			"a branch made again elsewhere", "refs/heads/main", func(r *rig) {
				r.git("site", "checkout", "-q", "--orphan", "anew")
				r.repo("site", "anew")
				r.git("site", "branch", "-q", "-D", "main")
				r.step("site")
				if s := r.source("site"); s.State != "no such branch or tag" {
					r.t.Errorf("between: %+v", s)
				}
				r.git("site", "checkout", "-q", "-b", "main")
			},
			"history begins anew: TO has nothing in common with FROM", func(r *rig) { r.repo("site", "later") },
		},
		{
			"a tag that moves", "refs/tags/v1", func(r *rig) { r.git("site", "tag", "-f", "v1", "first") },
			"the tag was moved: from FROM to TO", nil,
		},
		{
			"an annotated tag that moves", "refs/tags/v1", func(r *rig) { r.git("site", "tag", "-f", "-a", "-m", "x", "v1", "first") },
			"the tag was moved: from FROM to TO", nil,
		},
		{
			"the default branch is renamed", "", func(r *rig) { r.git("site", "branch", "-q", "-m", "main", "trunk") },
			"the default branch is trunk, it was main", func(r *rig) { r.repo("site", "later") },
		},
		{
			"the default branch is renamed, and back", "", func(r *rig) { r.git("site", "branch", "-q", "-m", "main", "trunk") },
			"the default branch is trunk, it was main", func(r *rig) { r.git("site", "branch", "-q", "-m", "trunk", "main") },
		},
		{"an ordinary push", "", func(r *rig) { r.repo("site", "second"); r.repo("site", "third") }, "", nil},
		{
			"an ordinary merge", "", func(r *rig) {
				r.git("site", "checkout", "-q", "-b", "side", "first")
				r.commit("site", map[string]string{"module.json": moduleJSON("site", "latest"), "more": "x"})
				r.git("site", "checkout", "-q", "main")
				r.git("site", "merge", "-q", "-s", "ours", "-m", "merge", "side")
			}, "", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.repo("site", "first")
			r.git("site", "tag", "first")
			latest := r.repo("site", "latest")
			r.git("site", "tag", "v1")
			r.add("site", api.ModuleAddIn{Repository: r.address("site"), Ref: c.ref})
			r.step("site")
			r.node()
			r.assign("site")
			r.declared("site")
			planned := r.planned()
			c.cause(r)
			r.step("site")
			first := r.source("site")
			for range 2 {
				s := r.source("site")
				want := strings.NewReplacer("FROM", latest[:7], "TO", s.Commit[:7]).Replace(c.says)
				says := ""
				for _, n := range s.Notices {
					says += n.Says
					if !n.Since.Equal(first.Notices[0].Since) || n.Since.IsZero() {
						t.Errorf("since %v", n.Since)
					}
				}
				if s.State != "read" || says != want {
					t.Errorf("%q, want %q: %+v", says, want, s)
				}
				if r.planned() != planned {
					t.Errorf("the plan is %s", r.planned())
				}
				r.restart()
				r.step("site")
			}
			if c.over == nil {
				return
			}
			c.over(r)
			r.step("site")
			if s := r.source("site"); len(s.Notices) > 0 || s.State != "read" {
				t.Errorf("over: %+v", s)
			}
		})
	}
}

// A source can be odd and still be read, or be nothing that can be.
func TestOddSources(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.repo("site", "first")
	second := r.repo("site", "second")
	r.git("site", "tag", "-a", "-m", "x", "annotated", first)
	r.git("site", "tag", "-a", "-m", "x", "twice", "annotated")
	r.git("site", "tag", "blob", first+":module.json")
	r.git("site", "config", "uploadpack.allowFilter", "true")
	at := "file://" + filepath.Join(r.root, "site", ".git")
	r.git(".", "clone", "-q", "--depth=1", at, "shallow")
	r.git(".", "clone", "-q", "--shared", "site", "alternates")
	r.git(".", "clone", "-q", "--filter=tree:0", "--no-checkout", at, "partial")
	for name, c := range map[string]struct {
		repo, ref, commit, state, why string
	}{
		"an annotated tag": {"site", "refs/tags/annotated", first, "read", ""},
		"a tag of a tag":   {"site", "refs/tags/twice", first, "read", ""},
		"a tag of a file":  {"site", "refs/tags/blob", "", "no such commit", ""},
		"a commit":         {"site", first, first, "read", ""},
		"no such commit":   {"site", strings.Repeat("a", 40), "", "no such commit", "aaaaaaa"},
		"shallow":          {"shallow", "", second, "read", ""},
		"alternates":       {"alternates", "", second, "read", ""},
		"partial":          {"partial", "", "", "the repository is refused", "git said"},
	} {
		r := &rig{t: t, stores: quiet{}, root: r.root, url: r.url, forge: r.forge, key: r.key, record: dbtest.Open(t, dbtest.SQLite(t), dbtest.Holder)}
		r.restart()
		r.add("site", api.ModuleAddIn{Repository: r.address(c.repo), Ref: c.ref})
		for range 2 {
			r.step("site")
			if s := r.source("site"); s.State != c.state || s.Commit != c.commit || !strings.Contains(s.Why, c.why) || s.Since.IsZero() {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	for _, ref := range []string{"refs/pull/1/head", "refs/merge-requests/1/head", "refs/notes/commits", "HEAD", "main", "refs/heads/", "abc1234", "refs/heads/a..b", "refs/heads/-x"} {
		_, err := r.answerModuleAdd(t.Context(), api.Who{}, api.ModuleAddIn{Module: "odd", Repository: r.address("site"), Ref: ref})
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), strconv.Quote(ref)) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
