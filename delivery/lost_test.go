package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/manifest"
)

// madeWith lets a build be made against the library of another module.
func madeWith(b artifact.Build, module string) artifact.Build {
	b.Manifest.Built.Closure = []manifest.Input{{Module: module, Artifact: "lib", Digest: digest(module)}}
	return b
}

func lacking(build, what string) change {
	return func(f *delivery.Facts) { f.Lacking = map[document.Digest]string{digest(build): what} }
}

// lostWords is what is lost, one in a line.
func lostWords(f delivery.Facts, now int) string {
	var out []string
	for _, l := range delivery.LostOf(f, at(now)) {
		out = append(out, fmt.Sprintf("%s on %d: %s (mends: %v)", l.Build.Manifest.Built.Commit, len(l.On), l.Says, l.Mends))
	}
	return strings.Join(out, "\n")
}

func againWords(a *delivery.Again) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%s/%s attempt %d like %s", a.Commit, a.Closure.Tree, a.Attempt, a.Like)
}

func TestWhatIsLostIsNamedAndBuiltAgain(t *testing.T) {
	t.Parallel()
	lost, now := gone(made("c1/t1=x", 3)), made("c2/t2=y", 9)
	wasBuilt := ended("t1", 1, 3, build.OutcomeBuilt, "")
	both := func(change ...change) delivery.Facts {
		return facts(append([]func(*delivery.Facts){from(read("c2/t2")), builds(lost, now), nodes("n1", "n2"), on("n1=c1/t1", "n2=c2/t2"), requests(wasBuilt)}, change...)...)
	}
	instead := "; mesh declare site puts another in its place"
	library := madeWith(lost, "core")
	withLibrary := wasBuilt
	withLibrary.Closure = artifact.Of(library)
	for _, c := range []struct {
		name  string
		facts delivery.Facts
		now   int
		says  string
		again string
	}{
		{name: "it is there", facts: both(func(f *delivery.Facts) { f.Builds[0].Gone = false })},
		{name: "nothing names it", facts: facts(from(read("c2/t2")), builds(lost, now), requests(wasBuilt))},
		{name: "it is declared where the module does not belong", facts: both(nodes("n2"))},
		{name: "declared", facts: both(), says: "c1 on 1: it is to be built again (mends: true)", again: "c1/t1 attempt 2 like t1-1"},
		{
			name: "kept to go back to", facts: both(nodes(), wrote(1, 4, "anna: c1/t1 on n1")),
			says: "c1 on 0: it is to be built again (mends: true)", again: "c1/t1 attempt 2 like t1-1",
		},
		{name: "kept to go back to, and collected while the module was away", facts: both(nodes(), wrote(1, 4, "anna: c1/t1 on n1"), func(f *delivery.Facts) { f.Builds[0].Collected = at(5) })},
		{
			name: "asked for", facts: both(requests(asked("t1", 2, delivery.Open, 10))), now: 11,
			says: "c1 on 1: it is to be built again, and waits for a builder for linux/amd64 (mends: true)",
		},
		{
			name: "under way", facts: both(requests(func() delivery.Asked { a := asked("t1", 2, delivery.Leased, 10); a.Builder = "b1"; return a }())), now: 11,
			says: "c1 on 1: it is being built again on builder forge (mends: true)",
		},
		{
			name: "its commit is gone", facts: both(requests(ended("t1", 2, 10, build.OutcomeFailed, "clone: no commit c1"))), now: 11,
			says: "c1 on 1: the last attempt to build it again: clone failed: no commit c1" + instead + " (mends: false)",
		},
		{
			name: "and tried once more", facts: both(requests(ended("t1", 2, 10, build.OutcomeFailed, "clone: no commit c1"))), now: 20,
			says: "c1 on 1: it is to be built again (mends: true)", again: "c1/t1 attempt 3 like t1-2",
		},
		{
			name: "the builder could not", facts: both(requests(ended("t1", 2, 10, build.OutcomeEnvironment, "disk full"))), now: 11,
			says: "c1 on 1: the last attempt to build it again: the builder could not: disk full (mends: true)",
		},
		{
			name: "somebody has cancelled that", facts: both(requests(func() delivery.Asked {
				a := asked("t1", 2, delivery.Withdrawn, 10)
				a.Why = "cancelled by anna"
				return a
			}())), now: 60,
			says: "c1 on 1: it is not built again: the build was withdrawn, cancelled by anna" + instead + " (mends: false)",
		},
		{
			name: "what was made of it again is other bytes", facts: both(builds(made("c0/t1=z", 12))), now: 20,
			says: "c1 on 1: build " + digest("c0/t1").Short() + " was made of the same, and is not the same bytes; mesh declare site --build " + digest("c0/t1").Short() + " puts another in its place (mends: false)",
		},
		{name: "another holds the same bytes", facts: both(builds(made("c3/t3=x", 12))), now: 20},
		{
			name: "the record has forgotten how", facts: facts(from(read("c2/t2")), builds(lost, now), nodes("n1"), on("n1=c1/t1")),
			says: "c1 on 1: it cannot be built again, since the record no longer says how it was asked for" + instead + " (mends: false)",
		},
		{
			name: "so is what it is built against", facts: facts(from(read("c2/t2")), builds(library, now), nodes("n1"), on("n1=c1/t1"), requests(withLibrary), lacking("c1/t1", "lib of core")),
			says: "c1 on 1: it cannot be built again: lib of core, which it is built against, is gone from the registry too" + instead + " (mends: false)",
		},
		{
			name: "what is to be built now goes first", facts: facts(from(read("c2/t2")), builds(lost), nodes("n1"), on("n1=c1/t1"), requests(wasBuilt)),
			says: "c1 on 1: it is to be built again (mends: true)",
		},
		{
			name: "one after the other, what is declared first", now: 20,
			facts: both(builds(gone(made("c0/t0=w", 20))), requests(ended("t0", 1, 2, build.OutcomeBuilt, "")), wrote(1, 1, "anna: c0/t0 on n1")),
			says:  "c1 on 1: it is to be built again (mends: true)\nc0 on 0: it is to be built again (mends: true)", again: "c1/t1 attempt 2 like t1-1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := lostWords(c.facts, c.now); got != c.says {
				t.Errorf("it says\n%s\nwant\n%s", got, c.says)
			}
			d := delivery.Compare(c.facts, at(c.now))
			if got := againWords(d.Again); got != c.again {
				t.Errorf("built again: %q, want %q", got, c.again)
			}
			for _, w := range d.Withdraw {
				t.Errorf("%s is withdrawn: %s", w.ID, w.Why)
			}
		})
	}
}

// An attempt that is not due yet is looked at again when it is.
func TestALostBuildIsTriedAgainInTime(t *testing.T) {
	t.Parallel()
	f := facts(builds(gone(made("c0/t0=x", 3)), made("c1/t1=y", 4)), nodes("n1"), on("n1=c0/t0"),
		requests(ended("t0", 1, 3, build.OutcomeBuilt, ""), ended("t0", 2, 10, build.OutcomeFailed, "clone: no commit")))
	if d := delivery.Compare(f, at(11)); d.Again != nil || !d.Next.Equal(at(12)) {
		t.Errorf("again %+v, next %s", d.Again, minute(d.Next))
	}
	if d := delivery.Compare(f, at(12)); d.Again == nil {
		t.Error("it is due, and not asked for")
	}
}

func TestLostAgainstTheRules(t *testing.T) {
	t.Parallel()
	drawn := rapid.Custom(func(t *rapid.T) (f lostFacts) {
		f.Facts, f.now = drawFacts(t), at(rapid.IntRange(0, 40).Draw(t, "now"))
		if rapid.Bool().Draw(t, "nothing is under way") {
			f.Asked = slices.DeleteFunc(f.Asked, func(a delivery.Asked) bool { return a.State == delivery.Open || a.State == delivery.Leased })
			f.Asked = append(f.Asked, ended("t1", 9, 1, build.OutcomeBuilt, ""), ended("t3", 1, 1, build.OutcomeBuilt, ""))
		}
		return f
	})
	again := 0
	for n := range 500 { // the same ones each time; few of a hundred have anything to build again
		if checkLost(t, drawn.Example(n)) {
			again++
		}
	}
	if again < 5 {
		t.Errorf("only %d draws had anything to build again", again)
	}
	rapid.Check(t, func(t *rapid.T) { checkLost(t, drawn.Draw(t, "facts")) })
}

// lostFacts are facts of a module, and when they are looked at.
type lostFacts struct {
	delivery.Facts
	now time.Time
}

// checkLost holds facts against the rules, and reports whether anything is to be
// built again by them.
func checkLost(t rapid.TB, drawn lostFacts) bool {
	t.Helper()
	f, now := drawn.Facts, drawn.now
	d, all := delivery.Compare(f, now), delivery.LostOf(f, now)
	for _, l := range all {
		if l.Says == "" || !l.Build.Gone {
			t.Fatalf("%+v", l)
		}
	}
	for _, b := range f.Builds {
		declared := slices.ContainsFunc(f.Nodes, func(n string) bool { return f.Declared[n] == b.ID })
		held := slices.ContainsFunc(f.Builds, func(o artifact.Build) bool { return !o.Gone && o.Content == b.Content })
		is := slices.ContainsFunc(all, func(l delivery.Lost) bool { return l.Build.ID == b.ID && len(l.On) > 0 })
		if is != (declared && b.Gone && !held) {
			t.Fatalf("%s: lost %v; declared %v, gone %v, held %v", b.ID.Short(), is, declared, b.Gone, held)
		}
	}
	if d.Again == nil {
		return false
	}
	live := slices.ContainsFunc(f.Asked, func(a delivery.Asked) bool { return a.State == delivery.Open || a.State == delivery.Leased })
	stands := slices.ContainsFunc(f.Builds, func(o artifact.Build) bool {
		return !o.Gone && artifact.Current(artifact.Of(o), d.Again.Closure)
	})
	if d.Ask != nil || live || stands {
		t.Fatalf("%+v is asked for; something else %v, live %v, stands %v", d.Again, d.Ask != nil, live, stands)
	}
	if !slices.ContainsFunc(all, func(l delivery.Lost) bool {
		return l.Build.ID == d.Again.Build && artifact.Current(artifact.Of(l.Build), d.Again.Closure)
	}) {
		t.Fatalf("%+v was not lost", d.Again)
	}
	return true
}

// Whatever is current or declared is looked for each time, and everything that
// somebody may go back to by turns.
func TestToLookFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		seen := map[document.Digest]int{}
		const turns = 4 * 16 // there are no more builds than that to go back to
		for turn := range turns {
			for _, b := range delivery.ToLookFor(f, turn+1) {
				seen[b.ID]++
			}
		}
		for _, b := range f.Builds {
			current := delivery.CurrentBuild(f)
			always := current != nil && current.ID == b.ID || slices.ContainsFunc(f.Nodes, func(n string) bool { return f.Declared[n] == b.ID })
			written := slices.ContainsFunc(f.Writes, func(w delivery.Write) bool { return w.Build == b.ID })
			is := func(o artifact.Build) bool { return o.ID == b.ID }
			if slices.ContainsFunc(delivery.ToLookFor(f, 0), is) != (always || written) {
				t.Fatalf("%s, after something was found to be lost: current or declared %v, written %v", b.ID.Short(), always, written)
			}
			if n := seen[b.ID]; always && n != turns || !always && (written != (n > 0) || n > 4) {
				t.Fatalf("%s was looked for %d times; current or declared %v, written %v", b.ID.Short(), n, always, written)
			}
		}
	})
}

func TestLaidAgain(t *testing.T) {
	t.Parallel()
	core := made("c/t=x", 1)
	core.Module = "core"
	core.Manifest.Built.Libraries = []manifest.Library{{Artifact: "lib", Language: "go", Digest: digest("core")}}
	packed := build.Packed{Index: digest("index"), Blob: digest("blob")}
	core.Where.Archives = map[document.Digest]build.Packed{digest("core"): packed}
	b := madeWith(made("c1/t1=y", 2), "core")
	there := func(string) []artifact.Build { return []artifact.Build{core} }
	laid, lacks := delivery.LaidAgain(b.Manifest.Built.Closure, there)
	want := build.Laid{Module: "core", Artifact: "lib", Language: "go", Digest: digest("core"), Packed: packed}
	if lacks != "" || len(laid) != 1 || laid[0] != want {
		t.Errorf("%+v, lacks %q", laid, lacks)
	}
	if _, lacks := delivery.LaidAgain(b.Manifest.Built.Closure, func(string) []artifact.Build { return []artifact.Build{gone(core)} }); lacks != "lib of core" {
		t.Errorf("lacks %q", lacks)
	}
}
