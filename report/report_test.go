package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

func digest(s string) document.Digest { return document.Sum([]byte(s)) }

func whole() report.Report {
	return report.Report{
		Format: 1, Mesh: "mesh0001", Node: "n7f3k000", Boot: "5f0c", Sequence: 9,
		Accepted: declaration.Tuple{Epoch: 7, Generation: 42, Digest: digest("d")},
		Applied:  declaration.Tuple{Epoch: 7, Generation: 41, Digest: digest("c")},
		Host:     "1.2.3", Cause: report.CauseDrift, Began: 1000, Ended: 2000, Outcome: report.OutcomeFailed,
		Trouble: &report.Trouble{Fingerprint: "abc", Since: 900, Count: 3},
		Modules: []declaration.Module{{Module: "board", Content: digest("board")}, {Module: "net", Content: digest("net")}},
		Resources: []report.Resource{
			{ID: "board/a", Digest: digest("a"), State: report.StateOK},
			{ID: "board/b", Digest: digest("b"), State: report.StateChanged, Fixed: true, Found: "mode 0600"},
			{ID: "net/c", Digest: digest("c"), State: report.StateFailed, Error: "no space left on device"},
			{ID: "net/d", Digest: digest("d"), State: report.StateBlocked},
			{ID: "net/e", Digest: digest("e"), State: report.StateWaiting},
			{ID: "net/f", Digest: digest("f"), State: report.StateDiffers, Contested: &report.Contested{Since: 800, Count: 4}},
			{ID: "gone/g", State: report.StateRemoved},
		},
		Facts: &report.Facts{OS: "linux", Arch: "amd64", Hostname: "laptop", Capabilities: []string{"systemd"}},
	}
}

func encoded(t *testing.T) string {
	t.Helper()
	b, err := whole().Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheReportOfVersion1DecodesForEver(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "v1", "report.json")
	got := encoded(t)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
	r, err := report.Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(whole(), r); d != "" {
		t.Error(d)
	}
}

func TestEveryRuleOfAReport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"newer":            {`"format":1`, `"format":9`, `at format: this controller speaks 1, the report is format 9; upgrade the controller`},
		"mesh":             {`"mesh0001"`, `"mesh.>"`, `at mesh: "mesh.>" is not an id`},
		"node":             {`"n7f3k000"`, `"A"`, `at node: "A" is not an id`},
		"sequence":         {`"sequence":9`, `"sequence":0`, `at sequence: it is 0; want 1 or more`},
		"boot":             {`"5f0c"`, `"` + strings.Repeat("x", 256) + `"`, `at boot: 256 bytes; want at most 255`},
		"epoch":            {`"epoch":7`, `"epoch":0`, `at accepted.epoch: it is 0; want 1 or more`},
		"tuple digest":     {`"digest":"` + string(digest("d")) + `","epoch"`, `"digest":"d","epoch"`, `at accepted.digest: "d" is not a digest`},
		"tuple no digest":  {`"digest":"` + string(digest("d")) + `","epoch"`, `"epoch"`, `at accepted.digest: "" is not a digest`},
		"cause":            {`"drift"`, `"boredom"`, `at cause: "boredom" is not a cause; want declaration, drift, start or event`},
		"outcome":          {`"outcome":"failed"`, `"outcome":"great"`, `at outcome: "great" is not an outcome; want applied, failed or confirming`},
		"outcome applied":  {`"outcome":"failed"`, `"outcome":"applied"`, `at resources[2].state: failed, and the outcome is applied; the outcome is failed if a resource has`},
		"began":            {`"began":1000`, `"began":-1`, `at began: it is -1`},
		"trouble":          {`"count":3`, `"count":0`, `at trouble.count: it is 0`},
		"module":           {`"module":"net"`, `"module":"Net"`, `at modules[1].module: "Net" is not the name of a module`},
		"module twice":     {`"module":"net"`, `"module":"board"`, `at modules[1].module: "board" is there twice`},
		"content":          {string(digest("net")), `x`, `at modules[1].content: "x" is not a digest`},
		"id":               {`"board/a"`, `"a"`, `at resources[0].id: "a" is not the id of a resource; want MODULE/ID`},
		"id twice":         {`"board/a"`, `"board/b"`, `at resources[1].id: "board/b" is there twice`},
		"state":            {`"state":"ok"`, `"state":"okay"`, `at resources[0].state: "okay" is not a state; want ok, changed, differs, waiting, failed, blocked or removed`},
		"state none":       {`"state":"ok"`, `"state":""`, `at resources[0].state: "" is not a state`},
		"ok of nothing":    {`"digest":"` + string(digest("a")) + `",`, ``, `at resources[0].state: ok, and no digest; say of which resource, in digest`},
		"removed declared": {`"id":"gone/g"`, `"id":"gone/g","digest":"` + string(digest("g")) + `"`, `at resources[6].digest: what is removed is no longer declared; take it out`},
		"digest":           {string(digest("f")), `f`, `at resources[5].digest: "f" is not a digest`},
		"error":            {`no space left on device`, strings.Repeat("x", 4097), `at resources[2].error: 4097 bytes; want at most 4096`},
		"found":            {`mode 0600`, strings.Repeat("ü", 2049), `at resources[1].found: 4098 bytes; want at most 4096`},
		"not UTF-8":        {`mode 0600`, "mode\xff", `the byte 0xff is not UTF-8`},
		"surrogate":        {`mode 0600`, `\ud800`, `half of a surrogate pair`},
		"facts":            {`"hostname":"laptop"`, `"hostname":"` + strings.Repeat("x", 256) + `"`, `at facts.hostname: 256 bytes`},
		"capabilities":     {`["systemd"]`, `[` + strings.Repeat(`"x",`, 256) + `"x"]`, `at facts.capabilities: 257 capabilities; want at most 256`},
		"capability":       {`"systemd"`, `1`, `at facts.capabilities[0]: there is a number`},
		"unknown":          {`"boot"`, `"boott"`, `unknown key "boott"; did you mean "boot"?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := encoded(t)
			in := strings.Replace(good, c.old, c.new, 1)
			if in == good {
				t.Fatal("nothing was replaced")
			}
			_, err := report.Decode([]byte(in))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("kind %s", fault.KindOf(err))
			}
		})
	}
}

func TestHowManyResources(t *testing.T) {
	t.Parallel()
	r := whole()
	r.Resources = nil
	for i := range report.ResourceLimit + 1 {
		r.Resources = append(r.Resources, report.Resource{ID: "m/r" + strconv.Itoa(i), State: report.StateRemoved})
	}
	b, err := document.Canonical(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := report.Decode(b); err == nil || !strings.Contains(err.Error(), "at resources: 20001 resources; want at most 20000") {
		t.Error(err)
	}
	r.Resources = r.Resources[1:]
	if _, err := r.Encode(); err != nil {
		t.Error(err)
	}
}

// A node cannot keep the controller busy with what will be refused.
func TestAFloodIsRefusedAtOnce(t *testing.T) { //nolint:paralleltest // it counts allocations
	flood := append([]byte(`{"format":1,"error":"`), bytes.Repeat([]byte("x"), 10<<20)...)
	_, err := report.Decode(flood)
	if err == nil || !strings.Contains(err.Error(), "at most 2097152 are read") {
		t.Error(err)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = report.Decode(flood) }); n > 20 {
		t.Errorf("it takes %v pieces of memory", n)
	}
}

func TestParsersTakeTheirOwnWordsOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []report.Cause{report.CauseDeclaration, report.CauseDrift, report.CauseStart, report.CauseEvent} {
		if got, err := report.ParseCause(string(c)); err != nil || got != c {
			t.Errorf("%s: %s, %v", c, got, err)
		}
	}
	for _, o := range []report.Outcome{report.OutcomeApplied, report.OutcomeFailed, report.OutcomeConfirming} {
		if got, err := report.ParseOutcome(string(o)); err != nil || got != o {
			t.Errorf("%s: %s, %v", o, got, err)
		}
	}
	for _, s := range states() {
		if got, err := report.ParseState(string(s)); err != nil || got != s {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	for _, word := range []string{"", "OK", "ok ", "fine"} {
		_, a := report.ParseCause(word)
		_, b := report.ParseOutcome(word)
		_, c := report.ParseState(word)
		if a == nil || b == nil || c == nil {
			t.Errorf("%q was taken", word)
		}
	}
}

func states() []report.State {
	return []report.State{
		report.StateOK, report.StateChanged, report.StateDiffers, report.StateWaiting, report.StateFailed, report.StateBlocked, report.StateRemoved,
	}
}
