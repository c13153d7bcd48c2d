package source

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/manifest"
)

func at(minutes int) time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(minutes) * time.Minute)
}

func read(commit string) Seen {
	return Seen{State: Read, Ref: "refs/heads/main", Commit: commit, Tree: "t" + commit, Manifest: manifest.Source{Module: "site"}}
}

func TestLookFirstReadKnowsTheCommit(t *testing.T) {
	t.Parallel()
	s := Look(Source{Module: "site"}, read("c1"), at(1))
	want := Source{
		Module: "site", Ref: "refs/heads/main", Commit: "c1", Tree: "tc1", Manifest: manifest.Source{Module: "site"},
		Head: "c1", LookedAt: at(1), MovedAt: at(1), State: Read, Since: at(1),
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Fatal(d)
	}
}

func TestLookFailureKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	good := Look(Source{Module: "site"}, read("c1"), at(1))
	for _, state := range States() {
		if state == Read || state == NeverLooked {
			continue
		}
		s := Look(good, Seen{State: state, Why: "why"}, at(2))
		want := good
		want.LookedAt, want.State, want.Why, want.Since = at(2), state, "why", at(2)
		if d := cmp.Diff(want, s); d != "" {
			t.Errorf("%s: %s", state, d)
		}
	}
}

func TestLookSinceStandsWhileTheStateDoes(t *testing.T) {
	t.Parallel()
	s := Look(Source{}, Seen{State: Unreachable, Why: "a"}, at(1))
	s = Look(s, Seen{State: Unreachable, Why: "b"}, at(2))
	if s.Since != at(1) || s.Why != "b" || s.LookedAt != at(2) {
		t.Fatalf("since %v, why %q", s.Since, s.Why)
	}
	s = Look(s, Seen{State: Gone, Why: "c"}, at(3))
	if s.Since != at(3) {
		t.Fatalf("another state began at %v", s.Since)
	}
}

func TestLookMovedAtFollowsTheCommit(t *testing.T) {
	t.Parallel()
	s := Look(Source{}, read("c1"), at(1))
	s = Look(s, read("c1"), at(2))
	if s.MovedAt != at(1) {
		t.Fatalf("moved at %v without a move", s.MovedAt)
	}
	s = Look(s, Seen{State: Unreachable}, at(3))
	s = Look(s, read("c2"), at(4))
	if s.MovedAt != at(4) || s.Since != at(4) || s.Why != "" {
		t.Fatalf("%+v", s)
	}
	if s = Look(s, read("c1"), at(5)); s.Commit != "c1" || s.MovedAt != at(5) { // a force-push back
		t.Fatalf("%+v", s)
	}
}

func TestLookBadCommitIsNotReadAgain(t *testing.T) {
	t.Parallel()
	s := Look(Source{}, read("c1"), at(1))
	s = Look(s, Seen{State: BadManifest, Why: "line 3", Commit: "c2"}, at(2))
	if s.Commit != "c1" || s.Head != "c2" || s.Known() != "c2" {
		t.Fatalf("commit %q head %q known %q", s.Commit, s.Head, s.Known())
	}
	s = Look(s, Seen{Same: true}, at(3))
	if s.State != BadManifest || s.Why != "line 3" || s.Since != at(2) || s.LookedAt != at(3) {
		t.Fatalf("%+v", s)
	}
	s = Look(s, Seen{State: Unreachable, Why: "off"}, at(4))
	if s.Known() != "" {
		t.Fatal("after an unreachable forge nobody remembers what was wrong with c2, so it must be read")
	}
}

func TestLookSameEndsTrouble(t *testing.T) {
	t.Parallel()
	s := Look(Source{}, read("c1"), at(1))
	s = Look(s, Seen{State: Unreachable, Why: "off"}, at(2))
	if s.Known() != "c1" {
		t.Fatalf("known %q", s.Known())
	}
	s = Look(s, Seen{Same: true, Ref: "refs/heads/trunk"}, at(3))
	if s.State != Read || s.Why != "" || s.Since != at(3) || s.Ref != "refs/heads/trunk" || s.MovedAt != at(1) {
		t.Fatalf("%+v", s)
	}
}

func TestLookRecordWithoutHeadStillKnows(t *testing.T) {
	t.Parallel()
	if k := (Source{State: Read, Commit: "c1"}).Known(); k != "c1" {
		t.Fatalf("known %q", k)
	}
	if k := (Source{State: BadManifest, Commit: "c1"}).Known(); k != "" {
		t.Fatalf("known %q", k)
	}
}

func TestStateParsesItsOwnName(t *testing.T) {
	t.Parallel()
	words := map[string]bool{}
	for _, s := range States() {
		if got, ok := ParseState(string(s)); !ok || got != s {
			t.Errorf("%q parses as %q, %v", string(s), got, ok)
		}
		if words[s.String()] || (s != Read && s.String() == string(s) && s != Unreachable) {
			t.Errorf("%q has no words of its own: %q", string(s), s)
		}
		words[s.String()] = true
	}
	if _, ok := ParseState("fine"); ok {
		t.Error("any word is a state")
	}
}

// TestLookNeverForgets: whatever is seen in whatever order, a commit that was
// read stays until another is read, and the state is that of the last look.
func TestLookNeverForgets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s Source
		last, moved := "", time.Time{}
		for i := range rapid.IntRange(1, 20).Draw(t, "looks") {
			seen := Seen{State: rapid.SampledFrom(States()[1:]).Draw(t, "state"), Why: "w"}
			if seen.State.aboutCommit() {
				seen.Commit = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "commit")
			}
			if seen.State == Read {
				seen = read(seen.Commit)
			}
			if known := s.Known(); known != "" && (seen.Commit == known || rapid.Bool().Draw(t, "same")) {
				seen = Seen{Same: true}
			}
			if seen.State == Read && !seen.Same && seen.Commit != last {
				last, moved = seen.Commit, at(i)
			}
			s = Look(s, seen, at(i))
			if s.Commit != last || s.MovedAt != moved || s.LookedAt != at(i) || s.Since.After(at(i)) {
				t.Fatalf("after %+v: %+v, want commit %q moved %v", seen, s, last, moved)
			}
			if (s.State == Read) != (s.Why == "") {
				t.Fatalf("%q says %q", s.State, s.Why)
			}
			if s.State == Read && s.Head != s.Commit {
				t.Fatalf("read %q, but the ref is at %q", s.Commit, s.Head)
			}
		}
	})
}
