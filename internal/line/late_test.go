//go:build meshcrash

package line

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/status"
)

// X8: a lease runs out, a second builder builds, and then the answer of the first
// comes. One build is recorded, that of the answer that came first. Where the two
// are not the same, it is shown, and nothing is declared of the later one.
func TestTwoBuildersAnswerOneRequest(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]struct {
		command string
		differs bool
	}{
		"alike": {"mkdir out && cp page out/index.html", false},
		"apart": {"mkdir out && head -c 8 /dev/urandom > out/index.html", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answersTwice(t, made.command, made.differs)
		})
	}
}

func answersTwice(t *testing.T, command string, differs bool) {
	t.Helper()
	m := begin(t, options{lease: stretched(3 * time.Second), programs: folder(t, crashing)})
	late := m.addBuilder("late")
	m.addHost("node1")
	m.untilUp()
	m.needsSandbox()
	late.stop()
	late.env = []string{"MESH_CRASH=builder.answer.send#1:before"}
	late.start()
	commit := m.module("site", files{
		"module.json": `{"module": "site", "resources": [{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/site"}],
			"build": {"run": [["sh", "-c", "` + command + `"]], "artifacts": {"pages": {"type": "archive", "path": "out"}}}}`,
		"page": "page",
	})
	m.assign("site", "node1")
	m.auto("site")
	m.poll("the first has built, and died before it said so", func() string {
		if late.running() {
			return "it runs"
		}
		return ""
	})
	m.addBuilder("second")
	was := moduleOf(m.until("the second's is out", isOut("site", commit, 1)), "site")
	late.env = nil
	late.start()
	m.poll("the answer of the first has come", func() string {
		left, err := filepath.Glob(m.path("builders", "late", "answers", "*"))
		must(t, err)
		return strings.Join(left, ", ")
	})
	s := m.until("what came of it is shown", func(s status.Status) string {
		if found := moduleOf(s, "site").Finding; differs == strings.HasPrefix(found, "not reproducible") {
			return ""
		}
		return line(s, "site")
	})
	is := moduleOf(s, "site")
	if *is.Built != *was.Built && !differs || is.Built.Build != was.Built.Build || !is.Out() {
		t.Errorf("the build was %+v and is %+v, finding %q", was.Built, is.Built, is.Finding)
	}
	all := do(m, api.Builds(), api.BuildsIn{Module: "site"}).Builds
	if len(all) != 1 || all[0].Build != was.Built.Build || (all[0].Finding != "") != differs {
		t.Errorf("the builds are %+v", all)
	}
	for _, w := range do(m, api.ModuleShow(), api.ModuleIn{Module: "site"}).Writes {
		if w.Build != was.Built.Build {
			t.Errorf("declared: %+v", w)
		}
	}
	if why := m.differs("node1", "1/1"); why != "" {
		t.Error(why)
	}
	m.sound()
}
