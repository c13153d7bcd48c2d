package delivery

import (
	"slices"

	"noxmesh/delivery/artifact"
	"noxmesh/manifest"
)

// Cause is a kind of reason for which a module is stale.
type Cause string

// The causes.
const (
	NeverBuilt    Cause = "never-built" // nothing has been made of it yet
	TreeMoved     Cause = "tree"        // its source is another
	PlatformMoved Cause = "platform"    // it is wanted for another
	InputMoved    Cause = "input"       // what it was built against is another
	ImageMoved    Cause = "environment" // the image that it was built in is another
	ArtifactGone  Cause = "gone"        // the registry no longer has what was made
)

// Reason is one thing for which a module is stale: what was, and what is.
type Reason struct {
	Cause    Cause
	Module   string // of an input, or of an environment: whose image it is, where it is a module's
	Image    string // of an environment: its name as the module says it now, empty where it names none
	Artifact string // of an input
	From, To string // empty where there was nothing, or is nothing now
}

// Stale is why what was made of a module last is not what would be made now:
// empty where it is current, and where its source was never read. While it is
// not known what it would be built against, its inputs are not compared.
func Stale(f Facts) []Reason {
	if f.Source.Commit == "" || CurrentBuild(f) != nil {
		return nil
	}
	now := ClosureNow(f)
	last := NewestBuild(f)
	if last == nil {
		return []Reason{{Cause: NeverBuilt, To: now.Tree}}
	}
	known := len(f.Inputs.Lacks) == 0
	gone := func(b artifact.Build) bool { return b.Gone && known && artifact.Current(artifact.Of(b), now) }
	if b := newest(f.Builds, gone); b != nil {
		return []Reason{{Cause: ArtifactGone, From: string(b.ID)}}
	}
	var all []Reason
	was := artifact.Of(*last)
	if was.Tree != now.Tree {
		all = append(all, Reason{Cause: TreeMoved, From: was.Tree, To: now.Tree})
	}
	if was.Platform != now.Platform {
		all = append(all, Reason{Cause: PlatformMoved, From: was.Platform, To: now.Platform})
	}
	if known {
		moved := inputsMoved(was.Inputs, now.Inputs)
		if was.Environment != now.Environment {
			in := Reason{Cause: ImageMoved, Module: f.In.Owner, Image: f.In.In, From: string(was.Environment), To: string(now.Environment)}
			moved = append(slices.DeleteFunc(moved, in.same), in)
		}
		moved = append(moved, basesMoved(was.Bases, now.Bases)...)
		all = append(all, moved...)
	}
	return all
}

// basesMoved is each tag that means another image than it did.
func basesMoved(was, now []manifest.Base) (all []Reason) {
	for _, b := range now {
		i := slices.IndexFunc(was, func(o manifest.Base) bool { return o.Image == b.Image })
		if i >= 0 && was[i].Digest != b.Digest {
			all = append(all, Reason{Cause: ImageMoved, Image: b.Image, From: string(was[i].Digest), To: string(b.Digest)})
		}
	}
	return all
}

// same reports whether an input has moved that is the image which commands run in:
// that is one cause.
func (r Reason) same(input Reason) bool {
	return (input.From == "" || input.From == r.From) && (input.To == "" || input.To == r.To)
}

// inputsMoved is each input that is another, came or went, by module.
func inputsMoved(was, now []manifest.Input) []Reason {
	find := func(in []manifest.Input, module, artifact string) string {
		for _, i := range in {
			if i.Module == module && i.Artifact == artifact {
				return string(i.Digest)
			}
		}
		return ""
	}
	var all []Reason
	seen := map[[2]string]bool{}
	for _, i := range slices.SortedFunc(slices.Values(slices.Concat(was, now)), manifest.Input.Compare) {
		key := [2]string{i.Module, i.Artifact}
		from, to := find(was, i.Module, i.Artifact), find(now, i.Module, i.Artifact)
		if from != to && !seen[key] {
			all = append(all, Reason{Cause: InputMoved, Module: i.Module, Artifact: i.Artifact, From: from, To: to})
		}
		seen[key] = true
	}
	return all
}
