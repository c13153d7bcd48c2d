package line

import (
	"os"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	"noxmesh/status"
)

// behind is who a push of what is behind is about, and how each stands.
func (m *mesh) behind() map[string]inventory.Behind {
	m.t.Helper()
	out := map[string]inventory.Behind{}
	for _, p := range do(m, api.Push(), api.PushIn{Behind: true, Wait: 1}).Nodes {
		out[p.Name] = p.Behind
		if p.Accepted {
			m.t.Errorf("%s is behind and has accepted", p.Name)
		}
	}
	return out
}

// D9: never told and out of date are told apart, last-sent is recorded after the
// receipt, push --behind acts on exactly what status shows, and what is not
// worked out is in neither.
func TestNeverToldOutOfDateAndNotWorkedOutAreThreeThings(t *testing.T) {
	t.Parallel()
	each(t, options{hosts: 2, builders: 1}, func(t *testing.T, m *mesh) {
		m.host("node2").stop()
		first := m.module("site", site("site", "first"))
		m.assign("site", "node1", "node2")
		m.until("it is fit", isFit("site", first))
		m.declare("site")
		s := m.until("node1 has it", func(s status.Status) string {
			if moduleOf(s, "site").Applied == 1 {
				return ""
			}
			return line(s, "site")
		})
		if n := nodeOf(s, "node2"); n.Behind != inventory.NeverTold || n.State != "never told" || !n.SentAt.IsZero() || n.LastSeen.IsZero() {
			t.Errorf("node2 was away, and is %+v", n)
		}
		if got := moduleOf(s, "site"); got.Declared != 2 || got.Outstanding != 1 || got.Failed != 0 {
			t.Errorf("one node is away: %s", got.Line())
		}
		if got := m.behind(); len(got) != 1 || got["node2"] != inventory.NeverTold {
			t.Errorf("behind is %v, want node2, never told", got)
		}
		m.host("node2").start()
		s = m.until("node2 has it", isOut("site", first, 2))
		sent := nodeOf(s, "node2").SentAt
		if sent.IsZero() {
			t.Error("node2 has applied what it was never sent")
		}
		m.host("node2").stop()
		m.auto("site")
		second := m.forge.commit("site", files{"public/index.html": "second"})
		s = m.until("node1 has the second", isOn("site", second, 2, 1))
		if n := nodeOf(s, "node2"); n.Behind != inventory.OutOfDate || n.State != "out of date" || !n.SentAt.Equal(sent) {
			t.Errorf("node2 was away for the second, and is %+v", n)
		}
		if got := m.behind(); len(got) != 1 || got["node2"] != inventory.OutOfDate {
			t.Errorf("behind is %v, want node2, out of date", got)
		}
		m.controller.restart() // what was pushed and not received is in no memory
		m.untilAnswers()
		if got := m.behind(); len(got) != 1 || got["node2"] != inventory.OutOfDate {
			t.Errorf("behind after a restart is %v, want node2, out of date", got)
		}

		// Two claim one path: the second is refused, and where a commit brings that
		// about it is not worked out, and nobody waits for anything.
		claims := func(path, summary string) files {
			return files{"module.json": `{"module": "clash", "summary": "` + summary + `", "resources": [{"id": "a", "type": "directory", "path": "` + path + `"}]}`}
		}
		clash := m.module("clash", claims("/opt/site", "first"))
		m.until("the clash is fit", isFit("clash", clash))
		said := refused(m, api.Assign(), api.AssignIn{Module: "clash", Node: "node1"}, fault.Conflict)
		if !strings.Contains(said, `clash: it claims a directory /opt/site, in which lies`) && !strings.Contains(said, `clash: it claims /opt/site, which "site" has`) {
			t.Errorf("assigning it says %q", said)
		}
		m.until("it claims another path", isFit("clash", m.forge.commit("clash", claims("/opt/clash", "second"))))
		m.assign("clash", "node1")
		m.until("it claims the same path", isFit("clash", m.forge.commit("clash", claims("/opt/site", "third"))))
		m.declare("clash")
		s = m.now()
		if n := nodeOf(s, "node1"); n.Behind != inventory.NotBehind || n.NotWorkedOut == 0 {
			t.Errorf("a module of node1 cannot be worked out, and it is %+v", n)
		}
		if got := m.behind(); len(got) != 1 || got["node2"] != inventory.OutOfDate {
			t.Errorf("behind with one not worked out is %v", got)
		}
		p := do(m, api.Plans(), api.PlansIn{Node: "node1"}).Plans
		if len(p) != 1 || len(p[0].LeftOut) != 1 || p[0].LeftOut[0].Module != "clash" || len(p[0].Held) != 0 {
			t.Errorf("the plan says %+v", p)
		}
		m.host("node2").start()
		m.until("node2 has the second", isOut("site", second, 2))
	})
}

// D10: three reports of the same failure are stuck, a different one and a clean
// one are not; and the mesh goes on trying.
func TestThreeFailuresAlikeAreStuck(t *testing.T) {
	t.Parallel()
	each(t, options{hosts: 1, builders: 1}, func(t *testing.T, m *mesh) {
		m.put("node1", "etc/motd/mine", "a directory of mine")
		first := m.module("motd", motd("motd", "hello"))
		m.assign("motd", "node1")
		m.auto("motd")
		s := m.until("it is stuck", func(s status.Status) string {
			if n := nodeOf(s, "node1"); n.Trouble != nil && n.Trouble.Stuck {
				return ""
			}
			return line(s, "motd")
		})
		n := nodeOf(s, "node1")
		if n.State != "failed" || n.Trouble.Count < 3 || n.Trouble.Since.IsZero() || len(n.Failing) != 1 || n.Failing[0].Resource != "motd/file" {
			t.Errorf("stuck is %+v with trouble %+v", n, n.Trouble)
		}
		if got := moduleOf(s, "motd"); got.Failed != 1 || got.Applied != 0 || got.Nodes[0].Why == "" {
			t.Errorf("the line is %q, of nodes %+v", got.Line(), got.Nodes)
		}
		m.holds("node1", "etc/motd/mine", "a directory of mine")
		m.controller.restart()
		m.untilAnswers()
		if again := nodeOf(m.now(), "node1").Trouble; again == nil || !again.Stuck || !again.Since.Equal(n.Trouble.Since) {
			t.Errorf("after a restart of the controller the trouble is %+v, was %+v", again, n.Trouble)
		}
		// Another failure beside it is another trouble.
		m.put("node1", "etc/other/mine", "another")
		m.module("other", motd("other", "other"))
		m.assign("other", "node1")
		m.auto("other")
		s = m.until("another trouble begins", func(s status.Status) string {
			if n := nodeOf(s, "node1"); len(n.Failing) == 2 && n.Trouble != nil && !n.Trouble.Stuck {
				return ""
			}
			return line(s, "other")
		})
		if since := nodeOf(s, "node1").Trouble.Since; !since.After(n.Trouble.Since) {
			t.Errorf("another trouble began at %s, the first at %s", since, n.Trouble.Since)
		}
		for _, path := range []string{"etc/motd", "etc/other"} {
			if err := os.RemoveAll(m.root("node1", path)); err != nil {
				t.Fatal(err)
			}
		}
		s = m.until("it goes out by itself", isOut("motd", first, 1))
		if n := nodeOf(s, "node1"); n.Trouble != nil || n.State != "applied" {
			t.Errorf("after a clean apply the node is %+v with trouble %+v", n, n.Trouble)
		}
		m.holds("node1", "etc/motd", "hello")
	})
}

// X46, H5: a node that was away takes the last declaration alone, and removes by
// its own record; what the host did not make stays.
func TestANodeThatWasAwayTakesTheLastDeclaration(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 2, builders: 1})
	first := m.module("site", files{
		"module.json": `{"module": "site", "resources": [
			{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/site"},
			{"id": "zero", "type": "file", "path": "/etc/site/0", "content": "0"}],
			"build": {"artifacts": {"pages": {"type": "archive", "path": "public"}}}}`,
		"public/index.html": "0", "public/old.html": "old",
	})
	m.assign("site", "node1", "node2")
	m.auto("site")
	m.until("the first is out", isOut("site", first, 2))
	m.poll("its hello says the first", func() string { return m.differs("node2", "1/1") }) // it comes beside the report
	m.host("node2").stop()
	m.put("node2", "opt/site/mine.html", "mine")
	m.put("node2", "etc/site/mine", "mine")
	var last string
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		last = m.forge.commit("site", files{
			"module.json": `{"module": "site", "resources": [
				{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/site"},
				{"id": "file", "type": "file", "path": "/etc/site/` + n + `", "content": "` + n + `"}],
				"build": {"artifacts": {"pages": {"type": "archive", "path": "public"}}}}`,
			"public/index.html": n, "public/old.html": map[bool]string{true: "", false: "old" + n}[n == "5"],
		})
		m.until("it is out on node1", isOn("site", last, 2, 1))
	}
	before := do(m, api.NodeShow(), api.NodeIn{Node: "node2"})
	m.host("node2").start()
	m.until("it is out on both", isOut("site", last, 2))
	m.poll("its hello says the sixth", func() string {
		if after := do(m, api.NodeShow(), api.NodeIn{Node: "node2"}); before.Accepted != "1/1" || after.Accepted != "1/6" {
			return "node2 had accepted " + before.Accepted + ", and now " + after.Accepted
		}
		return ""
	})
	if n := m.logged("node2", "msg=accepted"); n != 2 {
		t.Errorf("node2 has accepted %d declarations in all, want the first and the last", n)
	}
	m.holds("node2", "opt/site/index.html", "5")
	m.holds("node2", "etc/site/5", "5")
	for _, gone := range []string{"opt/site/old.html", "etc/site/0", "etc/site/1", "etc/site/4"} {
		m.lacks("node2", gone)
	}
	m.holds("node2", "opt/site/mine.html", "mine")
	m.holds("node2", "etc/site/mine", "mine")

	do(m, api.Unassign(), api.UnassignIn{Module: "site", Node: "node2"})
	m.until("it has left node2", func(s status.Status) string {
		if n := nodeOf(s, "node2"); n.Outcome == "applied" && n.Behind == inventory.NotBehind && m.read("node2", "etc/site/5") != "5" && moduleOf(s, "site").Declared == 1 {
			return ""
		}
		return line(s, "site")
	})
	for _, gone := range []string{"opt/site/index.html", "etc/site/5"} {
		m.lacks("node2", gone)
	}
	m.holds("node2", "opt/site/mine.html", "mine")
	m.holds("node2", "etc/site/mine", "mine")
	m.holds("node1", "opt/site/index.html", "5")
}

// X14, X13: whatever of the controller and broker is lost with the process, the
// next hellos repair.
func TestARestartOfTheControllerLosesNothing(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 2, builders: 1})
	commit := m.module("site", site("site", "0"))
	m.assign("site", "node1", "node2")
	m.auto("site")
	m.until("the first is out", isOut("site", commit, 2))
	for _, text := range []string{"1", "2"} {
		m.controller.stop()
		commit = m.forge.commit("site", files{"public/index.html": text}) // nobody hears of it
		m.controller.start()
		began := time.Now()
		m.untilAnswers()
		m.until("the commit is out", isOut("site", commit, 2))
		t.Logf("restart to applied on 2: %s", since(began))
		for _, n := range m.now().Nodes {
			if n.Refused != "" || n.Finding != "" {
				t.Errorf("%s after a restart: refused %q, finding %q", n.Name, n.Refused, n.Finding)
			}
		}
	}
}
