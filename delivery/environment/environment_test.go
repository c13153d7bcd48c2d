package environment_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/delivery/environment"
	"noxmesh/document"
)

func sum(s string) document.Digest { return document.Sum([]byte(s)) }

func at(n int) time.Time { return time.Unix(int64(n), 0) }

func found(s string) environment.Seen {
	return environment.Seen{State: environment.Found, Head: sum("head" + s), Digest: sum(s)}
}

func TestALookThatFailsKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	i := environment.OfKey(environment.Key("docker.io/library/golang:1.22", "linux/arm64"))
	if i.Name != "docker.io/library/golang:1.22" || i.Platform != "linux/arm64" || i.Known() != "" {
		t.Fatalf("%+v", i)
	}
	i = environment.Look(i, environment.Seen{State: environment.Gone, Why: "404"}, at(1))
	if i.State != environment.Gone || !i.Since.Equal(at(1)) || i.Digest != "" {
		t.Fatalf("%+v", i)
	}
	i = environment.Look(i, found("a"), at(2))
	i = environment.Look(i, environment.Seen{State: environment.Unreachable, Why: "off"}, at(3))
	i = environment.Look(i, environment.Seen{State: environment.Unreachable, Why: "still off"}, at(4))
	if i.State != environment.Unreachable || i.Why != "still off" || !i.Since.Equal(at(3)) || i.Digest != sum("a") || !i.MovedAt.Equal(at(2)) || i.Known() != sum("heada") {
		t.Fatalf("%+v", i)
	}
	was := i
	i = environment.Look(i, environment.Seen{Same: true}, at(5))
	if i.State != environment.Found || i.Why != "" || i.Digest != sum("a") || !environment.Moved(was, i) {
		t.Fatalf("%+v", i)
	}
	if again := environment.Look(i, environment.Seen{Same: true}, at(6)); environment.Moved(i, again) {
		t.Fatalf("a look that found the same is to be recorded: %+v, %+v", i, again)
	}
	i = environment.Look(i, environment.Seen{State: environment.Found, Head: sum("other platforms too"), Digest: sum("a")}, at(7))
	if !i.MovedAt.Equal(at(2)) || i.Head != sum("other platforms too") {
		t.Fatalf("another platform's push has moved it: %+v", i)
	}
}

// Whatever a registry does: the digest is that of the last look that found one,
// and since says when the state began.
func TestLooks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		i := environment.OfKey("linux/amd64 a")
		digest, since := document.Digest(""), time.Time{}
		for n := range rapid.IntRange(1, 12).Draw(t, "looks") {
			seen := environment.Seen{State: rapid.SampledFrom(environment.States()[1:]).Draw(t, "state"), Why: "x"}
			if seen.State == environment.Found {
				seen = found(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "digest"))
				digest = seen.Digest
			}
			if seen.State != i.State {
				since = at(n + 1)
			}
			i = environment.Look(i, seen, at(n+1))
			if i.Digest != digest || !i.Since.Equal(since) || i.State != seen.State || (i.State == environment.Found) != (i.Why == "") {
				t.Fatalf("%+v, want %s since %s", i, digest, since)
			}
		}
	})
}

func TestWhatIsWanted(t *testing.T) {
	t.Parallel()
	pinned := "golang@" + string(sum("p"))
	known := environment.Look(environment.Image{}, found("k"), at(1))
	for _, c := range []struct {
		name  string
		w     environment.Wanted
		want  document.Digest
		words string
	}{
		{"none", environment.Wanted{}, "", ""},
		{"not looked", environment.Wanted{In: "golang:1.22"}, "", "the image golang:1.22 that it is built in: the controller has not looked at it yet"},
		{"known", environment.Wanted{In: "golang:1.22", Image: known}, sum("k"), ""},
		{"known, and away", environment.Wanted{In: "golang:1.22", Image: environment.Look(known, environment.Seen{State: environment.Unreachable, Why: "off"}, at(2))}, sum("k"), "registry is unreachable: off"},
		{"pinned", environment.Wanted{In: pinned}, sum("p"), ""},
		{"a module's", environment.Wanted{In: "mesh.internal/base", Owner: "base", Made: sum("m")}, sum("m"), ""},
		{"a module's that it has not made", environment.Wanted{In: "mesh.internal/base", Owner: "base"}, "", "the image mesh.internal/base that it is built in: module base has no build of it now"},
		{"nobody's", environment.Wanted{In: "mesh.internal/base", Image: known}, "", ""},
	} {
		if got := c.w.Digest(); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := c.w.Words(); (c.words == "") != (got == "") || !strings.Contains(got, c.words) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if environment.Asked(pinned) != "" || environment.Asked("golang") != "docker.io/library/golang:latest" || environment.Asked("") != "" || environment.Asked("mesh.internal/a") != "" {
		t.Error("what is asked")
	}
	for _, s := range environment.States() {
		if got, ok := environment.ParseState(string(s)); !ok || got != s || s.String() == "" {
			t.Errorf("%q is %q", s, got)
		}
	}
	if _, ok := environment.ParseState("other"); ok {
		t.Error("any word is a state")
	}
}

// FuzzParseState: a word is a state, and the same one again.
func FuzzParseState(f *testing.F) {
	for _, s := range environment.States() {
		f.Add(string(s))
	}
	f.Add("Found")
	f.Fuzz(func(t *testing.T, word string) {
		if s, ok := environment.ParseState(word); ok != (string(s) == word) {
			t.Errorf("%q is %q", word, s)
		}
	})
}
