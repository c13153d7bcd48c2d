package delivery

import (
	"fmt"
	"slices"
	"time"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/source"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/manifest"
)

// Policy is who declares a module's builds.
type Policy string

// The policies. Nothing declares itself by omission: Manual is where a module begins.
const (
	Manual Policy = "manual"
	Auto   Policy = "auto"
)

// ParsePolicy is the policy with this name.
func ParsePolicy(s string) (Policy, bool) {
	p := Policy(s)
	return p, p == Manual || p == Auto
}

// Facts is everything that is known of one module.
type Facts struct {
	Module   string
	Policy   Policy
	Source   source.Source
	Builds   []artifact.Build           // in any order
	Asked    []Asked                    // requests, in any order
	Nodes    []string                   // ids of the nodes that it belongs on
	Declared map[string]document.Digest // by node: the build
	Writes   []Write                    // declare-writes, in any order
	Platform string                     // what it is built for
	Builders []Builder                  // the builders that have joined
}

// Builder is what the comparison needs to know of one.
type Builder struct {
	Platform string
	Sandbox  string // why it has none; empty where it has one
}

// Asked is one request that was made of the builders and what became of it.
type Asked struct {
	ID      string
	Closure artifact.Closure
	Attempt int64
	State   AskState
	Builder string // leased
	Since   time.Time
	Outcome build.Outcome // done
	Step    build.Step    // done, failed
	Why     string        // done, withdrawn
}

// AskState is where a request stands.
type AskState string

// The states of a request.
const (
	Open      AskState = "open"
	Leased    AskState = "leased"
	Done      AskState = "done"
	Withdrawn AskState = "withdrawn"
)

// Write is one declare-write.
type Write struct {
	Build  document.Digest
	By     string
	Policy bool // a policy wrote it, not a person
	At     time.Time
}

// Difference is what to do about one module now, and what it waits for.
type Difference struct {
	Module  string
	Ask     *Ask
	Declare *Declare
	Waiting []Waiting
	Next    time.Time // when to look again though nothing has moved; zero for never
}

// Ask is a build to ask for.
type Ask struct {
	Commit  string
	Closure artifact.Closure
	Attempt int64
}

// Declare is a build to declare on these nodes, in one write.
type Declare struct {
	Build document.Digest
	Nodes []string // sorted
}

// Waiting is something outside that has to happen first.
type Waiting struct {
	For   string
	Since time.Time
}

// Retry is how long after the n-th failed attempt the next one is due. Between
// a minute and six hours, twice as long each time: a build whose closure has
// not moved mostly fails again.
func Retry(attempts int64) time.Duration {
	d := time.Minute
	for range min(attempts-1, 16) {
		d *= 2
	}
	return min(d, 6*time.Hour)
}

// Compare is the difference between what exists and what was built of one module.
func Compare(f Facts, now time.Time) Difference {
	d := Difference{Module: f.Module}
	if f.Source.Commit == "" {
		d.wait("its source: "+SourceWords(f.Source), f.Source.Since)
		return d
	}
	if f.Source.State != source.Read {
		d.wait("its source: "+SourceWords(f.Source), f.Source.Since)
	}
	current := CurrentBuild(f)
	if current == nil {
		d.compareBuild(f, now)
		return d
	}
	d.compareDeclared(f, *current)
	return d
}

// ClosureNow is what the module would be built of now.
func ClosureNow(f Facts) artifact.Closure {
	return artifact.Closure{Tree: f.Source.Tree, Platform: f.Platform, Inputs: []manifest.Input{}}
}

// CurrentBuild is the newest build that is current and still in the registry, or nil.
func CurrentBuild(f Facts) *artifact.Build {
	now := ClosureNow(f)
	var found *artifact.Build
	for i, b := range f.Builds {
		if !b.Gone && artifact.Current(artifact.Of(b), now) && (found == nil || newer(b, *found)) {
			found = &f.Builds[i]
		}
	}
	return found
}

// newer orders builds by time, and two of one instant by their digests, so that
// the choice is the same whatever order they come in.
func newer(a, b artifact.Build) bool {
	if !a.At.Equal(b.At) {
		return a.At.After(b.At)
	}
	return a.ID > b.ID
}

func (d *Difference) wait(what string, since time.Time) {
	d.Waiting = append(d.Waiting, Waiting{what, since})
}

func (d *Difference) compareBuild(f Facts, now time.Time) {
	closure := ClosureNow(f)
	last := lastAsked(f.Asked, closure)
	if last == nil {
		d.Ask = &Ask{f.Source.Commit, closure, 1}
		return
	}
	switch last.State {
	case Open:
		d.wait(builderWords(f), last.Since)
	case Leased:
		d.wait("the build on builder "+last.Builder, last.Since)
	case Withdrawn:
		d.wait("a new commit: the build was withdrawn, "+last.Why, last.Since)
	case Done:
		due := last.Since.Add(Retry(last.Attempt))
		if last.Outcome == build.OutcomeBuilt {
			due = now // what was built is gone from the registry
		}
		if !now.Before(due) {
			d.Ask = &Ask{f.Source.Commit, closure, last.Attempt + 1}
			return
		}
		d.wait(fmt.Sprintf("the next attempt: %s", OutcomeWords(*last)), last.Since)
		d.Next = due
	}
}

// lastAsked is the request with the highest attempt for this closure, or nil.
func lastAsked(asked []Asked, closure artifact.Closure) *Asked {
	var last *Asked
	for i, a := range asked {
		if artifact.Current(a.Closure, closure) && (last == nil || a.Attempt > last.Attempt) {
			last = &asked[i]
		}
	}
	return last
}

func builderWords(f Facts) string {
	for _, b := range f.Builders {
		if b.Platform == f.Platform {
			return "a builder for " + f.Platform
		}
	}
	return "a builder for " + f.Platform + ", none has joined"
}

// OutcomeWords says how a request ended, for people.
func OutcomeWords(a Asked) string {
	switch a.Outcome {
	case build.OutcomeFailed:
		return fmt.Sprintf("%s failed: %s", a.Step, a.Why)
	case build.OutcomeEnvironment:
		return "the builder could not: " + a.Why
	case build.OutcomeBuilt:
		return "built, and no longer in the registry"
	}
	return "not answered"
}

// SourceWords says how a source stands, for people.
func SourceWords(s source.Source) string {
	if s.Why == "" {
		return s.State.String()
	}
	return s.State.String() + ": " + s.Why
}

func (d *Difference) compareDeclared(f Facts, b artifact.Build) {
	switch b.Verdict {
	case verdict.Outstanding:
		d.wait("a verdict", b.At)
		return
	case verdict.Unfit:
		d.wait("a new commit: its tests failed", b.At)
		return
	case verdict.Fit, verdict.FitNoTests:
	}
	var nodes []string
	for _, n := range f.Nodes {
		if f.Declared[n] != b.ID {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return
	}
	slices.Sort(nodes)
	switch {
	case f.Policy != Auto:
		d.wait("somebody to declare it: mesh declare "+f.Module, b.At)
	case KnownBad(f)[b.ID]:
		d.wait("a new commit: "+b.ID.Short()+" was rolled back from", b.At)
	default:
		d.Declare = &Declare{b.ID, nodes}
	}
}

// KnownBad is the builds that a person has rolled back from: declared once, and
// after that a person declared one that is older. No policy declares them again.
func KnownBad(f Facts) map[document.Digest]bool {
	made := map[document.Digest]time.Time{}
	for _, b := range f.Builds {
		made[b.ID] = b.At
	}
	bad := map[document.Digest]bool{}
	for _, w := range f.Writes {
		for _, later := range f.Writes {
			if later.At.After(w.At) && !later.Policy && made[later.Build].Before(made[w.Build]) {
				bad[w.Build] = true
			}
		}
	}
	for _, w := range f.Writes { // declared by a person since: no longer bad
		if !w.Policy && bad[w.Build] && lastPersonal(f.Writes).Build == w.Build {
			delete(bad, w.Build)
		}
	}
	return bad
}

func lastPersonal(writes []Write) Write {
	var last Write
	for _, w := range writes {
		if !w.Policy && !w.At.Before(last.At) {
			last = w
		}
	}
	return last
}
