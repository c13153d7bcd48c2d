package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/manifest"
)

// keptSlowly asks of each build each question by itself.
func keptSlowly(s delivery.Shelf, now time.Time) map[document.Digest][]delivery.Keeping {
	out := map[document.Digest][]delivery.Keeping{}
	isNamed := map[document.Digest]bool{}
	say := func(b artifact.Build, why delivery.Keeping, is bool) {
		if is && !slices.Contains(out[b.ID], why) {
			out[b.ID] = append(out[b.ID], why)
		}
	}
	for _, m := range s.Modules {
		for _, b := range m.Facts.Builds {
			say(b, delivery.KeptDeclared, slices.Contains(m.Declared, b.ID))
			say(b, delivery.KeptTold, s.Told[delivery.Content{Module: m.Facts.Module, Digest: b.Content}])
			recently := !m.LeftAt.IsZero() && m.LeftAt.Add(s.Grace).After(now)
			say(b, delivery.KeptWritten, (!m.Left || recently) && slices.ContainsFunc(m.Facts.Writes, func(w delivery.Write) bool { return w.Build == b.ID }))
			if !m.Left {
				newest, fit := !b.Gone, !b.Gone && b.Verdict == verdict.Fit
				for _, o := range m.Facts.Builds {
					if o.Sequence > b.Sequence && !o.Gone && o.Manifest.Built.Platform == b.Manifest.Built.Platform {
						newest = false
						fit = fit && o.Verdict != verdict.Fit
					}
				}
				current := delivery.CurrentBuild(m.Facts)
				say(b, delivery.KeptCurrent, current != nil && current.ID == b.ID)
				say(b, delivery.KeptFit, fit)
				say(b, delivery.KeptNewest, newest)
			}
			isNamed[b.ID] = len(out[b.ID]) > 0
		}
	}
	for _, m := range s.Modules {
		for _, b := range m.Facts.Builds {
			for _, l := range b.Manifest.Built.Libraries {
				newestOf := func(also func(artifact.Build) bool) bool {
					gives := func(o artifact.Build) bool {
						return !o.Gone && also(o) && slices.ContainsFunc(o.Manifest.Built.Libraries, func(x manifest.Library) bool { return x.Artifact == l.Artifact && x.Digest == l.Digest })
					}
					return gives(b) && !slices.ContainsFunc(m.Facts.Builds, func(o artifact.Build) bool { return gives(o) && o.Sequence > b.Sequence })
				}
				asks := func(in manifest.Input) bool {
					return in.Module == m.Facts.Module && in.Artifact == l.Artifact && in.Digest == l.Digest
				}
				wanted := false
				for _, user := range s.Modules {
					wanted = wanted || !user.Left && slices.ContainsFunc(user.Facts.Inputs.All, asks)
					for _, u := range user.Facts.Builds {
						wanted = wanted || isNamed[u.ID] && slices.ContainsFunc(u.Manifest.Built.Closure, asks)
					}
				}
				say(b, delivery.KeptInput, wanted && newestOf(func(artifact.Build) bool { return true }))
				for _, laid := range s.Laid {
					in := manifest.Input{Module: laid.Module, Artifact: laid.Artifact, Digest: laid.Digest}
					say(b, delivery.KeptInput, asks(in) && newestOf(func(o artifact.Build) bool { return o.Where.Archives[laid.Digest] == laid.Packed }))
				}
			}
			say(b, delivery.KeptYoung, now.Sub(b.At) < s.Grace)
		}
	}
	return out
}

func drawShelf(t *rapid.T, now time.Time) delivery.Shelf {
	s := delivery.Shelf{Told: map[delivery.Content]bool{}, Grace: 24 * time.Hour}
	names := []string{"a", "b", "c"}
	word := func(of string, words ...string) string { return rapid.SampledFrom(words).Draw(t, of) }
	digest := func(of string) document.Digest { return document.Sum([]byte(word(of, "x", "y", "z"))) }
	when := func(of string) time.Time {
		return now.Add(-time.Duration(rapid.IntRange(-2, 60).Draw(t, of)) * time.Hour)
	}
	input := func() manifest.Input {
		return manifest.Input{Module: word("of", names...), Artifact: word("artifact", "lib", "go"), Digest: digest("input")}
	}
	packed := func() build.Packed { return build.Packed{Size: int64(rapid.IntRange(1, 2).Draw(t, "packed"))} }
	sequence := int64(0)
	for _, name := range names {
		m := delivery.Shelved{Left: rapid.IntRange(0, 3).Draw(t, "left") == 0}
		m.Facts = delivery.Facts{Module: name, Platform: "linux/amd64"}
		if m.Left && rapid.Bool().Draw(t, "known when") {
			m.LeftAt = when("left at")
		}
		m.Facts.Source.Tree = word("tree", "t1", "t2")
		for range rapid.IntRange(0, 2).Draw(t, "inputs") {
			m.Facts.Inputs.All = append(m.Facts.Inputs.All, input())
		}
		for range rapid.IntRange(0, 5).Draw(t, "builds") {
			sequence++
			b := artifact.Build{
				ID: document.Sum(fmt.Append(nil, sequence)), Content: digest("content"), Module: name, Sequence: sequence, At: when("at"),
				Verdict: rapid.SampledFrom([]verdict.Verdict{verdict.Fit, verdict.Unfit, verdict.Outstanding}).Draw(t, "verdict"),
				Gone:    rapid.IntRange(0, 4).Draw(t, "gone") == 0,
			}
			p := &b.Manifest.Built
			p.Tree, p.Platform = word("tree", "t1", "t2"), word("platform", "linux/amd64", "linux/arm64")
			for range rapid.IntRange(0, 2).Draw(t, "closure") {
				p.Closure = append(p.Closure, input())
			}
			b.Where.Archives = map[document.Digest]build.Packed{}
			for range rapid.IntRange(0, 2).Draw(t, "libraries") {
				l := manifest.Library{Artifact: word("gives", "lib", "go"), Digest: digest("library")}
				p.Libraries = append(p.Libraries, l)
				b.Where.Archives[l.Digest] = packed()
			}
			m.Facts.Builds = append(m.Facts.Builds, b)
			if rapid.IntRange(0, 4).Draw(t, "declared") == 0 {
				m.Declared = append(m.Declared, b.ID)
			}
			if rapid.IntRange(0, 3).Draw(t, "written") == 0 {
				m.Facts.Writes = append(m.Facts.Writes, delivery.Write{ID: sequence, Build: b.ID})
			}
		}
		s.Modules = append(s.Modules, m)
	}
	for range rapid.IntRange(0, 2).Draw(t, "told") {
		s.Told[delivery.Content{Module: word("told of", names...), Digest: digest("told")}] = true
	}
	for range rapid.IntRange(0, 2).Draw(t, "laid") {
		in := input()
		s.Laid = append(s.Laid, build.Laid{Module: in.Module, Artifact: in.Artifact, Digest: in.Digest, Packed: packed()})
	}
	return s
}

// What is kept is what a slow model keeps, and why; the order of the facts has no part in it.
func TestKeptIsWhatTheModelKeeps(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	drawn := rapid.Custom(func(t *rapid.T) delivery.Shelf { return drawShelf(t, now) })
	seen := map[delivery.Keeping]int{}
	gone := 0
	for n := range 200 { // the same ones each time
		s := drawn.Example(n)
		kept := delivery.Kept(s, now)
		for _, m := range s.Modules {
			for _, b := range m.Facts.Builds {
				if len(kept[b.ID]) == 0 {
					gone++
				}
			}
		}
		for _, why := range kept {
			for _, w := range why {
				seen[w]++
			}
		}
	}
	for _, w := range delivery.Keepings() {
		if seen[w] < 5 {
			t.Errorf("%s: only %d builds were kept for that", w, seen[w])
		}
	}
	if gone < 5 {
		t.Errorf("only %d builds were not kept", gone)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawn.Draw(t, "shelf")
		want := keptSlowly(s, now)
		for id := range want {
			slices.SortFunc(want[id], func(a, b delivery.Keeping) int {
				return slices.Index(delivery.Keepings(), a) - slices.Index(delivery.Keepings(), b)
			})
		}
		got := delivery.Kept(s, now)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s", diff)
		}
		slices.Reverse(s.Modules)
		for i := range s.Modules {
			slices.Reverse(s.Modules[i].Facts.Builds)
		}
		if diff := cmp.Diff(got, delivery.Kept(s, now)); diff != "" {
			t.Fatalf("in another order: %s", diff)
		}
	})
}
