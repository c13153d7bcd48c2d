package line

import (
	"os"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/status"
)

// sourceIs is the fact that the module's source is in this state, and why holds these words.
func sourceIs(module, state string, why ...string) func(status.Status) string {
	return func(s status.Status) string {
		src := moduleOf(s, module).Source
		for _, w := range why {
			if !strings.Contains(src.Why, w) {
				return line(s, module)
			}
		}
		if src.State != state || src.Since.IsZero() {
			return line(s, module)
		}
		return ""
	}
}

// X3: each state of a source is named, since when, takes nothing away, and is
// over by itself, within a poll, when what caused it is.
func TestEverySourceStateIsShownAndTakesNothingAway(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 1, builders: 1})
	first := m.module("site", site("site", "first"))
	do(m, api.ModuleAdd(), api.ModuleAddIn{Module: "branch", Repository: m.forge.empty("branch"), Ref: "refs/heads/main"})
	m.until("an empty repository is said to be one", sourceIs("branch", "the repository is empty"))
	m.assign("site", "node1")
	m.assign("branch", "node1")
	m.auto("site", "branch")
	out := m.forge.commit("branch", motd("branch", "on a branch"))
	m.until("the first commit is out", func(s status.Status) string { return isOut("site", first, 1)(s) + isOut("branch", out, 1)(s) })

	away := func(state string, cause, mend func(), why ...string) {
		t.Helper()
		cause()
		s := m.until(state, sourceIs("site", state, why...))
		began, seen := moduleOf(s, "site").Source.Since, moduleOf(s, "site").Source.LookedAt
		s = m.until("it has looked again", func(s status.Status) string {
			if moduleOf(s, "site").Source.LookedAt.After(seen) {
				return ""
			}
			return line(s, "site")
		})
		got := moduleOf(s, "site")
		if !got.Source.Since.Equal(began) {
			t.Errorf("%s: since %s, and then since %s", state, began, got.Source.Since)
		}
		if got.Declared != 1 || got.Applied != 1 || got.Out() || m.read("node1", "opt/site/index.html") != "first" {
			t.Errorf("%s: the line is %q", state, got.Line())
		}
		if n := nodeOf(s, "node1"); n.State != "applied" {
			t.Errorf("%s: the node is %s", state, n.State)
		}
		mended := time.Now()
		mend()
		m.until("it is over", isOut("site", moduleOf(s, "site").Source.Commit, 1))
		t.Logf("%s: over after %s", state, since(mended))
	}
	away("no such repository",
		func() { must(t, os.Rename(m.forge.bare("site"), m.forge.bare("away"))) },
		func() { must(t, os.Rename(m.forge.bare("away"), m.forge.bare("site"))) })

	bad := func(text string) func() { return func() { m.forge.commit("site", files{"module.json": text}) } }
	back := func() { // a force-push to where it was
		m.forge.git(m.forge.work("site"), "reset", "-q", "--hard", first)
		m.forge.git(m.forge.work("site"), "push", "-q", "--force", "origin", "HEAD:main")
	}
	away("module.json is refused", bad("{\n  \"module\": \"site\",\n  \"requirs\": []\n}\n"), back, "module.json:3:3", "requirs", "requires")
	away("no module.json", func() { m.forge.commit("site", files{"module.json": ""}) }, back)
	away("module.json names another module", bad(`{"module": "other"}`), back, "other")

	// A branch that is deleted, in a repository that has another.
	m.forge.git(m.forge.bare("branch"), "branch", "other", "main")
	m.forge.git(m.forge.bare("branch"), "branch", "-q", "-D", "main")
	s := m.until("the branch is gone", sourceIs("branch", "no such branch or tag", "main"))
	if got := moduleOf(s, "branch"); got.Applied != 1 || got.Source.Commit != out {
		t.Errorf("a deleted branch: %s", got.Line())
	}
	m.holds("node1", "etc/branch", "on a branch")
	m.forge.git(m.forge.bare("branch"), "branch", "main", "other")
	m.until("the branch is back", isOut("branch", out, 1))
}

// Item 2: hooks off, a commit goes out within one poll; also one that mends a
// commit that nobody could read.
func TestACommitThatMendsGoesOutWithinOnePoll(t *testing.T) {
	t.Parallel()
	const every = 2 * time.Second
	m := start(t, options{hosts: 1, builders: 1, every: every})
	first := m.module("site", site("site", "first"))
	m.assign("site", "node1")
	m.auto("site")
	m.until("the first is out", isOut("site", first, 1))
	m.forge.commit("site", files{"module.json": "{"})
	m.until("it has been refused for a while", func(s status.Status) string {
		if tr := moduleOf(s, "site").Trouble; len(tr) == 1 && tr[0].Stuck && tr[0].Count >= 5 {
			return ""
		}
		return line(s, "site")
	})
	mended := m.forge.commit("site", site("site", "mended"))
	began := time.Now()
	m.until("it is seen", func(s status.Status) string {
		if moduleOf(s, "site").Source.Commit == mended {
			return ""
		}
		return line(s, "site")
	})
	if took := time.Since(began); took > 8*every { // the poll, its jitter, and a slow machine
		t.Errorf("a commit that mends was seen after %s, with a look every %s", took, every)
	}
	s := m.until("it is out", isOut("site", mended, 1))
	if tr := moduleOf(s, "site").Trouble; len(tr) != 0 {
		t.Errorf("it is mended, and the trouble is %+v", tr)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
