package artifact

import (
	"cmp"
	"slices"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/manifest"
)

// Build is one build that was made, as the record holds it.
type Build struct {
	ID        document.Digest // of the whole built manifest; verdicts and declare-writes are about it
	Content   document.Digest // what it amounts to on a machine
	Module    string
	Manifest  manifest.Built
	Where     build.Where
	Verdict   verdict.Verdict
	Request   string // the request that it answered
	Builder   string
	At        time.Time // when the answer was committed, by the controller's clock
	Sequence  int64     // the record's own order of builds; 0: not recorded yet
	Published document.Digest
	Gone      bool      // the registry has been seen not to hold it
	GoneAt    time.Time // Gone: when that was first seen; zero where nobody knows
	Collected time.Time // Gone: when it was taken away from there, since nothing named it; zero where it was not
	Finding   string    // two answers that differ; empty where there is none
}

// Older orders builds as they were recorded, whatever the clock said then:
// negative where a came before b, and zero where nobody can tell.
func Older(a, b Build) int {
	return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), a.At.Compare(b.At))
}

// Closure is what a build is made of, or would be.
type Closure struct {
	Tree     string
	Platform string
	Inputs   []manifest.Input // sorted

	Environment document.Digest // the image that commands run in; empty: the builder's own root file system
	Bases       []manifest.Base // what container files stand on by a tag, sorted
}

// Of is the closure that a build was made of.
func Of(b Build) Closure {
	p := b.Manifest.Built
	return Closure{Tree: p.Tree, Platform: p.Platform, Inputs: p.Closure, Environment: p.Environment, Bases: p.Bases}
}

// Current reports whether a build made of was would be made of the same now.
func Current(was, now Closure) bool {
	return was.Tree == now.Tree && was.Platform == now.Platform && was.Environment == now.Environment && slices.Equal(was.Inputs, now.Inputs) && slices.Equal(was.Bases, now.Bases)
}
