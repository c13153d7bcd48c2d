package delivery

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/source"
	"noxmesh/manifest"
)

// Compare is the difference between what exists and what was built of one module.
func Compare(f Facts, now time.Time) Difference {
	d := compare(f, now)
	d.again(f, now)
	return d
}

func compare(f Facts, now time.Time) Difference {
	d := Difference{Module: f.Module}
	if f.Source.State != source.Read || f.Source.Commit == "" {
		d.wait("its source: "+sourceWords(f.Source), firstKnown(f.Source.Since, f.AddedAt))
	}
	if f.Source.Commit == "" {
		return d
	}
	d.withdrawMoved(f)
	d.waitFor(f.Inputs.Lacks)
	if f.Inputs.Away != nil {
		d.waitFor([]Waiting{*f.Inputs.Away})
	}
	if current := CurrentBuild(f); current != nil {
		d.compareDeclared(f, *current)
	} else if len(f.Inputs.Lacks) == 0 {
		d.compareBuilt(f, now)
	}
	return d
}

// ClosureNow is what the module would be built of now.
func ClosureNow(f Facts) artifact.Closure {
	return artifact.Closure{
		Tree: f.Source.Tree, Platform: f.Platform, Inputs: append([]manifest.Input{}, f.Inputs.All...),
		Environment: f.Inputs.Environment, Bases: f.Inputs.Bases,
	}
}

// CurrentBuild is the newest build that is current and still in the registry, or
// nil. While it is not known what the module would be built against, none is.
func CurrentBuild(f Facts) *artifact.Build {
	if len(f.Inputs.Lacks) > 0 {
		return nil
	}
	now := ClosureNow(f)
	return newest(f.Builds, func(b artifact.Build) bool { return isCurrent(b, now) })
}

// IsCurrent reports whether a build is what would be made now, and is there.
func IsCurrent(f Facts, b artifact.Build) bool {
	return len(f.Inputs.Lacks) == 0 && isCurrent(b, ClosureNow(f))
}

func isCurrent(b artifact.Build, now artifact.Closure) bool {
	return !b.Gone && artifact.Current(artifact.Of(b), now)
}

// NewestBuild is the newest build of the module, current or not, or nil.
func NewestBuild(f Facts) *artifact.Build {
	return newest(f.Builds, func(artifact.Build) bool { return true })
}

// newest orders builds as they were recorded, and where nobody can tell by their digests, so that
// the choice is the same whatever order they come in.
func newest(builds []artifact.Build, counts func(artifact.Build) bool) *artifact.Build {
	var found *artifact.Build
	for i, b := range builds {
		if counts(b) && (found == nil || cmp.Or(artifact.Older(b, *found), cmp.Compare(b.ID, found.ID)) > 0) {
			found = &builds[i]
		}
	}
	return found
}

func (d *Difference) wait(what string, since time.Time) {
	d.Waiting = append(d.Waiting, Waiting{what, since})
}

// firstKnown is the first of two times that is known.
func firstKnown(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

// compareBuilt decides whether to ask for a build. Of one closure there is never
// more than one live request.
func (d *Difference) compareBuilt(f Facts, now time.Time) {
	closure := ClosureNow(f)
	asked := askedFor(f.Asked, closure)
	if len(asked) == 0 {
		if d.awaitLook(f, now) {
			return
		}
		d.Ask = &Ask{f.Source.Commit, closure, 1}
		return
	}
	last := asked[0]
	switch last.State {
	case Open:
		d.wait(builderWords(f), last.Since)
	case Leased:
		d.wait("the build on builder "+BuilderName(f, last.Builder), last.Since)
	case Withdrawn:
		d.wait("a new commit, or mesh module look "+f.Module+": "+outcomeWords(f, last), last.Since)
	case Done:
		if next := due(f, last, now); now.Before(next) {
			d.wait("the next attempt: "+outcomeWords(f, last), last.Since)
			d.Next = next
			return
		}
		d.Ask = &Ask{f.Source.Commit, closure, last.Attempt + 1}
	}
}

// due is when the next attempt at a closure is due whose last one has ended like this.
func due(f Facts, last Asked, now time.Time) time.Time {
	wait := Retry(last.Attempt)
	next := last.Since.Add(wait)
	switch {
	case last.Outcome == build.OutcomeBuilt && last.Attempt == 1 && wasMade(f, last.Closure):
		return now // it is gone from the registry; a registry that goes on losing it is not asked to at full speed
	case next.Sub(now) > wait:
		return now // it ended by a clock that has been set back since
	}
	return next
}

// firstLook is how long the first build of a module waits at most for the first look
// at another. Mostly that takes a second.
const firstLook = time.Minute

// awaitLook waits with the first build of a module while one that nobody has looked at
// yet may own what its code asks for: modules that are added together would be built
// without each other, fail, and be built again. It decides nothing else: what is
// known then counts, whoever is still to be read.
func (d *Difference) awaitLook(f Facts, now time.Time) bool {
	u := f.Unlooked
	if u == nil || len(f.Builds)+len(f.Asked) > 0 {
		return false
	}
	due := u.Since.Add(firstLook)
	if moved := firstKnown(f.Source.MovedAt, f.AddedAt).Add(firstLook); moved.Before(due) {
		due = moved
	}
	if !now.Before(due) || due.Sub(now) > firstLook { // a clock that was set back makes nobody wait for long
		return false
	}
	d.wait("the first look at "+u.Module+", which may own what is asked for: "+u.Asked, u.Since)
	d.Next = due
	return true
}

// askedFor is the requests for this closure, but for those that were withdrawn
// when it was not wanted: the live ones first, and among these as among the others
// the last attempt first.
func askedFor(asked []Asked, closure artifact.Closure) []Asked {
	var out []Asked
	for _, a := range asked {
		if artifact.Current(a.Closure, closure) && (a.State != Withdrawn || !strings.HasPrefix(a.Why, MovedOn)) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b Asked) int {
		if a.State.live() != b.State.live() {
			if a.State.live() {
				return -1
			}
			return 1
		}
		return -cmp.Or(cmp.Compare(a.Attempt, b.Attempt), a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// wasMade reports whether there is a build of this closure, gone or not.
func wasMade(f Facts, closure artifact.Closure) bool {
	return slices.ContainsFunc(f.Builds, func(b artifact.Build) bool { return artifact.Current(artifact.Of(b), closure) })
}

// Retry is how long after the n-th failed attempt the next one is due. Between
// a minute and six hours, twice as long each time: a build whose closure has
// not moved mostly fails again.
func Retry(attempts int64) time.Duration {
	const longest = 6 * time.Hour
	d := time.Minute
	for range attempts - 1 {
		if d *= 2; d >= longest {
			return longest
		}
	}
	return d
}

// Failing is the last attempts to build what the source is now, which all ended
// alike and without a build.
type Failing struct {
	Says  string
	Since time.Time // when the first of them ended
	Last  time.Time
	Count int64
}

// FailingOf is how the module's builds fail, or nil where they do not. It is
// read out of the record of builds, and counted nowhere else.
func FailingOf(f Facts) *Failing {
	if nothingToAsk(f) {
		return nil
	}
	ended := slices.DeleteFunc(askedFor(f.Asked, ClosureNow(f)), func(a Asked) bool { return a.State.live() })
	if len(ended) == 0 || ended[0].State == Done && ended[0].Outcome == build.OutcomeBuilt {
		return nil
	}
	last := ended[0]
	if last.State == Withdrawn && strings.HasPrefix(last.Why, CancelledBy) {
		return nil // somebody has decided so
	}
	out := Failing{Says: outcomeWords(f, last), Last: last.Since}
	for _, a := range ended {
		if a.State != last.State || a.Outcome != last.Outcome || a.Step != last.Step {
			break
		}
		out.Since = a.Since
		out.Count++
	}
	if last.State == Withdrawn {
		out.Count = max(out.Count, lostLeases)
	}
	return &out
}

// CancelledBy is what the why of a request begins with that a person has withdrawn.
const CancelledBy = "cancelled by "

// lostLeases is how often a request was tried that was withdrawn for having lost
// its builders.
const lostLeases = 3
