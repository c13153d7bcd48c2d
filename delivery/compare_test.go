package delivery_test

import (
	"strings"
	"testing"
	"time"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/source"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/manifest"
)

type compareCase struct {
	name  string
	facts delivery.Facts
	now   int // minutes
	want  []string
}

func check(t *testing.T, cases []compareCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := delivery.Compare(c.facts, at(c.now))
			if got, want := says(d), strings.Join(c.want, "\n"); got != want {
				t.Errorf("it says\n%s\nwant\n%s", got, want)
			}
			if d.Module != "site" {
				t.Errorf("it is about %q", d.Module)
			}
		})
	}
}

func TestCompareSource(t *testing.T) {
	t.Parallel()
	check(t, []compareCase{
		{name: "never looked", facts: facts(from(source.Source{})), want: []string{"waits for its source: never looked, since 0"}},
		{
			name: "unreachable from the first", facts: facts(from(unread(source.Source{}, source.Unreachable, "dial tcp: refused"))),
			want: []string{"waits for its source: unreachable: dial tcp: refused, since 5"},
		},
		{
			name: "unreachable, with an earlier commit that is not built", facts: facts(from(unread(read("c1/t1"), source.Unreachable, "off"))),
			want: []string{"ask c1/t1 attempt 1", "waits for its source: unreachable: off, since 5"},
		},
		{
			name:  "gone, with an earlier commit that is built",
			facts: facts(auto, from(unread(read("c1/t1"), source.Gone, "")), builds(made("c1/t1=x", 3)), nodes("n1")),
			want:  []string{"declare " + digest("c1/t1").Short() + " on n1", "waits for its source: no such repository, since 5"},
		},
		{
			name:  "a manifest that is refused, and everything before it is out",
			facts: facts(from(unread(read("c1/t1"), source.BadManifest, "line 3")), builds(made("c1/t1=x", 3)), nodes("n1"), on("n1=c1/t1")),
			want:  []string{"waits for its source: module.json is refused: line 3, since 5"},
		},
	})
}

// movedOn is a request that the comparison has withdrawn.
func movedOn(a delivery.Asked) delivery.Asked {
	a.Why = delivery.MovedOn + "why"
	return a
}

// against is a request to build against this.
func against(a delivery.Asked, in ...manifest.Input) delivery.Asked {
	a.Closure.Inputs = in
	return a
}

func TestCompareBuild(t *testing.T) {
	t.Parallel()
	commands := func(f *delivery.Facts) {
		f.Source.Manifest.Build = &manifest.Build{Test: [][]string{{"true"}}}
	}
	unfound := func(b artifact.Build) artifact.Build {
		b.Manifest.Built.Closure = []manifest.Input{{Module: "lib", Artifact: "lib", Digest: digest("lib")}}
		return b
	}
	check(t, []compareCase{
		{name: "nothing was built", facts: facts(), want: []string{"ask c1/t1 attempt 1"}},
		{name: "what was built is stale", facts: facts(builds(made("c0/t0=x", 0)), requests(asked("t0", 1, delivery.Done, 0))), want: []string{"ask c1/t1 attempt 1"}},
		{
			name: "built for another platform", want: []string{"ask c1/t1 attempt 1"},
			facts: facts(builds(made("c1/t1=x", 0)), func(f *delivery.Facts) { f.Platform = "linux/arm64" }),
		},
		{
			name: "of another tree a request is open", facts: facts(requests(asked("t0", 1, delivery.Open, 0))),
			want: []string{"withdraw t0-1: no longer asked for: its source has moved to c1", "ask c1/t1 attempt 1"},
		},
		{name: "of another tree a request is being built", facts: facts(requests(asked("t0", 1, delivery.Leased, 0))), want: []string{"ask c1/t1 attempt 1"}},
		{
			name: "of another tree a request is open, and this one is built", facts: facts(builds(made("c1/t1=x", 3)), requests(asked("t0", 1, delivery.Open, 0))),
			want: []string{"withdraw t0-1: no longer asked for: its source has moved to c1"},
		},
		{
			name: "it was built, and asked for again", facts: facts(builds(made("c1/t1=x", 3)), requests(asked("t1", 1, delivery.Done, 0), asked("t1", 2, delivery.Open, 1))),
			want: []string{"withdraw t1-2: no longer asked for: build " + digest("c1/t1").Short() + " is that already"},
		},
		{
			name: "what was withdrawn as moved is wanted again", facts: facts(requests(movedOn(asked("t1", 1, delivery.Withdrawn, 0)))),
			want: []string{"ask c1/t1 attempt 1"},
		},
		{
			name:  "what had failed and was withdrawn as moved is wanted again",
			facts: facts(requests(asked("t1", 1, delivery.Done, 0), movedOn(asked("t1", 2, delivery.Withdrawn, 0)))), now: 2,
			want: []string{"ask c1/t1 attempt 2"},
		},
		{
			name: "what it is built against waits", facts: facts(requests(asked("t1", 1, delivery.Open, 0)), func(f *delivery.Facts) {
				f.Inputs.Lacks = []delivery.Waiting{{For: "the source of lib: its module.json is refused:\nmodule.json:1:1", Since: at(1)}}
			}),
			want: []string{"withdraw t1-1: no longer asked for: it waits for the source of lib: its module.json is refused:", "waits for the source of lib: its module.json is refused:\nmodule.json:1:1, since 1"},
		},
		{
			name: "an input has moved, and one came", facts: facts(requests(against(asked("t1", 1, delivery.Open, 0), input("lib", "1"))), func(f *delivery.Facts) {
				f.Inputs.All = []manifest.Input{input("lib", "2"), input("more", "1")}
			}),
			want: []string{"withdraw t1-1: no longer asked for: go of lib, which it is built against, has moved to " + document.Sum([]byte("2")).Short(), "ask c1/t1 attempt 1"},
		},
		{
			name: "an input came", facts: facts(requests(asked("t1", 1, delivery.Open, 0)), func(f *delivery.Facts) { f.Inputs.All = []manifest.Input{input("lib", "2")} }),
			want: []string{"withdraw t1-1: no longer asked for: it is built against lib now", "ask c1/t1 attempt 1"},
		},
		{
			name: "an input went", facts: facts(requests(against(asked("t1", 1, delivery.Open, 0), input("lib", "1")))),
			want: []string{"withdraw t1-1: no longer asked for: it is built against lib no longer", "ask c1/t1 attempt 1"},
		},
		{
			name: "the image has moved", facts: facts(requests(asked("t1", 1, delivery.Open, 0)), func(f *delivery.Facts) { f.Inputs.Environment = digest("image") }),
			want: []string{"withdraw t1-1: no longer asked for: the image that it is built in is another", "ask c1/t1 attempt 1"},
		},
		{
			name: "it is wanted for another platform", facts: facts(requests(asked("t1", 1, delivery.Open, 0)), func(f *delivery.Facts) { f.Platform = "linux/arm64" }),
			want: []string{"withdraw t1-1: no longer asked for: it is wanted for linux/arm64", "ask c1/t1 attempt 1"},
		},
		{name: "open", facts: facts(requests(asked("t1", 1, delivery.Open, 3))), want: []string{"waits for a builder for linux/amd64, since 3"}},
		{
			name: "open, and no builder has joined", facts: facts(builders(), requests(asked("t1", 1, delivery.Open, 3))),
			want: []string{"waits for a builder for linux/amd64, none has joined, since 3"},
		},
		{
			name: "open, and builders are of other platforms", facts: facts(builders(delivery.Builder{ID: "b", Platform: "linux/arm64"}), requests(asked("t1", 1, delivery.Open, 3))),
			want: []string{"waits for a builder for linux/amd64, none has joined: b is for linux/arm64, since 3"},
		},
		{
			name: "open, and no builder has a sandbox",
			facts: facts(commands, builders(
				delivery.Builder{ID: "b2", Name: "second", Platform: platform, Sandbox: "there is no bubblewrap"},
				delivery.Builder{ID: "b1", Name: "first", Platform: platform, Sandbox: "user namespaces are off"},
			), requests(asked("t1", 1, delivery.Open, 3))),
			want: []string{"waits for a builder for linux/amd64 with a sandbox, since it has commands to run: first has none, user namespaces are off, since 3"},
		},
		{
			name: "open, and one builder has a sandbox",
			facts: facts(commands, builders(
				delivery.Builder{ID: "b1", Name: "first", Platform: platform, Sandbox: "user namespaces are off"},
				delivery.Builder{ID: "b2", Name: "second", Platform: platform},
			), requests(asked("t1", 1, delivery.Open, 3))),
			want: []string{"waits for a builder for linux/amd64, since 3"},
		},
		{
			name: "open, no sandbox, and nothing to run in one", want: []string{"waits for a builder for linux/amd64, since 3"},
			facts: facts(builders(delivery.Builder{ID: "b1", Platform: platform, Sandbox: "off"}), requests(asked("t1", 1, delivery.Open, 3))),
		},
		{
			name: "leased", want: []string{"waits for the build on builder forge, since 4"},
			facts: facts(requests(func() delivery.Asked { a := asked("t1", 1, delivery.Leased, 4); a.Builder = "b1"; return a }())),
		},
		{
			name: "leased by one that has left", want: []string{"waits for the build on builder b9, since 4"},
			facts: facts(requests(func() delivery.Asked { a := asked("t1", 1, delivery.Leased, 4); a.Builder = "b9"; return a }())),
		},
		{
			name: "a live request is the only one, whatever its number", want: []string{"waits for a builder for linux/amd64, since 3"},
			facts: facts(requests(asked("t1", 1, delivery.Open, 3), ended("t1", 2, 4, build.OutcomeFailed, "build: exit 1"))), now: 1000,
		},
		{
			name: "withdrawn", want: []string{"waits for a new commit, or mesh module look site: the build was withdrawn, 3 leases were lost, since 9"}, now: 100_000,
			facts: facts(requests(func() delivery.Asked {
				a := asked("t1", 1, delivery.Withdrawn, 9)
				a.Why = "3 leases were lost"
				return a
			}())),
		},
		{
			name: "failed, a moment ago", facts: facts(requests(ended("t1", 1, 10, build.OutcomeFailed, "build: exit 1"))), now: 10,
			want: []string{"waits for the next attempt: build failed: exit 1, since 10", "again at 11"},
		},
		{
			name: "failed, and it is time", facts: facts(requests(ended("t1", 1, 10, build.OutcomeFailed, "build: exit 1"))), now: 11,
			want: []string{"ask c1/t1 attempt 2"},
		},
		{
			name: "failed, by a clock that has been set back since", facts: facts(requests(ended("t1", 1, 1000, build.OutcomeFailed, "build: exit 1"))), now: 10,
			want: []string{"ask c1/t1 attempt 2"},
		},
		{
			name: "failed for the fourth time", now: 17,
			facts: facts(requests(ended("t1", 4, 10, build.OutcomeFailed, "clone: no route"), ended("t1", 3, 1, build.OutcomeFailed, "clone: no route"))),
			want:  []string{"waits for the next attempt: clone failed: no route, since 10", "again at 18"},
		},
		{
			name: "environment", facts: facts(requests(ended("t1", 2, 10, build.OutcomeEnvironment, "no space left on device"))), now: 11,
			want: []string{"waits for the next attempt: the builder could not: no space left on device, since 10", "again at 12"},
		},
		{
			name: "gone from the registry, at once", facts: facts(builds(gone(made("c1/t1=x", 3))), requests(ended("t1", 1, 10, build.OutcomeBuilt, ""))), now: 10,
			want: []string{"ask c1/t1 attempt 2"},
		},
		{
			name: "gone from the registry, and asked for", now: 10, want: []string{"waits for a builder for linux/amd64, since 10"},
			facts: facts(builds(gone(made("c1/t1=x", 3))), requests(ended("t1", 1, 10, build.OutcomeBuilt, ""), asked("t1", 2, delivery.Open, 10))),
		},
		{
			name: "gone again as soon as it was built", now: 11,
			facts: facts(builds(gone(made("c1/t1=x", 3))), requests(ended("t1", 1, 3, build.OutcomeBuilt, ""), ended("t1", 2, 10, build.OutcomeBuilt, ""))),
			want:  []string{"waits for the next attempt: built, and no longer in the registry, since 10", "again at 12"},
		},
		{
			name: "gone again, long after", now: 500, want: []string{"ask c1/t1 attempt 3"},
			facts: facts(builds(gone(made("c1/t1=x", 3))), requests(ended("t1", 1, 3, build.OutcomeBuilt, ""), ended("t1", 2, 10, build.OutcomeBuilt, ""))),
		},
		{
			name: "one of two is gone", facts: facts(builds(gone(made("c1/t1=x", 3)), made("c0/t1=x", 1)), nodes("n1"), on("n1=c0/t1")),
		},
		{
			name: "a builder built something else", now: 10, facts: facts(builds(unfound(made("c1/t1=x", 3))), requests(ended("t1", 1, 10, build.OutcomeBuilt, ""))),
			want: []string{"waits for the next attempt: built, and of something else than was asked for, since 10", "again at 11"},
		},
		{
			name: "another commit with the tree that failed goes on counting", now: 20,
			facts: facts(from(read("c2/t1")), requests(ended("t1", 1, 10, build.OutcomeFailed, "build: exit 1"))),
			want:  []string{"ask c2/t1 attempt 2"},
		},
	})
}

func TestCompareDeclare(t *testing.T) {
	t.Parallel()
	c1, c2 := made("c1/t1=x", 3), made("c2/t2=y", 30)
	declareC1, manual := "declare "+c1.ID.Short()+" on ", "waits for somebody to declare it: mesh declare site, since 3"
	check(t, []compareCase{
		{name: "a verdict is outstanding", facts: facts(auto, builds(judged(c1, verdict.Outstanding)), nodes("n1")), want: []string{"waits for a verdict, since 3"}},
		{name: "a verdict that nobody knows", facts: facts(auto, builds(judged(c1, verdict.Verdict(9))), nodes("n1")), want: []string{"waits for a verdict, since 3"}},
		{name: "unfit is never declared", facts: facts(auto, builds(judged(c1, verdict.Unfit)), nodes("n1")), want: []string{"waits for a new commit: its tests failed, since 3"}},
		{name: "manual", facts: facts(builds(c1), nodes("n1", "n2"), on("n1=c1/t1")), want: []string{manual}},
		{name: "a policy that nobody knows is manual", facts: facts(func(f *delivery.Facts) { f.Policy = "" }, builds(c1), nodes("n1")), want: []string{manual}},
		{name: "auto", facts: facts(auto, builds(c1), nodes("n2", "n1", "n3"), on("n3=c1/t1")), want: []string{declareC1 + "n1 n2"}},
		{name: "auto, without tests", facts: facts(auto, builds(judged(c1, verdict.FitNoTests)), nodes("n1")), want: []string{declareC1 + "n1"}},
		{name: "it belongs on no node", facts: facts(auto, builds(c1))},
		{name: "it belongs on no node, manual", facts: facts(builds(c1))},
		{name: "declared on a node that it has left", facts: facts(auto, builds(c1), on("n9=c0/t0"))},
		{name: "everything is declared", facts: facts(builds(c1), nodes("n1"), on("n1=c1/t1"))},
		{name: "another commit with the same tree", facts: facts(auto, from(read("c9/t1")), builds(c1), nodes("n1"), on("n1=c1/t1"))},
		{
			name: "another build with the same content, auto", facts: facts(auto, builds(c1, made("c0/t0=x", 0)), nodes("n1"), on("n1=c0/t0")),
			want: []string{declareC1 + "n1"},
		},
		{name: "another build with the same content is no decision", facts: facts(builds(c1, made("c0/t0=x", 0)), nodes("n1"), on("n1=c0/t0"))},
		{
			name: "the same content on one node and another on the other", facts: facts(builds(c1, made("c0/t0=x", 0), made("cz/tz=z", 0)), nodes("n1", "n2"), on("n1=c0/t0", "n2=cz/tz")),
			want: []string{manual},
		},
		{
			name: "of two current builds the newest", facts: facts(auto, builds(made("c0/t1=x", 1), c1, made("cx/t1=z", 2)), nodes("n1")),
			want: []string{declareC1 + "n1"},
		},
		{
			name: "rolled back from", want: []string{"waits for a new commit, or somebody to declare it: " + c2.ID.Short() + " was rolled back from, since 40"},
			facts: facts(auto, from(read("c2/t2")), builds(c1, c2), nodes("n1"), on("n1=c1/t1"),
				wrote(1, 5, "auto: c1/t1 on n1"), wrote(2, 31, "auto: c2/t2 on n1"), wrote(3, 40, "ann: c1/t1 on n1")),
		},
		{
			name: "rolled back from, and another commit makes the same of it", now: 60,
			want: []string{"waits for a new commit, or somebody to declare it: " + digest("c3/t3").Short() + " was rolled back from, since 40"},
			facts: facts(auto, from(read("c3/t3")), builds(c1, c2, made("c3/t3=y", 50)), nodes("n1"), on("n1=c1/t1"),
				wrote(2, 31, "auto: c2/t2 on n1"), wrote(3, 40, "ann: c1/t1 on n1")),
		},
		{
			name: "rolled back from, and another commit makes something else", want: []string{"declare " + digest("c3/t3").Short() + " on n1"},
			facts: facts(auto, from(read("c3/t3")), builds(c1, c2, made("c3/t3=z", 50)), nodes("n1"), on("n1=c1/t1"),
				wrote(2, 31, "auto: c2/t2 on n1"), wrote(3, 40, "ann: c1/t1 on n1")),
		},
		{
			name: "rolled back from, and on another node it never was", want: []string{"waits for a new commit, or somebody to declare it: " + c2.ID.Short() + " was rolled back from, since 40"},
			facts: facts(auto, from(read("c2/t2")), builds(c1, c2), nodes("n1", "n2"), on("n1=c1/t1"),
				wrote(2, 31, "auto: c2/t2 on n1"), wrote(3, 40, "ann: c1/t1 on n1")),
		},
		{
			name: "a person has declared it again", want: []string{"declare " + c2.ID.Short() + " on n2"},
			facts: facts(auto, from(read("c2/t2")), builds(c1, c2), nodes("n1", "n2"), on("n1=c2/t2", "n2=c1/t1"),
				wrote(2, 31, "auto: c2/t2 on n1 n2"), wrote(3, 40, "ann: c1/t1 on n1 n2"), wrote(4, 50, "bob: c2/t2 on n1")),
		},
		{
			name:  "rolled back from, and it is on every node all the same",
			facts: facts(auto, from(read("c2/t2")), builds(c1, c2, made("c3/t3=y", 20)), nodes("n2"), on("n2=c3/t3"), wrote(2, 31, "auto: c2/t2 on n1"), wrote(3, 40, "ann: c1/t1 on n1")),
		},
	})
}

func TestKnownBad(t *testing.T) {
	t.Parallel()
	all := builds(made("a/a=A", 1), made("b/b=B", 2), made("c/c=C", 3), made("d/d=C", 4))
	for _, c := range []struct {
		name   string
		writes []change
		bad    string // contents
	}{
		{name: "nothing was declared"},
		{name: "forward", writes: []change{wrote(1, 1, "ann: a/a on n"), wrote(2, 2, "ann: b/b on n")}},
		{name: "back by a person", writes: []change{wrote(1, 1, "auto: b/b on n"), wrote(2, 2, "ann: a/a on n")}, bad: "B"},
		{name: "back by a policy is the source going back", writes: []change{wrote(1, 1, "auto: b/b on n"), wrote(2, 2, "auto: a/a on n")}},
		{name: "back over two", writes: []change{wrote(1, 1, "auto: a/a on n"), wrote(2, 2, "auto: b/b on n"), wrote(3, 3, "auto: c/c on n"), wrote(4, 4, "ann: a/a on n")}, bad: "C"},
		{name: "back twice", writes: []change{wrote(1, 1, "auto: c/c on n"), wrote(2, 2, "ann: b/b on n"), wrote(3, 3, "ann: a/a on n")}, bad: "B C"},
		{name: "back, and forward again", writes: []change{wrote(1, 1, "auto: c/c on n"), wrote(2, 2, "ann: b/b on n"), wrote(3, 3, "ann: c/c on n")}},
		{name: "back, and forward again with another commit", writes: []change{wrote(1, 1, "auto: c/c on n"), wrote(2, 2, "ann: b/b on n"), wrote(3, 3, "ann: d/d on n")}},
		{name: "back, and forward again by a policy", writes: []change{wrote(1, 1, "auto: c/c on n"), wrote(2, 2, "ann: b/b on n"), wrote(3, 3, "auto: c/c on n")}, bad: "C"},
		{name: "forward on a second node is not back", writes: []change{wrote(1, 1, "ann: c/c on n"), wrote(2, 2, "ann: b/b on m")}},
		{name: "back on one of two", writes: []change{wrote(1, 1, "auto: c/c on n m"), wrote(2, 2, "ann: b/b on m")}, bad: "C"},
		{name: "to what amounts to the same", writes: []change{wrote(1, 1, "auto: d/d on n"), wrote(2, 2, "ann: c/c on n")}},
		{name: "the same again", writes: []change{wrote(1, 1, "auto: b/b on n"), wrote(2, 2, "ann: b/b on n")}},
		{name: "back, back again and forward in between", writes: []change{wrote(1, 1, "auto: c/c on n"), wrote(2, 2, "ann: a/a on n"), wrote(3, 3, "ann: c/c on n"), wrote(4, 4, "ann: a/a on n")}, bad: "C"},
		{name: "to one that the record does not have", writes: []change{wrote(1, 1, "auto: b/b on n"), wrote(2, 2, "ann: x/x on n")}},
		{name: "from one that the record does not have", writes: []change{wrote(1, 1, "auto: x/x on n"), wrote(2, 2, "ann: a/a on n")}},
		{name: "in the order of the record, whatever the clock said", writes: []change{wrote(2, 1, "ann: a/a on n"), wrote(1, 2, "auto: b/b on n")}, bad: "B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bad := delivery.KnownBad(facts(append(c.writes, all)...))
			var got []string
			for _, content := range []string{"A", "B", "C"} {
				if _, is := bad[digest(content)]; is {
					got = append(got, content)
				}
			}
			if strings.Join(got, " ") != c.bad || len(bad) != len(got) {
				t.Errorf("known bad: %v, want %s", got, c.bad)
			}
		})
	}
}

func TestFailingOf(t *testing.T) {
	t.Parallel()
	failed := func(attempt int64, minute int, why string) delivery.Asked {
		return ended("t1", attempt, minute, build.OutcomeFailed, "build: "+why)
	}
	withdrawn := asked("t1", 1, delivery.Withdrawn, 9)
	withdrawn.Why = "3 leases of it were lost"
	for _, c := range []struct {
		name  string
		facts delivery.Facts
		want  *delivery.Failing
	}{
		{name: "never asked", facts: facts()},
		{name: "asked for the first time", facts: facts(requests(asked("t1", 1, delivery.Open, 1)))},
		{name: "failed once", facts: facts(requests(failed(1, 10, "exit 1"))), want: &delivery.Failing{Says: "build failed: exit 1", Since: at(10), Last: at(10), Count: 1}},
		{
			name: "failed three times, whatever the words, and tried again", facts: facts(requests(failed(2, 12, "exit 2"), asked("t1", 4, delivery.Leased, 20), failed(1, 10, "exit 1"), failed(3, 15, "exit 3"))),
			want: &delivery.Failing{Says: "build failed: exit 3", Since: at(10), Last: at(15), Count: 3},
		},
		{
			name: "failed in another way before", facts: facts(requests(failed(3, 12, "exit 1"), ended("t1", 2, 11, build.OutcomeEnvironment, "full"), failed(1, 10, "exit 1"))),
			want: &delivery.Failing{Says: "build failed: exit 1", Since: at(12), Last: at(12), Count: 1},
		},
		{name: "failed, and the source has moved", facts: facts(from(read("c2/t2")), requests(failed(1, 10, "exit 1")))},
		{name: "failed, and built since", facts: facts(builds(made("c1/t1=x", 20)), requests(failed(1, 10, "exit 1"), ended("t1", 2, 20, build.OutcomeBuilt, "")))},
		{name: "failed, built since, and gone", facts: facts(builds(gone(made("c1/t1=x", 20))), requests(failed(1, 10, "exit 1"), ended("t1", 2, 20, build.OutcomeBuilt, "")))},
		{name: "withdrawn", facts: facts(requests(withdrawn)), want: &delivery.Failing{Says: "the build was withdrawn, 3 leases of it were lost", Since: at(9), Last: at(9), Count: 3}},
		{name: "no source", facts: facts(from(source.Source{}), requests(failed(1, 10, "exit 1")))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := delivery.FailingOf(c.facts)
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int64]time.Duration{
		-1: time.Minute, 0: time.Minute, 1: time.Minute, 2: 2 * time.Minute, 3: 4 * time.Minute, 9: 256 * time.Minute,
		10: 6 * time.Hour, 11: 6 * time.Hour, 64: 6 * time.Hour, 1 << 40: 6 * time.Hour,
	} {
		if got := delivery.Retry(attempts); got != want {
			t.Errorf("after %d: %v, want %v", attempts, got, want)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{"manual": true, "auto": true, "": false, "Auto": false} {
		if p, got := delivery.ParsePolicy(text); got != ok || string(p) != text {
			t.Errorf("%q: %q, %v", text, p, got)
		}
	}
}

func TestCurrentBuildOfOneInstant(t *testing.T) {
	t.Parallel()
	a, b := made("c1/t1=x", 3), made("c2/t1=y", 3)
	one, other := delivery.CurrentBuild(facts(builds(a, b))), delivery.CurrentBuild(facts(builds(b, a)))
	if one.ID != other.ID {
		t.Errorf("%s or %s, as the list is written", one.ID.Short(), other.ID.Short())
	}
}
