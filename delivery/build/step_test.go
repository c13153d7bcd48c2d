package build_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/manifest"
)

func TestStepsOfAnAnswer(t *testing.T) {
	t.Parallel()
	a := failed(t)
	a.Steps = []build.Took{{Step: "clone", Took: 12}, {Step: "lay out"}, {Step: "build", Took: 60_000}}
	again, err := build.DecodeAnswer([]byte(encode(t, a)))
	if d := gocmp.Diff(a, again); err != nil || d != "" {
		t.Fatalf("%v %s", err, d)
	}
	for says, steps := range map[string][]build.Took{
		"steps[0].step":       {{Step: "Clone"}},
		"steps[1].step":       {{Step: "clone"}, {Step: "\x1b[2J"}},
		"there is another":    {{Step: "clone"}, {Step: "clone"}},
		"steps[0].took":       {{Step: "clone", Took: -1}},
		"want at most 32":     make([]build.Took, 33),
		"inner spaces":        {{Step: "a "}},
		"want lower-case":     {{Step: strings.Repeat("a", 33)}},
		"not the name of a s": {{}},
	} {
		b := a
		b.Steps = steps
		text, err := document.Canonical(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := build.DecodeAnswer(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", steps, err, says)
		}
	}
}

// Whatever a build has made: each archive and each file is named once, with the
// size of what travels, and the order is one.
func TestArtifactsProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		m, w := manifest.Built{}, build.Where{Archives: map[document.Digest]build.Packed{}, Blobs: map[document.Digest]int64{}}
		for _, n := range rapid.SliceOfDistinct(names, rapid.ID[string]).Draw(t, "archives") {
			w.Archives[digest("archive "+n)] = build.Packed{Size: int64(len(n)) + 1}
			switch rapid.IntRange(0, 2).Draw(t, "is") {
			case 0:
				m.Built.Libraries = append(m.Built.Libraries, manifest.Library{Artifact: n, Digest: digest("archive " + n)})
			case 1:
				m.Resources = append(m.Resources, manifest.BuiltResource{ID: n, Type: "archive", Digest: digest("archive " + n)})
			}
		}
		for _, n := range rapid.SliceOfDistinct(names, rapid.ID[string]).Draw(t, "files") {
			w.Blobs[digest("file "+n)] = 5
			m.Resources = append(m.Resources, manifest.BuiltResource{ID: n, Type: "file", Digest: digest("file " + n), Size: 5})
		}
		if rapid.Bool().Draw(t, "image") {
			w.Blobs[digest("layer")], w.Blobs[digest("image")] = 100, 7
			m.Built.Images = []manifest.Image{{Artifact: "image", Digest: digest("image"), Size: 7}}
		}
		all := build.Artifacts(m, w)
		seen := map[document.Digest]build.Artifact{}
		for _, a := range all {
			if _, twice := seen[a.Digest]; twice {
				t.Fatalf("%s stands there twice", a.Name)
			}
			seen[a.Digest] = a
			if a.Type == "image" && a.Size != 107 {
				t.Fatalf("the image has %d bytes", a.Size)
			}
		}
		for digest, p := range w.Archives {
			if a, there := seen[digest]; !there || a.Size != p.Size {
				t.Fatalf("an archive of %d bytes is %v", p.Size, a)
			}
		}
		for _, r := range m.Resources {
			if a := seen[r.Digest]; a.Name != r.ID || a.Type != r.Type {
				t.Fatalf("what resource %s is for is %v", r.ID, a)
			}
		}
		if want := len(w.Archives) + len(m.Built.Images) + countFiles(m); len(all) != want {
			t.Fatalf("%d artifacts, want %d", len(all), want)
		}
		if !slices.IsSortedFunc(all, func(a, b build.Artifact) int {
			return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
		}) {
			t.Fatalf("not in order: %v", all)
		}
	})
}

func countFiles(m manifest.Built) (n int) {
	for _, r := range m.Resources {
		if r.Type == "file" {
			n++
		}
	}
	return n
}

// Two builds are alike where each artifact of the one is one of the other; of
// what is not alike, each digest stands in one difference, on its own side.
func TestDifferencesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []build.Artifact {
			return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) build.Artifact {
				return build.Artifact{
					Name: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "name"), Type: rapid.SampledFrom([]string{"archive", "file"}).Draw(t, "type"),
					Digest: digest(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "digest")),
				}
			}), 0, 8, rapid.ID[build.Artifact]).Draw(t, name)
		}
		was, is := draw("was"), draw("is")
		only := func(all, others []build.Artifact) map[build.Artifact]bool {
			out := map[build.Artifact]bool{}
			for _, a := range all {
				if !slices.Contains(others, a) {
					out[a] = true
				}
			}
			return out
		}
		lost, found := map[build.Artifact]bool{}, map[build.Artifact]bool{}
		for _, d := range build.Differences(was, is) {
			if d.Was == d.Is {
				t.Fatalf("%+v is alike", d)
			}
			if d.Was != "" {
				lost[build.Artifact{Name: d.Artifact, Type: d.Type, Digest: d.Was}] = true
			}
			if d.Is != "" {
				found[build.Artifact{Name: d.Artifact, Type: d.Type, Digest: d.Is}] = true
			}
		}
		if diff := gocmp.Diff(only(was, is), lost); diff != "" {
			t.Fatalf("of the first: %s", diff)
		}
		if diff := gocmp.Diff(only(is, was), found); diff != "" {
			t.Fatalf("of the second: %s", diff)
		}
	})
}
