package artifact_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/delivery/artifact"
	"noxmesh/document"
	"noxmesh/manifest"
)

func input(module, name, digest string) manifest.Input {
	return manifest.Input{Module: module, Artifact: name, Digest: document.Digest(digest)}
}

func TestCurrent(t *testing.T) {
	t.Parallel()
	was := artifact.Closure{Tree: "t", Platform: "linux/amd64", Inputs: []manifest.Input{input("a", "lib", "1"), input("b", "lib", "2")}}
	for _, c := range []struct {
		name string
		move func(*artifact.Closure)
		want bool
	}{
		{"nothing has moved", func(*artifact.Closure) {}, true},
		{"the tree", func(c *artifact.Closure) { c.Tree = "u" }, false},
		{"the platform", func(c *artifact.Closure) { c.Platform = "linux/arm64" }, false},
		{"an input's digest", func(c *artifact.Closure) { c.Inputs[1].Digest = "3" }, false},
		{"an input's name", func(c *artifact.Closure) { c.Inputs[1].Artifact = "bin" }, false},
		{"one input more", func(c *artifact.Closure) { c.Inputs = append(c.Inputs, input("c", "lib", "1")) }, false},
		{"a base", func(c *artifact.Closure) {
			c.Bases = []manifest.Base{{Image: "docker.io/library/debian:12", Digest: "2"}}
		}, false},
		{"one input less", func(c *artifact.Closure) { c.Inputs = c.Inputs[:1] }, false},
	} {
		now := was
		now.Inputs = slices.Clone(was.Inputs)
		c.move(&now)
		if got := artifact.Current(was, now); got != c.want {
			t.Errorf("%s: current is %v", c.name, got)
		}
	}
	if !artifact.Current(artifact.Closure{}, artifact.Closure{Inputs: []manifest.Input{}}) {
		t.Error("no inputs and none are two things")
	}
}

// TestOf: a build is current against its own closure, and the commit has no part in it.
func TestOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{"a", "b"})
		p := manifest.Provenance{Tree: words.Draw(t, "tree"), Platform: words.Draw(t, "platform"), Commit: words.Draw(t, "commit")}
		for range rapid.IntRange(0, 3).Draw(t, "inputs") {
			p.Closure = append(p.Closure, input(words.Draw(t, "module"), words.Draw(t, "artifact"), words.Draw(t, "digest")))
		}
		q := p
		q.Commit = "another"
		one, other := artifact.Build{Manifest: manifest.Built{Built: p}}, artifact.Build{Manifest: manifest.Built{Built: q}, Gone: true}
		if !artifact.Current(artifact.Of(one), artifact.Of(other)) {
			t.Fatalf("%+v is not current against %+v", artifact.Of(one), artifact.Of(other))
		}
	})
}
