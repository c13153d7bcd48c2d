package line

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/api"
	"noxmesh/controller"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	"noxmesh/status"
)

// needsSandbox fails or leaves out a test whose modules have commands.
func (m *mesh) needsSandbox() {
	m.t.Helper()
	for _, b := range do(m, api.Builders(), api.Nothing{}).Builders {
		if b.Sandbox != "" {
			m.t.Skipf("no builder runs commands here: %s", b.Sandbox)
		}
	}
}

// tested is a module of one page with a test that looks for this word in it.
func tested(name, word, text string) files {
	return files{
		"module.json": `{"module": "` + name + `", "resources": [{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/` + name + `"}],
			"build": {"run": [["sh", "-c", "mkdir out && cp page out/index.html"]], "test": [["grep", "-q", "` + word + `", "out/index.html"]],
			"artifacts": {"pages": {"type": "archive", "path": "out"}}}}`,
		"page": text,
	}
}

// F3: there is no path from build to declared without a verdict: not by policy,
// not by a person, not by the record itself.
func TestAnUnfitBuildIsNeverDeclared(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 1, builders: 1})
	m.needsSandbox()
	first := m.module("site", tested("site", "good", "good"))
	m.assign("site", "node1")
	m.auto("site")
	s := m.until("the first is out", isOut("site", first, 1))
	if v := moduleOf(s, "site").Built.Verdict; v != "fit" {
		t.Errorf("the verdict of a build whose tests ran well is %q", v)
	}
	bad := m.forge.commit("site", files{"page": "bad"})
	s = m.until("the second is unfit", func(s status.Status) string {
		if b := moduleOf(s, "site").Built; b != nil && b.Commit == bad && b.Verdict == "unfit" {
			return ""
		}
		return line(s, "site")
	})
	unfit := moduleOf(s, "site")
	if !unfit.Bad() || unfit.Declared != 0 || len(unfit.Waiting) != 1 || !strings.Contains(unfit.Waiting[0].For, "tests failed") {
		t.Errorf("an unfit build: %s", line(s, "site"))
	}
	for _, in := range []api.DeclareIn{
		{Module: "site"}, {Module: "site", Build: unfit.Built.Build}, {Module: "site", Build: bad}, {Module: "site", Build: bad, Nodes: []string{"node1"}},
	} {
		if why := refused(m, api.Declare(), in, fault.Conflict); !strings.Contains(why, "unfit") {
			t.Errorf("declare %+v is refused with %q", in, why)
		}
	}
	m.holds("node1", "opt/site/index.html", "good")
	mended := m.forge.commit("site", files{"page": "good again"})
	m.until("the third is out", isOut("site", mended, 1))
	// Only two builds were ever declared.
	show := do(m, api.ModuleShow(), api.ModuleIn{Module: "site"})
	for _, w := range show.Writes {
		if w.Commit != first && w.Commit != mended {
			t.Errorf("declared: %+v", w)
		}
	}
	node := do(m, api.NodeShow(), api.NodeIn{Node: "node1"}).Node.Node
	m.controller.stop()
	record := m.openRecord()
	err := record.Write(t.Context(), func(tx *db.Tx) error {
		_, err := deliverystore.Declare(tx, deliverystore.DeclareWrite{Module: "site", Build: document.Digest(unfit.Built.Build), Nodes: []string{node}, By: "a bug"})
		return err
	})
	if fault.KindOf(err) != fault.Conflict {
		t.Errorf("the record lets an unfit build be declared: %v", err)
	}
	must(t, record.Close())
}

// openRecord is the record as a controller has it that took it over.
func (m *mesh) openRecord() *db.DB {
	m.t.Helper()
	dsn := m.record
	if dsn == "" {
		dsn = "sqlite:" + m.path("controller", "record.db")
	}
	d, err := db.Open(m.t.Context(), dsn)
	must(m.t, err)
	_, err = d.TakeOver(m.t.Context(), "the-test")
	must(m.t, err)
	return d
}

// F5: there is no fan-out. The node that the builder runs on converges like the
// others, while the builder builds.
func TestTheBuildersOwnNodeConvergesWhileItBuilds(t *testing.T) {
	t.Parallel()
	m := begin(t, options{})
	m.addBuilder("one")
	m.addHost("one")
	m.addHost("two")
	m.untilUp()
	m.needsSandbox()
	site := m.module("site", site("site", "page"))
	m.until("the site is fit", isFit("site", site))
	m.module("slow", files{
		"module.json": `{"module": "slow", "resources": [{"id": "a", "type": "archive", "artifact": "a", "path": "/opt/slow"}],
			"build": {"run": [["sleep", "60"]], "artifacts": {"a": {"type": "archive", "path": "a"}}}}`,
		"a/b": "b",
	})
	m.until("the builder is busy", func(s status.Status) string {
		for _, w := range moduleOf(s, "slow").Waiting {
			if strings.HasPrefix(w.For, "the build on builder") {
				return ""
			}
		}
		return line(s, "slow")
	})
	m.assign("site", "one", "two")
	m.declare("site")
	s := m.until("the site is out on both", isOut("site", site, 2))
	if w := moduleOf(s, "slow").Waiting; len(w) == 0 || !strings.HasPrefix(w[0].For, "the build on builder") {
		t.Errorf("the builder was not busy: %s", line(s, "slow"))
	}
	m.holds("one", "opt/site/index.html", "page")
}

// blobs are the files of the registry that hold exactly what this reports true of.
func (m *mesh) blobs(is func([]byte) bool) []string {
	m.t.Helper()
	var found []string
	all, err := filepath.Glob(m.path("controller", "registry", "docker", "registry", "v2", "blobs", "sha256", "*", "*", "data"))
	must(m.t, err)
	for _, path := range all {
		b, err := os.ReadFile(path)
		must(m.t, err)
		if is(b) {
			found = append(found, path)
		}
	}
	return found
}

// F6, D2: what could not be fetched is not applied and says so; what is gone
// from the registry is built again, and goes out.
func TestABlobThatIsGoneIsBuiltAgain(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 1, builders: 1})
	first := m.module("motd", motd("motd", "the first text"))
	m.assign("motd", "node1")
	m.until("it is fit", isFit("motd", first))
	commit := first
	for _, text := range []string{"the first text", "the second text"} {
		lies := text != "the first text" // it is there, of the right size, with other bytes
		if lies {
			commit = m.forge.commit("motd", files{"text": text})
			m.until("it is fit", isFit("motd", commit))
		}
		m.host("node1").stop()
		m.declare("motd")
		m.builders[0].stop() // nobody builds again yet
		own := m.blobs(func(b []byte) bool { return string(b) == text })
		if len(own) != 1 {
			t.Fatalf("the text is in %d blobs of the registry", len(own))
		}
		if lies {
			must(t, os.WriteFile(own[0], bytes.Repeat([]byte("x"), len(text)), 0o600))
		} else {
			must(t, os.RemoveAll(filepath.Dir(own[0])))
		}
		m.host("node1").start()
		s := m.until("the node says what it lacks", func(s status.Status) string {
			if n := nodeOf(s, "node1"); len(n.Failing) == 1 && n.Failing[0].Resource == "motd/file" && n.Failing[0].Error != "" {
				return ""
			}
			return line(s, "motd")
		})
		t.Logf("the node says: %+v", nodeOf(s, "node1").Failing)
		if got := moduleOf(s, "motd"); got.Applied != 0 || got.Out() || nodeOf(s, "node1").State == "applied" {
			t.Errorf("what was never fetched: %s", line(s, "motd"))
		}
		if m.read("node1", "etc/motd") == text {
			t.Error("the node has what is not in the registry")
		}
		if lies {
			must(t, os.RemoveAll(filepath.Dir(own[0])))
		}
		m.until("it is seen to be gone", func(s status.Status) string {
			if b := moduleOf(s, "motd").Built; !b.Current {
				return ""
			}
			return line(s, "motd")
		})
		refused(m, api.Declare(), api.DeclareIn{Module: "motd"}, fault.Conflict)
		m.builders[0].start()
		s = m.until("it is built again and out", isOut("motd", commit, 1))
		m.holds("node1", "etc/motd", text)
		if f := moduleOf(s, "motd").Finding; f != "" {
			t.Errorf("built again, it is another: %s", f)
		}
	}
}

// X40: a record that is older than what nodes have accepted declares nothing, no
// node goes back by itself, and a person's takeover makes it work again.
func TestARestoredRecordDeclaresNothing(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 2, builders: 1})
	first := m.module("site", site("site", "1"))
	m.assign("site", "node1", "node2")
	m.auto("site")
	m.until("the first is out", isOut("site", first, 2))
	m.controller.stop()
	kept := m.copyRecord()
	m.controller.start()
	m.untilUp()
	for _, text := range []string{"2", "3"} {
		commit := m.forge.commit("site", files{"public/index.html": text})
		m.until("it is out", isOut("site", commit, 2))
	}
	m.poll("node1 has said that it has accepted the third", func() string {
		return m.differs("node1", "1/3")
	})
	m.controller.stop()
	m.restoreRecord(kept)
	m.controller.start()
	m.untilAnswers()
	s := m.until("both are ahead of the record", func(s status.Status) string {
		if nodeOf(s, "node1").Finding != "" && nodeOf(s, "node2").Finding != "" && s.Recovering != "" {
			return ""
		}
		return line(s, "site") + "; " + s.Recovering
	})
	if n := nodeOf(s, "node1"); n.State != "quarantined" {
		t.Errorf("node1 is %s", n.State)
	}
	fourth := m.forge.commit("site", files{"public/index.html": "4"})
	m.until("the fourth is fit", isFit("site", fourth))
	why := refused(m, api.Declare(), api.DeclareIn{Module: "site"}, fault.Conflict)
	if !strings.Contains(why, "never issued") {
		t.Errorf("declare is refused with %q", why)
	}
	hellos := nodeOf(m.now(), "node1").LastSeen
	m.until("they have said hello twice more", func(s status.Status) string {
		if seen := nodeOf(s, "node1").LastSeen; seen.After(hellos.Add(2e9)) {
			return ""
		}
		return "node1 has not"
	})
	for _, n := range []string{"node1", "node2"} {
		m.holds(n, "opt/site/index.html", "3")
		if why := m.differs(n, "1/3"); why != "" {
			t.Error(why)
		}
	}
	m.controller.stop()
	var out bytes.Buffer
	args := []string{"recover", "--dir", m.path("controller"), "--socket", m.socket()}
	if code := controller.Command(t.Context(), "test", args, &out, &out); code != 0 {
		t.Fatalf("recover ends with %d: %s", code, out.String())
	}
	m.controller.start()
	m.untilAnswers()
	s = m.until("the fourth is out", isOut("site", fourth, 2))
	if s.Recovering != "" {
		t.Errorf("recovering still: %s", s.Recovering)
	}
	for _, n := range []string{"node1", "node2"} {
		m.holds(n, "opt/site/index.html", "4")
		if got := nodeOf(s, n); got.Finding != "" || got.Behind != inventory.NotBehind || got.Refused != "" {
			t.Errorf("%s after the takeover is %+v", n, got)
		}
		m.poll("accepted in the second epoch", func() string {
			if got := do(m, api.NodeShow(), api.NodeIn{Node: n}).Accepted; !strings.HasPrefix(got, "2/") {
				return n + " has accepted " + got
			}
			return ""
		})
	}
}

// differs says so where a node has not accepted exactly this.
func (m *mesh) differs(node, accepted string) string {
	m.t.Helper()
	if got := do(m, api.NodeShow(), api.NodeIn{Node: node}).Accepted; got != accepted {
		return node + " has accepted " + got + ", want " + accepted
	}
	return ""
}

// copyRecord is the record's files, by name. The controller is stopped.
func (m *mesh) copyRecord() map[string][]byte {
	m.t.Helper()
	kept := map[string][]byte{}
	all, err := filepath.Glob(m.path("controller", "record.db*"))
	must(m.t, err)
	for _, path := range all {
		if kept[path], err = os.ReadFile(path); err != nil {
			m.t.Fatal(err)
		}
	}
	return kept
}

func (m *mesh) restoreRecord(kept map[string][]byte) {
	m.t.Helper()
	all, err := filepath.Glob(m.path("controller", "record.db*"))
	must(m.t, err)
	for _, path := range all {
		must(m.t, os.Remove(path))
	}
	for path, b := range kept {
		must(m.t, os.WriteFile(path, b, 0o600))
	}
}
