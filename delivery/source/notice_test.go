package source

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func kinds(s Source) string {
	var out []string
	for _, n := range s.Notices {
		out = append(out, string(n.Kind)+" "+n.From+">"+n.To)
	}
	return strings.Join(out, ", ")
}

func readOn(ref, commit string) Seen {
	s := read(commit)
	s.Ref = ref
	return s
}

func TestNotices(t *testing.T) {
	t.Parallel()
	const main, trunk, tag = "refs/heads/main", "refs/heads/trunk", "refs/tags/v1"
	push := func(before, after string) func(Source, int) Source {
		return func(s Source, m int) Source { return Heed(s, Push{main, before, after}, at(m)) }
	}
	look := func(seen Seen) func(Source, int) Source {
		return func(s Source, m int) Source { return Look(s, seen, at(m)) }
	}
	judge := func(k Kind) func(Source, int) Source {
		return func(s Source, _ int) Source { return Judged(s, k) }
	}
	same := Seen{State: Read, Same: true, Ref: main}
	for _, c := range []struct {
		name  string
		steps []func(Source, int) Source
		want  string
		since int
	}{
		{"the first commit comes from nowhere", []func(Source, int) Source{look(readOn(main, "c1"))}, "", 0},
		{"not judged yet", []func(Source, int) Source{look(readOn(main, "c1")), look(readOn(main, "c2"))}, "moved c1>c2", 1},
		{"forward", []func(Source, int) Source{look(readOn(main, "c1")), look(readOn(main, "c2")), judge("")}, "", 0},
		{"rewritten, and looked at again", []func(Source, int) Source{look(readOn(main, "c1")), look(readOn(main, "c2")), judge(Rewritten), look(same), look(same)}, "rewritten c1>c2", 1},
		{"rewritten, and the forge is away", []func(Source, int) Source{look(readOn(main, "c1")), look(readOn(main, "c2")), judge(Rewritten), look(Seen{State: Unreachable, Why: "x"}), look(same)}, "rewritten c1>c2", 1},
		{"over with the next commit", []func(Source, int) Source{look(readOn(main, "c1")), look(readOn(main, "c2")), judge(Unrelated), look(readOn(main, "c3")), judge("")}, "", 0},
		{"a bad commit between", []func(Source, int) Source{look(readOn(main, "c1")), look(Seen{State: BadManifest, Why: "x", Commit: "c2"}), look(readOn(main, "c3"))}, "moved c1>c3", 2},
		{"a tag", []func(Source, int) Source{look(readOn(tag, "c1")), look(readOn(tag, "c2")), judge("")}, "tag-moved c1>c2", 1},
		{"renamed", []func(Source, int) Source{look(readOn(main, "c1")), look(readOn(trunk, "c1"))}, "renamed refs/heads/main>refs/heads/trunk", 1},
		{"renamed, seen without reading", []func(Source, int) Source{look(readOn(main, "c1")), look(Seen{State: Read, Same: true, Ref: trunk})}, "renamed refs/heads/main>refs/heads/trunk", 1},
		{"renamed and back", []func(Source, int) Source{look(readOn(main, "c1")), look(readOn(trunk, "c1")), look(readOn(main, "c1"))}, "", 0},
		{"renamed, and the next commit", []func(Source, int) Source{look(readOn(main, "c1")), look(readOn(trunk, "c1")), look(readOn(trunk, "c2")), judge("")}, "", 0},
		{"behind", []func(Source, int) Source{look(readOn(main, "c1")), push("c1", "c2"), look(same)}, "forge-behind c1>c2", 1},
		{"behind, and over", []func(Source, int) Source{look(readOn(main, "c1")), push("c1", "c2"), look(readOn(main, "c2")), judge("")}, "", 0},
		{"behind, and over with a commit that nobody can read", []func(Source, int) Source{look(readOn(main, "c1")), push("c1", "c2"), look(Seen{State: NoManifest, Why: "x", Commit: "c2"})}, "", 0},
		{"behind by two", []func(Source, int) Source{look(readOn(main, "c1")), push("c1", "c2"), push("c2", "c3"), push("c1", "c2")}, "forge-behind c1>c2", 1},
		{"an old hook comes again", []func(Source, int) Source{look(readOn(main, "c2")), push("c0", "c1"), push("c1", "c2")}, "", 0},
		{"of another branch", []func(Source, int) Source{look(readOn(trunk, "c1")), push("c1", "c2")}, "", 0},
		{"the branch is deleted", []func(Source, int) Source{look(readOn(main, "c1")), push("c1", "")}, "", 0},
	} {
		var s Source
		for i, step := range c.steps {
			s = step(s, i)
		}
		if got := kinds(s); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for _, n := range s.Notices {
			if n.Since != at(c.since) {
				t.Errorf("%s: since %v", c.name, n.Since)
			}
			if (n.String() == "") != (n.Kind == Moved) {
				t.Errorf("%s: says %q", c.name, n)
			}
		}
	}
}

// TestNoticesAreEachOnce: whatever happens, no kind stands twice, and none but
// a forge that is behind names another commit than the one that was read.
func TestNoticesAreEachOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s Source
		commit := func(what string) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, what) }
		for i := range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"look", "bad", "push", "judge"}).Draw(t, "step") {
			case "look":
				s = Look(s, readOn(rapid.SampledFrom([]string{"refs/heads/x", "refs/heads/y"}).Draw(t, "ref"), commit("commit")), at(i))
			case "bad":
				s = Look(s, Seen{State: Unreachable, Why: "w"}, at(i))
			case "push":
				s = Heed(s, Push{"refs/heads/x", commit("before"), commit("after")}, at(i))
			case "judge":
				s = Judged(s, rapid.SampledFrom([]Kind{"", Rewritten, Unrelated, FarApart}).Draw(t, "kind"))
			}
			seen := map[Kind]bool{}
			for _, n := range s.Notices {
				if seen[n.Kind] || n.Since.After(at(i)) {
					t.Fatalf("%+v", s.Notices)
				}
				seen[n.Kind] = true
				if slices.Contains([]Kind{Moved, Rewritten, Unrelated, FarApart, TagMoved}, n.Kind) && n.To != s.Commit {
					t.Fatalf("%+v of a source at %q", n, s.Commit)
				}
				if n.Kind == ForgeBehind && (n.From != s.Head || n.To == s.Head) {
					t.Fatalf("%+v of a ref at %q", n, s.Head)
				}
			}
		}
	})
}

const (
	one  = "1111111111111111111111111111111111111111"
	two  = "2222222222222222222222222222222222222222"
	zero = "0000000000000000000000000000000000000000"
)

// pushes is bodies as forges send them, and what they say.
func pushes() map[string]Push {
	return map[string]Push{
		`{"ref":"refs/heads/main","before":"` + one + `","after":"` + two + `","commits":[]}`:                                            {"refs/heads/main", one, two},
		`{"object_kind":"push","ref":"refs/heads/main","before":"` + one + `","after":"` + two + `","total_commits_count":100}`:          {"refs/heads/main", one, two},
		`{"ref":"refs/heads/new","before":"` + zero + `","after":"` + two + `"}`:                                                         {"refs/heads/new", "", two},
		`{"ref":"refs/heads/old","before":"` + one + `","after":"` + zero + `"}`:                                                         {"refs/heads/old", one, ""},
		`{"repository":{"clone_url":"http://forge.lan:3000/o/r.git"},"ref":"refs/heads/m","before":"` + one + `","after":"` + two + `"}`: {"refs/heads/m", one, two},
	}
}

func notPushes() []string {
	return []string{
		"", "{}", "[]", "null", "x", "payload=%7B%7D", `{"zen":"Keep it logically awesome."}`, `{"ref":"main","before":"` + one + `","after":"` + two + `"}`,
		`{"ref":"refs/heads/main","before":"1","after":"` + two + `"}`, `{"ref":7}`, `{"ref":"refs/heads/main","before":"` + one + `","after":"` + one + `"}`,
		`{"ref":"refs/heads/main","before":"` + one + `","after":"` + two + `","commits":[{"id":"3`, // cut off
		`{"ref":"refs/heads/` + strings.Repeat("x", 400) + `","before":"` + one + `","after":"` + two + `"}`,
		strings.Repeat("[", 100_000), strings.Repeat(" ", PushLimit) + "{}",
	}
}

func TestParsePush(t *testing.T) {
	t.Parallel()
	for body, want := range pushes() {
		if got, ok := ParsePush([]byte(body)); !ok || got != want {
			t.Errorf("%s: %+v %v", body, got, ok)
		}
	}
	for _, body := range notPushes() {
		if got, ok := ParsePush([]byte(body)); ok || got != (Push{}) {
			t.Errorf("%.80s: %+v", body, got)
		}
	}
}

// FuzzParsePush: what is taken is two commits and a ref, whatever the body.
func FuzzParsePush(f *testing.F) {
	for body := range pushes() {
		f.Add([]byte(body))
	}
	for _, body := range notPushes() {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, ok := ParsePush(body)
		if !ok {
			return
		}
		again, err := json.Marshal(map[string]string{"ref": p.Ref, "before": fmt.Sprintf("%040s", p.Before), "after": fmt.Sprintf("%040s", p.After)})
		if err != nil || !strings.HasPrefix(p.Ref, "refs/") || p.Before == p.After {
			t.Fatalf("%+v %v", p, err)
		}
		if q, ok := ParsePush(again); !ok || q != p {
			t.Fatalf("%+v became %+v", p, q)
		}
	})
}
