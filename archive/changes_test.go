package archive_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/archive"
	"noxmesh/document"
)

// drawIndex draws files and links at four paths, some of which are not there.
func drawIndex(t *rapid.T) (idx archive.Index) {
	for _, path := range []string{"a", "a/b", "b", "c"} {
		e := archive.Entry{Path: path, Kind: rapid.SampledFrom([]archive.Kind{archive.File, archive.Link}).Draw(t, "kind")}
		if e.Kind == archive.File {
			e.Executable = rapid.Bool().Draw(t, "executable")
			e.Digest = document.Sum([]byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "bytes")))
		} else {
			e.Target = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "target")
		}
		if rapid.IntRange(0, 3).Draw(t, "there") > 0 {
			idx.Entries = append(idx.Entries, e)
		}
	}
	return idx
}

// Two archives differ in just the paths at which their entries do, and in none
// where they are one; from the other side the same paths differ.
func TestChangesProperties(t *testing.T) {
	t.Parallel()
	drawn := rapid.Custom(drawIndex)
	seen := map[string]int{}
	for n := range 100 { // the same ones each time
		for _, c := range archive.Changes(drawn.Example(2*n), drawn.Example(2*n+1)) {
			seen[c.What]++
		}
	}
	for _, what := range []string{archive.Added, archive.Removed, archive.KindChanged, archive.BytesDiffer, archive.Executable, archive.Retargeted} {
		if seen[what] == 0 {
			t.Errorf("nothing was %q", what)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		one, other := drawn.Draw(t, "one"), drawn.Draw(t, "other")
		at := func(idx archive.Index, path string) archive.Entry {
			i := slices.IndexFunc(idx.Entries, func(e archive.Entry) bool { return e.Path == path })
			if i < 0 {
				return archive.Entry{}
			}
			return idx.Entries[i]
		}
		paths := func(all []archive.Change) (out []string) {
			for _, c := range all {
				out = append(out, c.Path)
			}
			return out
		}
		var want []string
		for _, path := range []string{"a", "a/b", "b", "c"} {
			if at(one, path) != at(other, path) {
				want = append(want, path)
			}
		}
		got := archive.Changes(one, other)
		if !slices.Equal(paths(got), want) || !slices.Equal(paths(archive.Changes(other, one)), want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for _, c := range got {
			if (c.What == archive.Removed) != (at(other, c.Path).Path == "") || (c.What == archive.Added) != (at(one, c.Path).Path == "") {
				t.Fatalf("%+v", c)
			}
		}
	})
}
