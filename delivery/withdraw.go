package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"noxmesh/delivery/artifact"
	"noxmesh/document"
)

// Withdrawal is a request that nobody is to take any more, and why.
type Withdrawal struct {
	ID  string
	Why string
}

// MovedOn is what the why of a request begins with that the comparison has
// withdrawn. Such a one counts as never made: where it is wanted again, it is
// asked for again.
const MovedOn = "no longer asked for: "

// withdrawMoved withdraws each request that would not be made now and that nobody
// has taken. One that a builder has begun goes on: what comes of it is a build
// like any other, and may be wanted again.
func (d *Difference) withdrawMoved(f Facts) {
	for _, a := range f.Asked {
		if a.State != Open {
			continue
		}
		if why := movedOn(f, a); why != "" {
			d.Withdraw = append(d.Withdraw, Withdrawal{a.ID, MovedOn + why})
		}
	}
	slices.SortFunc(d.Withdraw, func(a, b Withdrawal) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Why, b.Why)) })
}

// movedOn is why a request would not be made now, or empty.
func movedOn(f Facts, a Asked) string {
	now := ClosureNow(f)
	switch {
	case wantedAgain(f, a):
		return ""
	case a.Closure.Tree != now.Tree:
		return "its source has moved to " + short(f.Source.Commit)
	case a.Closure.Platform != now.Platform:
		return "it is wanted for " + now.Platform
	case len(f.Inputs.Lacks) > 0:
		first, _, _ := strings.Cut(f.Inputs.Lacks[0].For, "\n")
		return "it waits for " + first
	case !artifact.Current(a.Closure, now):
		for _, r := range inputsMoved(a.Closure.Inputs, now.Inputs) {
			return inputWords(r)
		}
		return "the image that it is built in is another"
	}
	if b := CurrentBuild(f); b != nil {
		return fmt.Sprintf("build %s is that already", b.ID.Short())
	}
	return ""
}

// inputWords says how an input has moved, for people.
func inputWords(r Reason) string {
	switch {
	case r.From == "":
		return "it is built against " + r.Module + " now"
	case r.To == "":
		return "it is built against " + r.Module + " no longer"
	}
	return fmt.Sprintf("%s of %s, which it is built against, has moved to %s", r.Artifact, r.Module, document.Digest(r.To).Short())
}

// short is a commit as people read it.
func short(commit string) string { return commit[:min(len(commit), 7)] }
