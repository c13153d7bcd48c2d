package delivery_test

import (
	"slices"
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
)

// drawFacts is a record as it could be: a few trees, contents and nodes, so that
// most of it has something to do with the rest.
func drawFacts(t *rapid.T) delivery.Facts {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	f := facts()
	f.Policy = delivery.Policy(pick("policy", "manual", "auto", "auto"))
	f.Source = read(pick("commit", "c1", "c2") + "/" + pick("tree", "t1", "t2"))
	if state := rapid.SampledFrom(source.States()).Draw(t, "state"); state != source.Read && rapid.Bool().Draw(t, "not read") {
		f.Source = unread(f.Source, state, "why")
		if state == source.NeverLooked {
			f.Source = source.Source{}
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "builds") {
		b := made(pick("made of", "c1", "c2", "c3")+"/"+pick("its tree", "t1", "t2", "t3")+"="+pick("content", "x", "y", "z"), rapid.IntRange(1, 5).Draw(t, "made at"))
		b.Verdict = rapid.SampledFrom([]verdict.Verdict{verdict.Fit, verdict.Fit, verdict.FitNoTests, verdict.Unfit, verdict.Outstanding}).Draw(t, "verdict")
		b.Gone = rapid.IntRange(0, 3).Draw(t, "gone") == 0
		if !slices.ContainsFunc(f.Builds, func(other artifact.Build) bool { return other.ID == b.ID }) {
			f.Builds = append(f.Builds, b)
		}
	}
	for _, tree := range []string{"t1", "t2"} {
		for attempt := range rapid.IntRange(0, 3).Draw(t, "attempts at "+tree) {
			a := asked(tree, int64(attempt+1), rapid.SampledFrom([]delivery.AskState{delivery.Done, delivery.Done, delivery.Open, delivery.Leased, delivery.Withdrawn}).Draw(t, "asked"), rapid.IntRange(1, 9).Draw(t, "since"))
			a.Builder = pick("builder", "b1", "b2")
			if a.State == delivery.Done {
				a.Outcome = build.Outcome(pick("outcome", "built", "failed", "environment"))
			}
			f.Asked = append(f.Asked, a)
		}
	}
	nodes := []string{"n1", "n2", "n3"}
	f.Nodes = rapid.SliceOfNDistinct(rapid.SampledFrom(nodes), 0, 3, rapid.ID[string]).Draw(t, "nodes")
	if len(f.Builds) == 0 {
		return f
	}
	ids := func(b artifact.Build) document.Digest { return b.ID }
	known := rapid.Map(rapid.SampledFrom(f.Builds), ids)
	for _, n := range nodes {
		if rapid.Bool().Draw(t, n+" is declared") {
			f.Declared[n] = known.Draw(t, "declared on "+n)
		}
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "writes") {
		policy := rapid.Bool().Draw(t, "by policy")
		f.Writes = append(f.Writes, delivery.Write{
			ID: int64(i + 1), Build: known.Draw(t, "wrote"), Policy: policy, At: at(10 + i),
			Nodes: rapid.SliceOfNDistinct(rapid.SampledFrom(nodes), 1, 2, rapid.ID[string]).Draw(t, "wrote on"),
		})
	}
	return f
}

// modelBad is KnownBad by looking, for each person's write and node of it, for
// the last write on that node before it; and at each content, for what a person
// said of it last.
func modelBad(f delivery.Facts) map[document.Digest]bool {
	find := func(id document.Digest) artifact.Build {
		i := slices.IndexFunc(f.Builds, func(b artifact.Build) bool { return b.ID == id })
		return f.Builds[i]
	}
	bad := map[document.Digest]bool{}
	for _, w := range f.Writes { // drawn in the order of their ids
		for _, n := range w.Nodes {
			var before *artifact.Build
			for _, earlier := range f.Writes {
				if earlier.ID < w.ID && slices.Contains(earlier.Nodes, n) {
					b := find(earlier.Build)
					before = &b
				}
			}
			b := find(w.Build)
			if w.Policy || before == nil || before.Content == b.Content || !b.At.Before(before.At) {
				continue
			}
			taken := false
			for _, later := range f.Writes {
				taken = taken || later.ID > w.ID && !later.Policy && find(later.Build).Content == before.Content
			}
			bad[before.Content] = bad[before.Content] || !taken
		}
	}
	return bad
}

func TestCompareAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, now := drawFacts(t), at(rapid.IntRange(0, 40).Draw(t, "now"))
		d := delivery.Compare(f, now)
		for _, w := range d.Waiting {
			if w.For == "" || w.Since.IsZero() {
				t.Fatalf("it waits for %q, since %v", w.For, w.Since)
			}
		}
		if !d.Next.IsZero() && !d.Next.After(now) {
			t.Fatalf("to look again at %v, and it is %v", d.Next, now)
		}
		current := modelCurrent(f)
		if got := delivery.CurrentBuild(f); (got == nil) != (current == nil) || got != nil && got.ID != current.ID {
			t.Fatalf("current is %v, want %v", got, current)
		}
		if got, want := d.Ask != nil, modelAsks(f, now); got != want {
			t.Fatalf("asks: %v, want %v\n%s", got, want, says(d))
		}
		if d.Ask != nil && (d.Ask.Commit != f.Source.Commit || d.Ask.Closure.Tree != f.Source.Tree) {
			t.Fatalf("it asks for %+v", d.Ask)
		}
		modelDeclares(t, f, d, current)
		for _, a := range f.Asked {
			is := slices.ContainsFunc(d.Withdraw, func(w delivery.Withdrawal) bool { return w.ID == a.ID })
			moved := a.State == delivery.Open && f.Source.Commit != "" && (a.Closure.Tree != f.Source.Tree || current != nil)
			if want := moved && !modelLost(f, a.Closure.Tree); is != want {
				t.Fatalf("%s withdrawn: %v, want %v", a.ID, is, want)
			}
		}
		// Nothing is lost: what is not as it should be has a step or a reason.
		for _, n := range f.Nodes {
			done := current != nil && contentOf(f, f.Declared[n]) == current.Content
			if !done && d.Ask == nil && d.Declare == nil && len(d.Waiting) == 0 {
				t.Fatalf("on %s something else is declared than %v, and nobody says why", n, current)
			}
		}
	})
}

// modelLost reports whether a build of this tree is named, gone and to be made again.
func modelLost(f delivery.Facts, tree string) bool {
	lost := false
	for _, b := range f.Builds {
		if b.Manifest.Built.Tree == tree && !b.Gone {
			return false
		}
		named := slices.ContainsFunc(f.Nodes, func(n string) bool { return f.Declared[n] == b.ID }) ||
			slices.ContainsFunc(f.Writes, func(w delivery.Write) bool { return w.Build == b.ID })
		held := slices.ContainsFunc(f.Builds, func(o artifact.Build) bool { return !o.Gone && o.Content == b.Content })
		lost = lost || b.Manifest.Built.Tree == tree && named && !held
	}
	return lost
}

func contentOf(f delivery.Facts, id document.Digest) document.Digest {
	for _, b := range f.Builds {
		if b.ID == id {
			return b.Content
		}
	}
	return ""
}

func modelCurrent(f delivery.Facts) *artifact.Build {
	var all []artifact.Build
	for _, b := range f.Builds {
		if !b.Gone && f.Source.Commit != "" && b.Manifest.Built.Tree == f.Source.Tree {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b artifact.Build) int { return b.At.Compare(a.At) })
	best := slices.MaxFunc(all, func(a, b artifact.Build) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return &best
}

func modelAsks(f delivery.Facts, now time.Time) bool {
	if f.Source.Commit == "" || modelCurrent(f) != nil {
		return false
	}
	var last *delivery.Asked
	for i, a := range f.Asked {
		if a.Closure.Tree != f.Source.Tree {
			continue
		}
		if a.State == delivery.Open || a.State == delivery.Leased {
			return false // never twice at the same time
		}
		if last == nil || a.Attempt > last.Attempt {
			last = &f.Asked[i]
		}
	}
	switch {
	case last == nil:
		return true
	case last.State == delivery.Withdrawn:
		return false
	case last.Attempt == 1 && last.Outcome == build.OutcomeBuilt:
		for _, b := range f.Builds {
			if b.Manifest.Built.Tree == f.Source.Tree {
				return true // it is gone
			}
		}
	}
	due, wait := last.Since.Add(time.Minute<<(last.Attempt-1)), time.Minute<<(last.Attempt-1)
	return !now.Before(due) || due.Sub(now) > wait
}

func modelDeclares(t *rapid.T, f delivery.Facts, d delivery.Difference, current *artifact.Build) {
	var want []string
	if current != nil && f.Policy == delivery.Auto && (current.Verdict == verdict.Fit || current.Verdict == verdict.FitNoTests) && !modelBad(f)[current.Content] {
		for _, n := range f.Nodes {
			if f.Declared[n] != current.ID {
				want = append(want, n)
			}
		}
	}
	slices.Sort(want)
	if d.Declare == nil {
		if len(want) > 0 {
			t.Fatalf("it declares nothing, want %s on %v", current.ID.Short(), want)
		}
		return
	}
	if d.Declare.Build != current.ID || !slices.Equal(d.Declare.Nodes, want) {
		t.Fatalf("it declares %+v, want %s on %v", d.Declare, current.ID.Short(), want)
	}
}

func TestKnownBadAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		got := map[document.Digest]bool{}
		for content := range delivery.KnownBad(f) {
			got[content] = true
		}
		want := modelBad(f)
		for content, bad := range want {
			if !bad {
				delete(want, content)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

// take is what becomes of the facts when a difference's steps are taken.
func take(f delivery.Facts, d delivery.Difference, now time.Time) delivery.Facts {
	for _, w := range d.Withdraw {
		f.Asked = slices.Clone(f.Asked)
		i := slices.IndexFunc(f.Asked, func(a delivery.Asked) bool { return a.ID == w.ID })
		f.Asked[i].State, f.Asked[i].Why, f.Asked[i].Since = delivery.Withdrawn, w.Why, now
	}
	if d.Ask != nil {
		f.Asked = append(slices.Clone(f.Asked), delivery.Asked{ID: "new", Closure: d.Ask.Closure, Attempt: d.Ask.Attempt, State: delivery.Open, Since: now})
	}
	if d.Declare != nil {
		declared := map[string]document.Digest{}
		for n, b := range f.Declared {
			declared[n] = b
		}
		for _, n := range d.Declare.Nodes {
			declared[n] = d.Declare.Build
		}
		f.Declared = declared
		f.Writes = append(slices.Clone(f.Writes), delivery.Write{ID: int64(len(f.Writes) + 1), Build: d.Declare.Build, Nodes: d.Declare.Nodes, Policy: true, At: now})
	}
	return f
}

// TestCompareStepsVanish: a step that was taken is not named again.
func TestCompareStepsVanish(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, now := drawFacts(t), at(rapid.IntRange(0, 40).Draw(t, "now"))
		if again := delivery.Compare(take(f, delivery.Compare(f, now), now), now); again.Ask != nil || again.Declare != nil || len(again.Withdraw) > 0 {
			t.Fatalf("taken, and still\n%s", says(again))
		}
	})
}

// TestCompareDoesNotDependOnOrder: every list of the facts is a set.
func TestCompareDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, now := drawFacts(t), at(rapid.IntRange(0, 40).Draw(t, "now"))
		f.Builders = []delivery.Builder{{ID: "b1", Name: "x", Platform: platform}, {ID: "b2", Name: "x", Platform: platform, Sandbox: "none"}}
		g := f
		g.Builds = rapid.Permutation(f.Builds).Draw(t, "builds")
		g.Asked = rapid.Permutation(f.Asked).Draw(t, "asked")
		g.Nodes = rapid.Permutation(f.Nodes).Draw(t, "nodes")
		g.Writes = rapid.Permutation(f.Writes).Draw(t, "writes")
		g.Builders = rapid.Permutation(f.Builders).Draw(t, "builders")
		if d := cmp.Diff(delivery.Compare(f, now), delivery.Compare(g, now)); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(delivery.FailingOf(f), delivery.FailingOf(g)); d != "" {
			t.Fatal(d)
		}
	})
}

// TestCompareConverges: whatever stands in the record, once builders do what they
// are asked, a module that a policy declares is out on all of its nodes after a
// few steps, or says what only a person or a commit can change.
func TestCompareConverges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, now := drawFacts(t), at(20)
		for range 10 {
			d := delivery.Compare(f, now)
			f = take(f, d, now)
			if !d.Next.IsZero() {
				now = d.Next
			}
			now = now.Add(time.Second)
			for i, a := range f.Asked {
				if a.State == delivery.Open || a.State == delivery.Leased {
					f.Asked = slices.Clone(f.Asked)
					f.Asked[i].State, f.Asked[i].Outcome, f.Asked[i].Since = delivery.Done, build.OutcomeBuilt, now
					f = answered(f, a, now)
				}
			}
		}
		d := delivery.Compare(f, now)
		if d.Ask != nil || d.Declare != nil || !d.Next.IsZero() {
			t.Fatalf("still\n%s", says(d))
		}
		current := delivery.CurrentBuild(f)
		for _, n := range f.Nodes {
			if (current == nil || f.Policy == delivery.Auto && contentOf(f, f.Declared[n]) != current.Content) && len(d.Waiting) == 0 {
				t.Fatalf("%s is declared on %s, and the current build is %v", f.Declared[n].Short(), n, current)
			}
		}
	})
}

// answered is the record after a builder has built what was asked: the same
// build is there again, as it was judged, or a new one is.
func answered(f delivery.Facts, a delivery.Asked, now time.Time) delivery.Facts {
	f.Builds = slices.Clone(f.Builds)
	for i, b := range f.Builds {
		if b.Manifest.Built.Tree == a.Closure.Tree {
			f.Builds[i].Gone = false
			return f
		}
	}
	b := made("new/"+a.Closure.Tree+"=new", 0)
	b.At = now
	f.Builds = append(f.Builds, b)
	return f
}
