package delivery

import (
	"slices"
	"time"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/manifest"
)

// Keeping is why the bytes of a build stay in the registry.
type Keeping string

// Why bytes are kept. A build may be kept for several reasons.
const (
	KeptDeclared Keeping = "declared" // on a node
	KeptTold     Keeping = "told"     // a declaration names its content that a node was told, has accepted or is to be told, or has applied it
	KeptWritten  Keeping = "written"  // a declare-write names it: it can be declared again
	KeptCurrent  Keeping = "current"  // it is what would be built now
	KeptFit      Keeping = "fit"      // the newest fit one of its module and platform
	KeptNewest   Keeping = "newest"   // the newest one of its module and platform
	KeptInput    Keeping = "input"    // one that is kept, or is to be made, is built against it
	KeptYoung    Keeping = "young"    // somebody may be about to name it
)

// Keepings is every reason, in the order in which they are shown.
func Keepings() []Keeping {
	return []Keeping{KeptDeclared, KeptTold, KeptWritten, KeptCurrent, KeptFit, KeptNewest, KeptInput, KeptYoung}
}

// Shelf is everything that decides which builds keep their bytes. Every list is a set.
type Shelf struct {
	Modules []Shelved
	Told    map[Content]bool
	Laid    []build.Laid // of the requests that may still be answered
	Grace   time.Duration
}

// Content is what a module amounts to on a machine.
type Content struct {
	Module string
	Digest document.Digest
}

// Shelved is what is known of one module whose builds lie in the registry.
type Shelved struct {
	Facts    Facts             // of one that left: its name, its builds and its declare-writes
	Declared []document.Digest // its builds that are declared on nodes, also where it no longer belongs
	Left     bool              // the mesh no longer has it
	LeftAt   time.Time         // when it left; zero: longer ago than anybody knows
}

// Kept is the builds whose bytes stay, each with every reason, in the order of
// Keepings. What a module left behind is kept for its declare-writes until the
// grace time after it left is over: nobody can roll back to it.
func Kept(s Shelf, now time.Time) map[document.Digest][]Keeping {
	k := keeper{shelf: s, now: now, why: map[document.Digest]map[Keeping]bool{}, made: map[string][]artifact.Build{}}
	for _, m := range s.Modules {
		k.made[m.Facts.Module] = m.Facts.Builds
	}
	for _, m := range s.Modules {
		k.named(m)
	}
	k.inputs()
	for _, m := range s.Modules {
		for _, b := range m.Facts.Builds {
			if now.Sub(b.At) < s.Grace {
				k.keep(b, KeptYoung)
			}
		}
	}
	out := make(map[document.Digest][]Keeping, len(k.why))
	for id, why := range k.why {
		out[id] = slices.DeleteFunc(Keepings(), func(r Keeping) bool { return !why[r] })
	}
	return out
}

type keeper struct {
	shelf Shelf
	now   time.Time
	why   map[document.Digest]map[Keeping]bool
	made  map[string][]artifact.Build // by module
}

func (k *keeper) keep(b artifact.Build, why Keeping) {
	if k.why[b.ID] == nil {
		k.why[b.ID] = map[Keeping]bool{}
	}
	k.why[b.ID][why] = true
}

// named keeps the builds of one module that something names, or would be asked for.
func (k *keeper) named(m Shelved) {
	written := map[document.Digest]bool{}
	if !m.Left || !m.LeftAt.IsZero() && k.now.Sub(m.LeftAt) < k.shelf.Grace {
		for _, w := range m.Facts.Writes {
			written[w.Build] = true
		}
	}
	for _, b := range m.Facts.Builds {
		if slices.Contains(m.Declared, b.ID) {
			k.keep(b, KeptDeclared)
		}
		if k.shelf.Told[Content{b.Module, b.Content}] {
			k.keep(b, KeptTold)
		}
		if written[b.ID] {
			k.keep(b, KeptWritten)
		}
	}
	if !m.Left {
		k.asked(m.Facts)
	}
}

// asked keeps what a module the mesh has would be built again for.
func (k *keeper) asked(f Facts) {
	if b := CurrentBuild(f); b != nil {
		k.keep(*b, KeptCurrent)
	}
	platforms := map[string]bool{}
	for _, b := range f.Builds {
		platforms[b.Manifest.Built.Platform] = true
	}
	for p := range platforms {
		there := func(b artifact.Build) bool { return !b.Gone && b.Manifest.Built.Platform == p }
		if b := newest(f.Builds, there); b != nil {
			k.keep(*b, KeptNewest)
		}
		if b := newest(f.Builds, func(b artifact.Build) bool { return there(b) && b.Verdict.Eligible() }); b != nil {
			k.keep(*b, KeptFit)
		}
	}
}

// inputs keeps what the builds that are kept were made against, what each module
// would be built against now, and what is laid out for the requests.
func (k *keeper) inputs() {
	wanted := map[manifest.Input]bool{}
	for _, m := range k.shelf.Modules {
		for _, b := range m.Facts.Builds {
			if k.why[b.ID] == nil {
				continue
			}
			for _, in := range b.Manifest.Built.Closure {
				wanted[in] = true
			}
		}
		if m.Left {
			continue
		}
		for _, in := range m.Facts.Inputs.All {
			wanted[in] = true
		}
	}
	for in := range wanted {
		k.input(in, func(artifact.Build) bool { return true })
	}
	for _, l := range k.shelf.Laid {
		k.input(manifest.Input{Module: l.Module, Artifact: l.Artifact, Digest: l.Digest}, func(b artifact.Build) bool { return b.Where.Archives[l.Digest] == l.Packed })
	}
}

// input keeps the newest build that has just this to give.
func (k *keeper) input(in manifest.Input, fits func(artifact.Build) bool) {
	if b := giver(k.made[in.Module], in, fits); b != nil {
		k.keep(*b, KeptInput)
	}
}

// giver is the newest of these builds that is there and has just this to give, or nil.
func giver(builds []artifact.Build, in manifest.Input, fits func(artifact.Build) bool) *artifact.Build {
	return newest(builds, func(b artifact.Build) bool {
		return !b.Gone && fits(b) && slices.ContainsFunc(b.Manifest.Built.Libraries, func(l manifest.Library) bool {
			return l.Artifact == in.Artifact && l.Digest == in.Digest
		})
	})
}
