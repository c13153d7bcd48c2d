package delivery

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/manifest"
)

// Lost is a build that is declared, or that somebody may go back to, and that
// cannot be had from the registry.
type Lost struct {
	Build artifact.Build
	On    []string // the nodes on which it is declared; none: a declare-write names it
	Says  string   // what becomes of it, and what to do where somebody has to
	Mends bool     // it is built again, and nobody has to do anything

	ask  *Ask
	like string    // a request for its closure
	next time.Time // when it may be asked for; zero where only something else brings that about
}

// Again is a lost build to make again, of what it was made of.
type Again struct {
	Ask
	Build document.Digest
	Like  string // a request for that closure: where its folder is, and in which image it is built
}

// LostOf is the builds of a module that something names and that the registry no
// longer has: those that are declared first, and of these as of the others the
// newest first. One of which another build holds every byte is not lost.
func LostOf(f Facts, now time.Time) []Lost {
	if !slices.ContainsFunc(f.Builds, func(b artifact.Build) bool { return b.Gone }) {
		return nil
	}
	on := declaredOn(f)
	written := map[document.Digest]bool{}
	for _, w := range f.Writes {
		written[w.Build] = true
	}
	var out []Lost
	for _, b := range f.Builds {
		named := len(on[b.ID]) > 0 || written[b.ID] && b.Collected.IsZero()
		if b.Gone && named && !slices.ContainsFunc(f.Builds, func(o artifact.Build) bool { return !o.Gone && sameBytes(o, b) }) {
			out = append(out, Lost{Build: b, On: on[b.ID]})
		}
	}
	slices.SortFunc(out, func(a, b Lost) int {
		if (len(a.On) > 0) != (len(b.On) > 0) {
			return cmp.Compare(len(b.On), len(a.On))
		}
		return -cmp.Or(artifact.Older(a.Build, b.Build), cmp.Compare(a.Build.ID, b.Build.ID))
	})
	for i := range out {
		out[i].mend(f, now)
	}
	return out
}

// declaredOn is the nodes on which each build is declared, of those that the
// module belongs on.
func declaredOn(f Facts) map[document.Digest][]string {
	on := map[document.Digest][]string{}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(f.Nodes))) {
		if id, is := f.Declared[n]; is {
			on[id] = append(on[id], n)
		}
	}
	return on
}

// sameBytes reports whether two builds are the same on a machine, and travel as the same bytes.
func sameBytes(a, b artifact.Build) bool {
	return a.Content == b.Content && maps.Equal(a.Where.Blobs, b.Where.Blobs) && maps.Equal(a.Where.Archives, b.Where.Archives)
}

// mend decides what becomes of a lost build. Of one closure nothing is built
// while a build of it stands, and there is never more than one live request.
func (l *Lost) mend(f Facts, now time.Time) {
	closure := artifact.Of(l.Build)
	if b := newest(f.Builds, func(o artifact.Build) bool { return isCurrent(o, closure) }); b != nil {
		l.Says = "build " + b.ID.Short() + " was made of the same, and is not the same bytes" + l.instead(f, " --build "+b.ID.Short())
		return
	}
	asked := askedFor(f.Asked, closure)
	if len(asked) == 0 && f.Source.Commit != "" && len(f.Inputs.Lacks) == 0 && artifact.Current(closure, ClosureNow(f)) {
		l.Says, l.Mends = "it is to be built again", true // the comparison asks for it as if for the first time
		return
	}
	if len(asked) == 0 {
		l.Says = "it cannot be built again, since the record no longer says how it was asked for" + l.instead(f, "")
		return
	}
	last := asked[0]
	switch last.State {
	case Open:
		l.Says, l.Mends = "it is to be built again, and waits for "+builderWords(f), true
		return
	case Leased:
		l.Says, l.Mends = "it is being built again on builder "+BuilderName(f, last.Builder), true
		return
	case Withdrawn:
		l.Says = "it is not built again: " + outcomeWords(f, last) + l.instead(f, "")
		return
	case Done:
	}
	if lacks := f.Lacking[l.Build.ID]; lacks != "" {
		l.Says = "it cannot be built again: " + lacks + ", which it is built against, is gone from the registry too" + l.instead(f, "")
		return
	}
	l.like, l.next = last.ID, due(f, last, now)
	if now.Before(l.next) {
		l.Says, l.Mends = "the last attempt to build it again: "+outcomeWords(f, last), last.Outcome != build.OutcomeFailed
		if !l.Mends {
			l.Says += l.instead(f, "")
		}
		return
	}
	l.Says, l.Mends = "it is to be built again", true
	l.ask = &Ask{l.Build.Manifest.Built.Commit, closure, last.Attempt + 1}
}

// instead is what a person can do about a build that does not come back.
func (l *Lost) instead(f Facts, which string) string {
	if len(l.On) == 0 {
		return "; nobody can go back to it"
	}
	return "; mesh declare " + f.Module + which + " puts another in its place"
}

// again asks for the first lost build that may be asked for. One after the other:
// what is to be built now goes first, and a registry that has lost everything
// does not fill the queue with what nobody may ever go back to.
func (d *Difference) again(f Facts, now time.Time) {
	if d.Ask != nil || slices.ContainsFunc(f.Asked, func(a Asked) bool { return a.State.live() }) {
		return
	}
	for _, l := range LostOf(f, now) {
		if l.ask != nil {
			d.Again = &Again{*l.ask, l.Build.ID, l.like}
			return
		}
		if now.Before(l.next) && (d.Next.IsZero() || l.next.Before(d.Next)) {
			d.Next = l.next
		}
	}
}

// wantedAgain reports whether a request is for a build that was lost.
func wantedAgain(f Facts, a Asked) bool {
	return slices.ContainsFunc(LostOf(f, a.Since), func(l Lost) bool {
		closure := artifact.Of(l.Build)
		stands := slices.ContainsFunc(f.Builds, func(o artifact.Build) bool { return isCurrent(o, closure) })
		return !stands && artifact.Current(a.Closure, closure)
	})
}

// LaidAgain is what is laid out for a build of this closure, as what there is now
// gives it, or else what nothing gives any more. Made is the builds of a module.
func LaidAgain(closure []manifest.Input, made func(module string) []artifact.Build) (laid []build.Laid, lacks string) {
	for _, in := range closure {
		b := giver(made(in.Module), in, func(artifact.Build) bool { return true })
		if b == nil {
			return nil, in.Artifact + " of " + in.Module
		}
		i := slices.IndexFunc(b.Manifest.Built.Libraries, func(l manifest.Library) bool { return l.Artifact == in.Artifact && l.Digest == in.Digest })
		laid = append(laid, build.Laid{
			Module: in.Module, Artifact: in.Artifact, Language: b.Manifest.Built.Libraries[i].Language, Digest: in.Digest, Packed: b.Where.Archives[in.Digest],
		})
	}
	return laid, ""
}

// laterTurns is how many turns go by from one look for a build that somebody may go
// back to until the next one is looked for: there may be a hundred of them, and
// nobody is waiting for any.
const laterTurns = 16

// ToLookFor is the builds to look for in the registry in this turn: the current
// one, each that is declared, and now and then one of those that somebody may go
// back to; in turn 0, which is for when something was found to be lost, all of
// those. One that was gone is among them: it may have come back.
func ToLookFor(f Facts, turn int) []artifact.Build {
	current, on := CurrentBuild(f), declaredOn(f)
	written := map[document.Digest]bool{}
	for _, w := range f.Writes {
		written[w.Build] = true
	}
	var now, later []artifact.Build
	for _, b := range f.Builds {
		switch {
		case current != nil && current.ID == b.ID, len(on[b.ID]) > 0:
			now = append(now, b)
		case written[b.ID] && b.Collected.IsZero():
			later = append(later, b)
		}
	}
	older := func(a, b artifact.Build) int { return cmp.Or(artifact.Older(a, b), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(now, older)
	slices.SortFunc(later, older)
	switch {
	case turn == 0:
		now = append(now, later...)
	case len(later) > 0 && turn%laterTurns == 0:
		now = append(now, later[turn/laterTurns%len(later)])
	}
	return now
}
