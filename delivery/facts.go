package delivery

import (
	"time"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/environment"
	"noxmesh/delivery/source"
	"noxmesh/document"
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

// Facts is everything that is known of one module. Every list is a set.
type Facts struct {
	Module   string
	AddedAt  time.Time // since when the mesh knows of it
	Policy   Policy
	Source   source.Source
	Builds   []artifact.Build
	Asked    []Asked                    // requests
	Nodes    []string                   // ids of the nodes that it belongs on
	Declared map[string]document.Digest // by node: the build; also on nodes that it no longer belongs on
	Writes   []Write                    // declare-writes
	Platform string                     // what it is built for
	In       environment.Wanted         // the image that it is built in
	Bases    []environment.Wanted       // the images that its container files stand on by a tag, sorted
	Inputs   Inputs                     // what it is built against
	Unlooked *Unlooked                  // the last to come of those that may own more of it; nil where there is none
	Lacking  map[document.Digest]string // by build that is gone: what it was built against and cannot be had either
	Builders []Builder                  // the builders that have joined
	Names    map[string]string          // by id: what builders are called, those that have left too
}

// Unlooked is a module that nobody has looked at yet, and that may own what another's
// code asks for and nobody owns.
type Unlooked struct {
	Module string
	Since  time.Time // it was added
	Asked  string    // the name, and where it is asked for
}

// Builder is what the comparison needs to know of one.
type Builder struct {
	ID       string
	Name     string
	Platform string
	Sandbox  string // why it has none; empty where it has one
	Unwell   string // why it takes no work now; empty where it does
}

// Asked is one request that was made of the builders and what became of it.
type Asked struct {
	ID      string
	Closure artifact.Closure
	Attempt int64
	State   AskState
	Builder string // leased: the builder's id
	Since   time.Time
	Doing   string // leased: the step that it is at, as far as its builder has said
	DoingAt time.Time
	Outcome build.Outcome // done
	Step    build.Step    // done, failed
	Why     string        // done, withdrawn
}

// AskState is where a request stands.
type AskState string

// The states of a request. Open and Leased are live: it may still be answered.
const (
	Open      AskState = "open"
	Leased    AskState = "leased"
	Done      AskState = "done"
	Withdrawn AskState = "withdrawn"
)

func (s AskState) live() bool { return s == Open || s == Leased }

// Write is one declare-write.
type Write struct {
	ID     int64 // only ever goes up
	Build  document.Digest
	Nodes  []string
	By     string
	Policy bool // a policy wrote it, not a person
	At     time.Time
}

// Difference is what to do about one module now, and what it waits for.
type Difference struct {
	Module   string
	Withdraw []Withdrawal // before anything is asked for
	Ask      *Ask
	Again    *Again
	Declare  *Declare
	Waiting  []Waiting
	Next     time.Time // when to look again though nothing has moved; zero for never
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

// Waiting is something outside that has to happen first, and since when it is waited for.
type Waiting struct {
	For   string
	Since time.Time
}
