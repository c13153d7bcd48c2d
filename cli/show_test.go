package cli

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/cli/folder"
	"noxmesh/document"
	"noxmesh/internal/term"
	"noxmesh/inventory"
	"noxmesh/plan"
	"noxmesh/report"
	"noxmesh/status"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

const (
	long    = "gateway-of-the-second-floor.berlin.example.org"
	sayings = "replace \"/etc/site.conf\": a directory is there that holds in-the-way, which the host did not make"
)

// mixed is a mesh in which everything that status can say is so.
func mixed() status.Status {
	commit := strings.Repeat("3f1c2ab", 5) + "00000"
	built := &status.Built{Build: "sha256:" + strings.Repeat("b", 64), Commit: commit, Current: true, Verdict: "fit", At: ago(time.Hour)}
	unfit := *built
	unfit.Verdict = "unfit"
	source := status.Source{Ref: "refs/heads/main", Commit: commit, State: "read"}
	refused := "module.json:3:3: at provide: unknown key \"provide\"; did you mean \"provides\"?\nmodule.json:4:17: at resources[0]: \x1b[2Jadd it"
	return status.Status{
		At: noon,
		Modules: []status.Module{
			{
				Module: "site", Source: source, Built: built, Declared: 4, Applied: 1, Outstanding: 2, Failed: 1, Assigned: 4,
				Nodes: []status.On{
					{Name: "alpha", Commit: commit, Standing: inventory.Applied, At: ago(time.Minute), LastSeen: ago(time.Second)},
					{Name: long, Commit: commit, Standing: inventory.Failed, Why: "site/conf: " + sayings},
					{Name: "gamma", Commit: commit, Standing: inventory.Outstanding, LastSeen: ago(3 * time.Hour)},
					{Name: "theta", Commit: commit, Standing: inventory.Outstanding, LastSeen: ago(time.Second), Finding: "two machines say that they are it: let the right one join anew"},
				},
			},
			{
				Module: "board-with-a-name-that-goes-on", Source: source, Built: &unfit,
				Waiting: []status.Waiting{{For: "a new commit: its tests failed", Since: ago(time.Hour)}, {For: "a builder"}},
				Building: &status.Building{
					Request: "6b1e09c2aa315b1e09c2aa31", Builder: "forge", Since: ago(2 * time.Minute), Step: "test", StepSince: ago(time.Minute),
					Usual: &status.Usual{Builds: 9, Took: 150_000, Steps: []status.Step{{Step: "test", Took: 71_000}}},
				},
				Finding: "two builders made different things of one commit\n\x1b[31mred",
				Older:   []status.Older{{Commit: commit, Build: "sha256:" + strings.Repeat("a", 64), Nodes: 2}},
				Lost: []status.Lost{
					{Build: "sha256:" + strings.Repeat("a", 64), Commit: commit, Nodes: 2, Since: ago(2 * time.Hour), Says: "the last attempt to build it again: clone failed: the commit is gone\n\x1b[31m; mesh declare board puts another in its place"},
					{Build: "sha256:" + strings.Repeat("c", 64), Commit: strings.Repeat("c", 40), Mends: true, Says: "it is to be built again"},
				},
			},
			{
				Module: "dots", Source: status.Source{State: "module.json is refused", Why: refused, Since: ago(time.Hour)},
				Waiting: []status.Waiting{{For: "its source: module.json is refused: " + refused, Since: ago(time.Hour)}},
				Trouble: []status.Trouble{
					{Says: "source of \"dots\": module.json is refused: " + refused, Since: ago(time.Hour), Count: 31, Stuck: true},
					{Says: "another\nthing", Since: ago(time.Minute), Count: 1},
				},
			},
		},
		Nodes: []status.Node{
			{Name: "alpha", State: "applied", LastSeen: ago(time.Second), Modules: []string{"site"}, Drift: 2, ClockAhead: -3 * 86400},
			{
				Removal:   &status.Removal{Gone: 40, Of: 45, Digest: "sha256:" + strings.Repeat("3f", 32), Command: "mesh node allow " + long + " 3f3f3f3f3f3f"},
				Contested: []status.Contested{{Resource: "site/conf", Since: ago(time.Hour), Count: 12}},
				Name:      long, State: "failed", LastSeen: ago(time.Second), Modules: []string{"board-with-a-name-that-goes-on", "dots", "site"},
				Trouble: &status.Trouble{Says: sayings, Since: ago(26 * time.Hour), Count: 312, Stuck: true},
				Failing: []status.Failing{{Resource: "site/conf", State: "failed", Error: sayings + "\nand more"}, {Resource: "site/unit", State: "blocked"}},
			},
			{Name: "gamma", State: "out of date", LastSeen: ago(3 * time.Hour), Modules: []string{"site"}, NotWorkedOut: 1, Reasons: []plan.Reason{{Module: "site", Why: "requires \"light\", and no module provides it", Since: ago(2 * time.Hour)}}},
			{Name: "delta", State: "never told", Modules: []string{}},
			{Name: "epsilon", State: "quarantined", Finding: "it has accepted 3/9, which nobody has sent", Modules: []string{}, LastSeen: ago(time.Minute)},
			{Name: "eta", State: "applied", LastSeen: ago(time.Second), Modules: []string{}, Deaf: &status.Trouble{Says: "its hellos come, and no answer reaches it", Since: ago(3 * time.Minute), Count: 3, Stuck: true}},
			{Name: "iota", State: "outstanding", LastSeen: ago(time.Second), Modules: []string{}, Host: "2.0.0", Outcome: string(report.OutcomeConfirming)},
			{
				Name: "theta", State: "failed", LastSeen: ago(time.Second), Modules: []string{"hosts"}, Host: "1.9.0", Outcome: string(report.OutcomeFailed),
				Failing: []status.Failing{{Resource: "hosts/host", State: "failed", Error: `look at "package nox-mesh-host": version 2.0.0 was rolled back here: it failed three times before it had completed one reconcile, at last because it ended with 1; version 1.9.0 runs; declare another version`}},
			},
			{
				Name: "zeta", State: "refused", Host: "1.3.0", NeedsHost: "1.4.0", Modules: []string{}, LastSeen: ago(time.Minute),
				Refused: `it says what this version of the host does not take: body.resources[0].type: "portal" is not a type that this host knows; zeta runs mesh-host 1.3.0: upgrade it to 1.4.0, or later`,
			},
		},
	}
}

func TestWhatAPersonSees(t *testing.T) {
	t.Parallel()
	st := mixed()
	one := st
	one.Modules, one.Nodes = st.Modules[:1], st.Nodes[:1]
	for name, show := range map[string]func(*shell){
		"status":     func(s *shell) { s.showStatus(st, false) },
		"status-one": func(s *shell) { s.showStatus(one, true) },
		"plan": func(s *shell) {
			s.showPlan(status.Plan{
				Name: long, Digest: "sha256:" + strings.Repeat("ab", 32), Behind: inventory.OutOfDate,
				Modules:   []status.PlanModule{{Module: "site", Commit: strings.Repeat("c", 40)}},
				Resources: []status.PlanResource{{ID: "site/pages", Type: "archive", Path: "/opt/site"}, {ID: "other/x", Type: "file", Path: "/x"}},
				LeftOut:   []plan.Reason{{Module: "dots", Why: "nothing provides \"light\""}},
			}, true, noon)
			s.showPlan(status.Plan{Name: "beta", Held: []plan.Reason{{Module: "site", Why: "two things\nstand against it", Since: ago(3 * time.Minute)}}}, false, noon)
			s.showPlan(status.Plan{Name: "gamma"}, false, noon)
		},
		"builds": func(s *shell) {
			s.showBuilds(api.BuildsOut{Builds: []api.BuildOut{
				{Request: "5b1e09c2aa315b1e09c2aa31", Module: "site", Commit: strings.Repeat("d", 40), State: "built", Verdict: "fit (no tests)", Asked: ago(time.Minute), Began: ago(50 * time.Second), Ended: ago(47 * time.Second)},
				{Request: "6b1e09c2aa315b1e09c2aa31", Module: "board-with-a-name-that-goes-on", Commit: strings.Repeat("e", 40), State: "failed", Step: "build", Why: "make: *** [Makefile:3: site] Error 1, and the words go on\nfor another line", Asked: ago(time.Hour)},
				{Request: "7", Module: "dots", State: "open", Asked: ago(0)},
				{Request: "8", Module: "dots", State: "built", Verdict: "fit", Build: "sha256:8", Asked: ago(time.Hour)},
				{Request: "9", Module: "dots", State: "built", Verdict: "fit", Build: "sha256:9", Provenance: "sha256:a", Asked: ago(time.Hour)},
			}, Removed: []api.RemovedOut{{Module: "site", Builds: 34, Logs: 2, At: ago(26 * time.Hour)}}}, "", noon)
			s.showBuilds(api.BuildsOut{Removed: []api.RemovedOut{{Module: "site", Builds: 34, At: ago(26 * time.Hour)}}}, "nothing has been built yet", noon)
			s.showCollected(api.CollectOut{Look: true, Lines: 34, Logs: 2, LogBytes: 5 << 20}, noon)
		},
		"build": func(s *shell) {
			s.showBuild(wholeBuild(), noon)
			s.showBuild(api.BuildShowOut{BuildOut: api.BuildOut{
				Request: "7b1e09c2aa315b1e09c2aa315b1e09c2", Module: "dots", Commit: strings.Repeat("e", 40), Platform: "linux/arm64", State: "leased",
				BuilderName: "forge", Asked: ago(time.Minute), Began: ago(50 * time.Second), Doing: &api.Doing{Step: "build", Since: ago(40 * time.Second)}, Own: true,
				Usual: &api.UsualOut{Builds: 1, Took: 62_000},
			}, Repository: "https://git.example.org/dots", Tree: strings.Repeat("7", 40), Attempt: 3, Lost: 2}, noon)
		},
		"module": func(s *shell) {
			s.showModule(api.ModuleShowOut{
				ModuleOut: api.ModuleOut{Module: "site", Repository: "https://git.example.org/web/site.git", Ref: "refs/heads/live", Folder: "site", Policy: "auto", AddedBy: "anna", AddedAt: ago(72 * time.Hour)},
				Status:    st.Modules[0], Summary: "A website", Provides: []string{"site"}, Requires: []string{"dots", "board"},
				Offers: []string{"domain"}, Claims: []string{"tcp:80"}, Capabilities: []string{"systemd"},
				Instances: []api.Instance{{Name: "db", Of: "postgres-database", GrantedBy: []string{"postgres"}}, {Name: "web", Of: "route"}},
				Grants:    []api.Grant{{Kind: "view", Says: "a page", Gives: []string{"url"}}},
				Writes: []api.Write{
					{Commit: strings.Repeat("f", 40), Nodes: []string{"gamma", "alpha"}, By: "policy auto", At: ago(time.Hour)},
					{Build: "sha256:" + strings.Repeat("a", 64), Nodes: []string{"alpha"}, By: "anna", At: ago(2 * time.Hour), Why: "the new one is\nslow"},
				},
			}, noon)
		},
		"node": func(s *shell) {
			s.showNode(api.NodeShowOut{
				NodeOut:  api.NodeOut{Node: st.Nodes[1], AddedAt: ago(time.Hour), JoinedAt: ago(time.Hour)},
				Accepted: "1/4", Assigned: []api.Assigned{{Module: "site", Settings: map[string]string{"port": "8081", "name": "one"}}},
				Resources: []api.Resource{{Resource: "site/pages", State: "changed", Found: "nothing"}, {Resource: "site/conf", State: "failed", Error: sayings, Found: "a directory"}},
				Facts: &report.Facts{OS: "linux", Arch: "amd64", Hostname: "beta", Capabilities: []string{"apt", "keeps-owner"}, Machine: &report.Machine{
					System: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.1.0-28-amd64", Virtual: "kvm", Memory: 4 << 30,
					Disks: []report.Disk{{Mount: "/", Type: "ext4", Size: 20 << 30}, {Mount: "/srv\x1b[2J", Type: "xfs", Size: 100 << 30}}, Addresses: []string{"10.0.0.5", "fd00::5"},
				}},
			}, noon)
			s.showNode(api.NodeShowOut{NodeOut: api.NodeOut{Node: st.Nodes[len(st.Nodes)-1], AddedAt: ago(time.Hour), JoinedAt: ago(time.Hour)}}, noon)
			s.showNode(api.NodeShowOut{NodeOut: api.NodeOut{Node: status.Node{Name: "eta", Node: "7xolo3uzzrxvs3t", State: "not joined"}, AddedAt: noon}}, noon)
		},
		"why": func(s *shell) {
			s.whyNode(api.WhyNode{Name: "zeta", Module: "raid", Belongs: true, Assigned: true, Build: "sha256:1", Stands: "has a check that runs a command, which the host of zeta (mesh-host 1.3.0) does not keep: upgrade it to 1.4.0, or later; one that keeps a folder and no machine never does"})
		},
		"secrets": func(s *shell) {
			s.showSecrets(api.SecretsOut{}, noon)
			one := api.SecretOut{Module: "board", Secret: "db-url", Name: "alpha", Needed: true, Version: 3, SetAt: ago(time.Hour), SetBy: "anna", Applied: 3}
			still, not, none, unneeded := one, one, one, one
			still.Name, still.Applied = "gateway-of-the-second-floor", 2
			not.Name, not.Applied = "beta", 0
			none.Name, none.Version, none.SetAt, none.SetBy, none.Applied = "gamma", 0, time.Time{}, "", 2
			unneeded.Name, unneeded.Needed, unneeded.Applied = "delta", false, 0
			s.showSecrets(api.SecretsOut{Secrets: []api.SecretOut{one, still, not, none, unneeded}}, noon)
			s.showSet(api.SecretSetOut{Module: "board", Secret: "db-url", Version: 4, Nodes: []string{"beta", "alpha"}, Without: []api.Keyless{{Name: "gamma", Why: "it has not joined, and has no key yet"}}}, true)
		},
		"lists": func(s *shell) {
			s.showNodeList(api.NodesOut{Nodes: []api.NodeOut{{Node: st.Nodes[0]}, {Node: st.Nodes[1]}, {Node: st.Nodes[len(st.Nodes)-1]}}}, noon)
			s.showNodeList(api.NodesOut{}, noon)
			s.showBuilders(api.BuildersOut{Builders: []api.BuilderOut{
				{Name: "forge", Builder: "abc", Platform: "linux/amd64", Version: "v1", LastSeen: ago(time.Second)},
				{Name: "other", Builder: "def", Platform: "linux/arm64", Version: "v1", LastSeen: ago(time.Second), Sandbox: "bwrap is not installed\nand more"},
				{Name: "new", Builder: "ghi"},
			}}, noon)
		},
	} {
		for where, width := range map[string]int{"-80": 80, "-pipe": 0} {
			t.Run(name+where, func(t *testing.T) {
				t.Parallel()
				s, out := screen(width)
				show(s)
				if s.failed != nil {
					t.Fatal(s.failed)
				}
				if strings.ContainsRune(out.String(), '\x1b') {
					t.Errorf("sent an escape: %q", out)
				}
				golden(t, name+where, out.String())
			})
		}
	}
}

// Colour stands beside words that say the same.
func TestColourSaysNothingOfItsOwn(t *testing.T) {
	t.Parallel()
	plain, a := screen(80)
	plain.showStatus(mixed(), true)
	coloured, b := screen(80)
	coloured.out.Colour = true
	coloured.showStatus(mixed(), true)
	text := b.String()
	for _, code := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"} {
		text = strings.ReplaceAll(text, code, "")
	}
	if diff := cmp.Diff(a.String(), text); diff != "" {
		t.Errorf("(-plain +coloured):\n%s", diff)
	}
	if a.String() == b.String() {
		t.Error("there is no colour")
	}
}

// leaves is every command that does something.
func leaves(c *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, sub := range c.Commands() {
		out = append(out, leaves(sub)...)
	}
	if takesArguments(c) && c.Name() != "help" {
		out = append(out, c)
	}
	return out
}

// Every command says what it does, how, by example, with the exit statuses, and
// what -o json prints; and it offers nothing wrong to a completing shell.
func TestEveryCommandIsWhole(t *testing.T) {
	t.Parallel()
	s, _ := screen(80)
	root := s.root()
	if s.failed != nil {
		t.Fatal(s.failed)
	}
	if n := len(leaves(root)); n < 25 {
		t.Errorf("only %d commands", n)
	}
	schemas := api.OpenAPI()["components"].(map[string]any)["schemas"].(map[string]any)
	for _, c := range leaves(root) {
		for what, there := range map[string]bool{
			"a summary": c.Short != "", "a check of its arguments": c.Args != nil, "completion": c.ValidArgsFunction != nil,
			"an example": c.Example != "" || !strings.Contains(c.Use, " "),
		} {
			if !there {
				t.Errorf("%s has not %s", c.CommandPath(), what)
			}
		}
		help := helpOf(c)
		if !strings.Contains(help, term.ExitHelp()) || !strings.Contains(help, c.UseLine()) {
			t.Errorf("the help of %s is not whole:\n%s", c.CommandPath(), help)
		}
		for line := range strings.Lines(help) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		prints := c.Annotations[answers]
		if _, known := schemas[prints]; !known && ownAnswers()[prints] == nil && !strings.Contains(prints, " ") {
			t.Errorf("%s prints %q, which is described nowhere", c.CommandPath(), prints)
		}
	}
}

// ownAnswers are what the program prints that comes from no controller.
func ownAnswers() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, t := range []reflect.Type{reflect.TypeFor[versions](), reflect.TypeFor[devUp](), reflect.TypeFor[folder.Checked](), reflect.TypeFor[folder.Drafted]()} {
		out[api.SchemaName(t)] = t
	}
	return out
}

// An answer with nothing in it has empty lists and no nulls, on its whole way
// from the controller to what is printed.
func TestNothingIsNull(t *testing.T) {
	t.Parallel()
	for _, row := range api.Table() {
		empty, err := document.Canonical(reflect.Zero(row.Out).Interface())
		if err != nil {
			t.Fatal(err)
		}
		out := reflect.New(row.Out)
		if err := json.Unmarshal(empty, out.Interface()); err != nil {
			t.Fatal(err)
		}
		s, text := screen(0)
		s.out.JSON = true
		s.show(out.Elem().Interface(), nil)
		if s.failed != nil || strings.Contains(text.String(), "null") {
			t.Errorf("%s prints %s, %v", row.Name, text, s.failed)
		}
	}
}

func TestWantsJSON(t *testing.T) {
	t.Parallel()
	for line, wanted := range map[string]bool{
		"": false, "status": false, "status -o json": true, "-o json status": true, "status -ojson": true, "status -o=json": true,
		"status --output json": true, "status --output=json": true, "status -o text": false, "status -o": false, "status -- -o json": false,
	} {
		if got := wantsJSON(strings.Fields(line)); got != wanted {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestWordsOfAProgram(t *testing.T) {
	t.Parallel()
	for log, wanted := range map[string][2]string{
		"":                {"", ""},
		"mesh-host: no\n": {"no", ""},
		"time=… msg=ready\nmesh-host: listen: in use\nmesh-host: hint: stop it\n": {"listen: in use", "stop it"},
		"mesh-host: hint: alone": {"", "alone"},
	} {
		says, hint := wordsOf("mesh-host", log)
		if got := [2]string{says, hint}; got != wanted {
			t.Errorf("%q: %q, want %q", log, got, wanted)
		}
	}
}

// A result that can't be written is a failure, and not a result.
func TestAResultThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := &shell{out: &term.Term{Name: "mesh", Out: full{}, Err: full{}}}
	s.showStatus(mixed(), true)
	if s.failed == nil {
		t.Error("it went unnoticed")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// wholeBuild is a build of which everything is known.
func wholeBuild() api.BuildShowOut {
	digest := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	return api.BuildShowOut{
		BuildOut: api.BuildOut{
			Request: "5b1e09c2aa315b1e09c2aa315b1e09c2", Module: "site", Commit: strings.Repeat("d", 40), Platform: "linux/amd64", State: "built",
			Verdict: "unfit", Build: digest("b"), Content: digest("c"), Builder: "n1", BuilderName: "forge", Asked: ago(time.Minute), Began: ago(50 * time.Second),
			Ended: ago(time.Second), Environment: digest("e"), Network: true, Provenance: digest("9"), Finding: "not reproducible\nat all\x1b[2J",
			Usual:     &api.UsualOut{Builds: 9, Took: 42_500, Steps: []api.StepOut{{Step: "build", Took: 2000}, {Step: "test", Took: 40_000}}},
			Steps:     []api.StepOut{{Step: "clone", Took: 120}, {Step: "build", Took: 2_540}, {Step: "test", Took: 75_000}},
			Artifacts: []api.ArtifactOut{{Name: "www", Type: "archive", Digest: digest("a"), Size: 5 << 20}, {Name: "unit", Type: "file", Digest: digest("f")}},
		},
		Repository: "https://git.example.org/web/site.git", Ref: "refs/heads/live", Folder: "site", Tree: strings.Repeat("7", 40), Attempt: 1,
		Image: "docker.io/library/golang", Tests: "failed", Closure: []api.InputOut{{Module: "lib", Artifact: "go", Digest: digest("1")}},
		Reproducible: "no", Checks: []api.CheckedOut{
			{BuildOut: api.BuildOut{Request: "9b1e09c2aa315b1e09c2aa31", State: "built", BuilderName: "other", Ended: ago(time.Hour)}, Made: digest("9"), Differences: []api.Difference{
				{Artifact: "www", Type: "archive", Was: digest("a"), Is: digest("2"), Files: []api.FileDifference{{Path: "a/\x1bb", What: "other bytes"}}, More: 12},
				{Artifact: "more", Type: "archive", Is: digest("3"), Why: "there is no blob"},
			}},
			{BuildOut: api.BuildOut{Request: "8b1e09c2aa315b1e09c2aa31", State: "failed", Step: "clone", Why: "it is gone\nfor good", BuilderName: "other"}},
			{BuildOut: api.BuildOut{Request: "7b1e09c2aa315b1e09c2aa31", State: "built", BuilderName: "forge", Ended: ago(time.Minute)}, Made: digest("b"), Same: true},
		},
		Last: "== test\n$ make check\n\x1b[31mFAIL\n== publish took 12ms", LogHeld: 4321,
	}
}
