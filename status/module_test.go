package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/source"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/inventory"
	"noxmesh/status"
	"noxmesh/trouble"
)

func TestLine(t *testing.T) {
	t.Parallel()
	now := made("3f1c2ab/t=x", 5)
	old := made("1111111/t0=o", 3)
	gone := now
	gone.Gone = true
	for _, c := range []struct {
		name  string
		facts status.ModuleFacts
		line  string
		out   bool
		bad   bool
		nodes string
	}{
		{
			name: "it is out", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 3 · applied on 3", out: true,
			facts: facts(builds(now), on("n1 3f1c2ab/t applied", "n2 3f1c2ab/t applied", "n3 3f1c2ab/t applied")),
			nodes: "name-n1 3f1c2ab applied\nname-n2 3f1c2ab applied\nname-n3 3f1c2ab applied",
		},
		{
			name: "some are outstanding", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 5 · applied on 3, 2 outstanding",
			facts: facts(builds(now), on("n1 3f1c2ab/t applied", "n2 3f1c2ab/t applied", "n3 3f1c2ab/t applied", "n4 3f1c2ab/t nothing", "n5 3f1c2ab/t waiting")),
			nodes: "name-n1 3f1c2ab applied\nname-n2 3f1c2ab applied\nname-n3 3f1c2ab applied\nname-n4 3f1c2ab outstanding\nname-n5 3f1c2ab outstanding",
		},
		{
			name: "one has failed", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 2 · applied on 1, 1 failed", bad: true,
			facts: facts(builds(now), on("n1 3f1c2ab/t applied", "n2 3f1c2ab/t failed")),
			nodes: "name-n1 3f1c2ab applied\nname-n2 3f1c2ab failed site/pages: no space left on device",
		},
		{
			name: "one is outstanding and one has failed", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 3 · applied on 1, 1 outstanding, 1 failed", bad: true,
			facts: facts(builds(now), on("n1 3f1c2ab/t failed", "n2 3f1c2ab/t applied", "n3 3f1c2ab/t waiting")),
			nodes: "name-n1 3f1c2ab failed site/pages: no space left on device\nname-n2 3f1c2ab applied\nname-n3 3f1c2ab outstanding",
		},
		{
			name: "on none yet", line: "source 3f1c2ab · built from 3f1c2ab · fit (no tests) · declared on 1 · applied on 0, 1 outstanding",
			facts: facts(builds(judged(now, verdict.FitNoTests)), on("n1 3f1c2ab/t")), nodes: "name-n1 3f1c2ab outstanding",
		},
		{name: "nobody has looked", line: "source never looked · not built", facts: facts(func(f *status.ModuleFacts) { f.Delivery.Source = source.Source{} })},
		{
			name: "it cannot be read", line: "source unreachable · not built",
			facts: facts(func(f *status.ModuleFacts) { f.Delivery.Source = source.Source{State: source.Unreachable, Why: "off"} }),
		},
		{name: "not built", line: "source 3f1c2ab · not built", facts: facts(on("n1")), nodes: "name-n1"},
		{name: "not declared", line: "source 3f1c2ab · built from 3f1c2ab · fit · not declared", facts: facts(builds(now), on("n1", "n2")), nodes: "name-n1\nname-n2"},
		{name: "unfit", line: "source 3f1c2ab · built from 3f1c2ab · unfit · not declared", bad: true, facts: facts(builds(judged(now, verdict.Unfit)))},
		{name: "no verdict", line: "source 3f1c2ab · built from 3f1c2ab · outstanding · not declared", facts: facts(builds(judged(now, verdict.Outstanding)))},
		{
			name: "an older build is still declared", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 1 · applied on 1 · 1111111 still declared on 2",
			facts: facts(builds(now, old), on("n1 1111111/t0 applied", "n2 1111111/t0 failed", "n3 3f1c2ab/t applied")),
			nodes: "name-n1 1111111 applied\nname-n2 1111111 failed site/pages: no space left on device\nname-n3 3f1c2ab applied",
		},
		{
			name: "several older builds, the newest first", line: "source 3f1c2ab · built from 3f1c2ab · fit · not declared · 1111111 still declared on 1 · 0000000 still declared on 1",
			facts: facts(builds(made("0/t9=q", 1), now, old), on("n1 0/t9 applied", "n2 1111111/t0 applied")),
			nodes: "name-n1 0000000 applied\nname-n2 1111111 applied",
		},
		{
			name:  "a commit that was built twice, since what it is built against has moved",
			line:  "source 3f1c2ab · built from 3f1c2ab (build " + short("3f1c2ab/t") + ") · fit · declared on 1 · applied on 1 · 3f1c2ab (build " + short("3f1c2ab/against-old") + ") still declared on 1 · 1111111 still declared on 1",
			facts: facts(builds(now, made("3f1c2ab/against-old=w", 4), old), on("n1 3f1c2ab/t applied", "n2 3f1c2ab/against-old applied", "n3 1111111/t0 applied")),
			nodes: "name-n1 3f1c2ab applied\nname-n2 3f1c2ab applied\nname-n3 1111111 applied",
		},
		{
			name: "an older commit that was built twice", line: "source 3f1c2ab · built from 3f1c2ab · fit · not declared · 1111111 (build " + short("1111111/again") + ") still declared on 1 · 1111111 (build " + short("1111111/t0") + ") still declared on 1",
			facts: facts(builds(now, made("1111111/again=w", 4), old), on("n1 1111111/t0 applied", "n2 1111111/again applied")),
			nodes: "name-n1 1111111 applied\nname-n2 1111111 applied",
		},
		{
			name: "a commit that was built twice, and is the same on a machine", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 1 · applied on 1", out: true,
			facts: facts(builds(now, made("3f1c2ab/against-old=x", 4)), on("n1 3f1c2ab/against-old applied")), nodes: "name-n1 3f1c2ab applied",
		},
		{
			name: "the next commit is not built yet", line: "source 4444444 · built from 3f1c2ab · fit · declared on 1 · applied on 1",
			facts: facts(sourceAt("4444444/t4"), builds(now), on("n1 3f1c2ab/t applied")), nodes: "name-n1 3f1c2ab applied",
		},
		{
			name: "another commit with the same tree", line: "source 4444444 (= 3f1c2ab) · built from 3f1c2ab · fit · declared on 1 · applied on 1", out: true,
			facts: facts(sourceAt("4444444/t"), builds(now), on("n1 3f1c2ab/t applied")), nodes: "name-n1 3f1c2ab applied",
		},
		{
			name: "another commit that makes the same of it", line: "source 4444444 · built from 4444444 · fit · declared on 1 · applied on 1", out: true,
			facts: facts(sourceAt("4444444/t4"), builds(now, made("4444444/t4=x", 9)), on("n1 3f1c2ab/t applied")), nodes: "name-n1 4444444 applied",
		},
		{
			name: "a new node has nothing declared", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 1 · applied on 1",
			facts: facts(builds(now), on("n1 3f1c2ab/t applied", "n2")), nodes: "name-n1 3f1c2ab applied\nname-n2",
		},
		{
			name: "still declared where it no longer belongs", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 1 · applied on 1", out: true,
			facts: facts(builds(now, old), on("n1 3f1c2ab/t applied", "!n2 3f1c2ab/t failed", "!n3 1111111/t0 applied")), nodes: "name-n1 3f1c2ab applied",
		},
		{
			name: "it belongs nowhere", line: "source 3f1c2ab · built from 3f1c2ab · fit · not declared",
			facts: facts(builds(now), on("!n2 3f1c2ab/t applied")),
		},
		{
			name: "the source cannot be read any more", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 1 · applied on 1",
			facts: facts(func(f *status.ModuleFacts) {
				f.Delivery.Source.State, f.Delivery.Source.Why = source.Unreachable, "off"
			}, builds(now), on("n1 3f1c2ab/t applied")),
			nodes: "name-n1 3f1c2ab applied",
		},
		{
			name: "the build is gone from the registry", line: "source 3f1c2ab · built from 3f1c2ab · fit · declared on 1 · applied on 1",
			facts: facts(builds(gone), on("n1 3f1c2ab/t applied")), nodes: "name-n1 3f1c2ab applied",
		},
		{
			name: "by name, whatever the ids", line: "source 3f1c2ab · built from 3f1c2ab · fit · not declared",
			facts: facts(builds(now), on("n1", "n2"), func(f *status.ModuleFacts) {
				n := f.Nodes["n1"]
				n.Name = "zebra"
				f.Nodes["n1"] = n
			}),
			nodes: "name-n2\nzebra",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := status.OfModule(c.facts, at(60))
			if m.Line() != c.line {
				t.Errorf("it says\n%s\nwant\n%s", m.Line(), c.line)
			}
			if m.Out() != c.out || m.Bad() != c.bad {
				t.Errorf("out %v, want %v; bad %v, want %v", m.Out(), c.out, m.Bad(), c.bad)
			}
			if got := nodesOf(m); got != c.nodes {
				t.Errorf("the nodes\n%s\nwant\n%s", got, c.nodes)
			}
		})
	}
}

func short(build string) string { return digest(build).Short() }

// What is declared and nowhere to be had is said, and is bad where nobody but a person can mend it.
func TestOfModuleWhatIsLost(t *testing.T) {
	t.Parallel()
	lost := made("1111111/t0=o", 3)
	lost.Gone, lost.GoneAt = true, at(50)
	asked := delivery.Asked{ID: "one", Closure: artifact.Of(lost), Attempt: 1, State: delivery.Done, Since: at(3), Outcome: build.OutcomeBuilt}
	with := func(all ...delivery.Asked) change {
		return func(f *status.ModuleFacts) { f.Delivery.Asked = append([]delivery.Asked{asked}, all...) }
	}
	failed := asked
	failed.Attempt, failed.Since, failed.Outcome, failed.Step, failed.Why = 2, at(59), build.OutcomeFailed, build.StepClone, "the commit is gone"
	f := func(more change) status.ModuleFacts {
		return facts(builds(made("3f1c2ab/t=x", 5), lost), on("n1 1111111/t0 applied", "n2 3f1c2ab/t applied"), more)
	}
	m := status.OfModule(f(with()), at(60))
	want := []status.Lost{{Build: string(lost.ID), Commit: commit("1111111"), Nodes: 1, Since: at(50), Mends: true, Says: "it is to be built again"}}
	if d := cmp.Diff(want, m.Lost); d != "" || m.Bad() {
		t.Errorf("bad %v %s", m.Bad(), d)
	}
	m = status.OfModule(f(with(failed)), at(60))
	words := "build " + lost.ID.Short() + " of 1111111, declared on 1, is gone from the registry: the last attempt to build it again: clone failed: the commit is gone; mesh declare site puts another in its place"
	if len(m.Lost) != 1 || m.Lost[0].Words() != words || !m.Bad() {
		t.Errorf("bad %v: %+v, want %s", m.Bad(), m.Lost, words)
	}
	kept := status.OfModule(facts(builds(lost), with(failed), func(f *status.ModuleFacts) { f.Delivery.Writes = []delivery.Write{{ID: 1, Build: lost.ID}} }), at(60))
	if len(kept.Lost) != 1 || !strings.Contains(kept.Lost[0].Words(), ", kept to go back to, ") || kept.Bad() {
		t.Errorf("bad %v: %+v", kept.Bad(), kept.Lost)
	}
}

func TestOfModuleWhole(t *testing.T) {
	t.Parallel()
	b := made("3f1c2ab/t=x", 5)
	b.Finding = "not reproducible"
	stuck := trouble.Trouble{Key: "source/site", Says: "no route", Since: at(4), Count: 3, Last: at(5)}
	f := facts(builds(b), on("n1 3f1c2ab/t applied", "n2"), func(f *status.ModuleFacts) { f.Trouble = []trouble.Trouble{stuck} })
	want := status.Module{
		Module: "site", Policy: "manual",
		Source: status.Source{Ref: "refs/heads/main", Commit: commit("3f1c2ab"), State: "read", Since: at(1), LookedAt: at(2)},
		Built: &status.Built{
			Build: string(digest("3f1c2ab/t")), Content: string(digest("x")), Commit: commit("3f1c2ab"), Current: true, Verdict: "fit", At: at(5),
		},
		Declared: 1, Applied: 1, Assigned: 2, Finding: "not reproducible",
		Nodes: []status.On{
			{Node: "n1", Name: "name-n1", Commit: commit("3f1c2ab"), Build: string(digest("3f1c2ab/t")), Standing: inventory.Applied, At: at(6), LastSeen: at(7)},
			{Node: "n2", Name: "name-n2", LastSeen: at(7)},
		},
		Waiting: []status.Waiting{{For: "somebody to declare it: mesh declare site", Since: at(5)}},
		Trouble: []status.Trouble{{Says: "no route", Since: at(4), Count: 3, Stuck: true}},
	}
	if d := cmp.Diff(want, status.OfModule(f, at(60))); d != "" {
		t.Error(d)
	}
}

func TestOfModuleBuildThatFails(t *testing.T) {
	t.Parallel()
	failed := func(attempts int) change {
		return func(f *status.ModuleFacts) {
			for i := range attempts {
				f.Delivery.Asked = append(f.Delivery.Asked, delivery.Asked{
					Closure: artifact.Closure{Tree: "t", Platform: platform}, Attempt: int64(i + 1), State: delivery.Done,
					Since: at(10 * i), Outcome: build.OutcomeFailed, Step: build.StepBuild, Why: "exit 1",
				})
			}
		}
	}
	for attempts, stuck := range map[int]bool{1: false, 2: false, 3: true, 4: true} {
		m := status.OfModule(facts(failed(attempts)), at(10*attempts))
		want := []status.Trouble{{Says: "build failed: exit 1", Since: at(0), Count: int64(attempts), Stuck: stuck}}
		if d := cmp.Diff(want, m.Trouble); d != "" || m.Bad() != stuck {
			t.Errorf("after %d: bad %v\n%s", attempts, m.Bad(), d)
		}
	}
	if m := status.OfModule(facts(failed(3), builds(made("3f1c2ab/t=x", 40))), at(60)); len(m.Trouble) > 0 || m.Bad() {
		t.Errorf("it was built since, and is in trouble: %+v", m.Trouble)
	}
}

func TestOfModuleSinceWhen(t *testing.T) {
	t.Parallel()
	m := status.OfModule(facts(func(f *status.ModuleFacts) { f.Delivery.Source = source.Source{} }), at(60))
	if !m.Source.Since.Equal(at(0)) || len(m.Waiting) != 1 || !m.Waiting[0].Since.Equal(at(0)) {
		t.Errorf("nobody has looked since %v: %+v", m.Source.Since, m.Waiting)
	}
}

// TestOutIsExact: out is said if and only if the source is read and every node
// that the module belongs on has read back just what was built of it.
func TestOutIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		contents := map[string]string{"3f1c2ab/t": "x", "4444444/t": "y", "1111111/t0": "x", "2222222/t0": "z"}
		f := facts(sourceAt(rapid.SampledFrom([]string{"3f1c2ab/t", "5555555/t", "1111111/t0", "6666666/t6"}).Draw(t, "source")))
		if rapid.IntRange(0, 4).Draw(t, "unreachable") == 0 {
			f.Delivery.Source.State = source.Unreachable
		}
		all := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"3f1c2ab/t", "4444444/t", "1111111/t0", "2222222/t0"}), 1, 4, rapid.ID[string]).Draw(t, "builds")
		for i, name := range all {
			builds(made(name+"="+contents[name], i))(&f)
		}
		for _, id := range []string{"n1", "n2", "n3"} {
			text := rapid.SampledFrom([]string{"", "!"}).Draw(t, "belongs") + id
			if rapid.IntRange(0, 3).Draw(t, "declared") > 0 {
				text += " " + rapid.SampledFrom(all).Draw(t, "build") + " " + rapid.SampledFrom([]string{"applied", "applied", "applied", "failed", "waiting", "nothing"}).Draw(t, "report")
			}
			on(text)(&f)
		}
		m := status.OfModule(f, at(60))

		current := delivery.CurrentBuild(f.Delivery)
		want := f.Delivery.Source.State == source.Read && current != nil && len(f.Delivery.Nodes) > 0
		contentOf := map[document.Digest]document.Digest{}
		for _, b := range f.Delivery.Builds {
			contentOf[b.ID] = b.Content
		}
		for _, id := range f.Delivery.Nodes {
			r := f.Nodes[id].Report
			want = want && r != nil && r.Outcome == "applied" && r.Resources[0].State == "ok" && r.Modules[0].Content == current.Content &&
				contentOf[f.Delivery.Declared[id]] == current.Content
		}
		if m.Out() != want {
			t.Fatalf("out is %v, want %v\n%s\n%s", m.Out(), want, m.Line(), nodesOf(m))
		}
		if m.Declared != m.Applied+m.Outstanding+m.Failed || m.Assigned != len(f.Delivery.Nodes) || len(m.Nodes) != m.Assigned {
			t.Fatalf("%+v", m)
		}
		older := 0
		for _, o := range m.Older {
			older += o.Nodes
		}
		if m.Declared+older > m.Assigned {
			t.Fatalf("declared on %d, others on %d, and it belongs on %d", m.Declared, older, m.Assigned)
		}
	})
}

// TestOfModuleDoesNotDependOnOrder: every list of the facts is a set.
func TestOfModuleDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := []artifact.Build{made("3f1c2ab/t=x", 5), made("4444444/t=y", 5), made("1111111/t0=x", 3), made("2222222/t0=z", 3)}
		f := facts(builds(rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 4, func(b artifact.Build) document.Digest { return b.ID }).Draw(t, "builds")...))
		for _, id := range []string{"n1", "n2", "n3"} {
			b := rapid.SampledFrom(f.Delivery.Builds).Draw(t, "build").Manifest.Built
			on(id + " " + b.Commit[:7] + "/" + b.Tree + " applied")(&f)
		}
		g := f
		g.Delivery.Builds = rapid.Permutation(f.Delivery.Builds).Draw(t, "builds again")
		g.Delivery.Nodes = rapid.Permutation(f.Delivery.Nodes).Draw(t, "nodes again")
		if d := cmp.Diff(status.OfModule(f, at(60)), status.OfModule(g, at(60))); d != "" {
			t.Fatal(d)
		}
	})
}

func TestShortCommit(t *testing.T) {
	t.Parallel()
	for c, want := range map[string]string{"": "", "3f1c2": "3f1c2", "3f1c2ab": "3f1c2ab", strings.Repeat("a", 64): "aaaaaaa"} {
		if got := status.ShortCommit(c); got != want {
			t.Errorf("%q is %q", c, got)
		}
	}
}

func TestTroubleOf(t *testing.T) {
	t.Parallel()
	if got := status.TroubleOf(trouble.Trouble{}); got != nil {
		t.Errorf("no trouble is %+v", got)
	}
	for count, stuck := range map[int64]bool{1: false, 2: false, 3: true, 100: true} {
		got := status.TroubleOf(trouble.Trouble{Key: "k", Fingerprint: "f", Says: "s", Since: at(1), Count: count, Last: time.Time{}})
		if d := cmp.Diff(&status.Trouble{Says: "s", Since: at(1), Count: count, Stuck: stuck}, got); d != "" {
			t.Error(d)
		}
	}
}

// I8: a module that was added a moment ago waits too, and says for what.
func TestASourceNobodyHasLookedAtSaysSo(t *testing.T) {
	t.Parallel()
	m := status.OfModule(facts(func(f *status.ModuleFacts) {
		f.Delivery.Source, f.Delivery.AddedAt = source.Source{}, at(3)
	}), at(60))
	if m.Source.Why != "the controller has not looked at it yet" || !m.Source.Since.Equal(at(3)) {
		t.Errorf("it says %q since %s", m.Source.Why, m.Source.Since)
	}
}

// A node's quarantine is said where a person looks for the module that waits on
// it, whatever the node has applied before.
func TestAQuarantinedNodeIsSaidOfItsModules(t *testing.T) {
	t.Parallel()
	f := facts(builds(made("3f1c2ab/t=x", 5)), on("n1 3f1c2ab/t applied", "n2 3f1c2ab/t", "n3 3f1c2ab/t applied", "n4 3f1c2ab/t applied"))
	twins, astray := "two machines say that they are it", "has accepted 7/43, which this record never issued"
	for id, say := range map[string]func(*inventory.Node){
		"n1": func(n *inventory.Node) { n.Twins = twins },
		"n2": func(n *inventory.Node) { n.Finding = astray },
		"n3": func(n *inventory.Node) { n.Twins, n.Finding = twins, astray },
	} {
		n := f.Nodes[id]
		say(&n)
		f.Nodes[id] = n
	}
	var got []string
	for _, on := range status.OfModule(f, time.Now()).Nodes {
		got = append(got, on.Name+" "+string(on.Standing)+" "+on.Finding)
	}
	want := []string{"name-n1 applied " + twins, "name-n2 outstanding " + astray, "name-n3 applied " + twins, "name-n4 applied "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
