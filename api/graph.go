package api

import (
	"time"

	"noxmesh/status"
)

// GraphIn narrows the graph to what one module needs and what needs it.
type GraphIn struct {
	Module string `json:"-" query:"module"`
	Of     string `json:"-" query:"of"` // dependents or dependencies, to leave the other out
}

// GraphOut is modules and the edges between them.
type GraphOut struct {
	Module  string        `json:"module,omitempty"` // that it was narrowed to
	Of      string        `json:"of,omitempty"`
	Modules []GraphModule `json:"modules"` // what others need first
	Edges   []Edge        `json:"edges"`   // in the order of the modules that they are of
}

// GraphModule is one module of a graph.
type GraphModule struct {
	Module  string   `json:"module"`
	Against []string `json:"against,omitempty"` // what stands against its edges
}

// Edge is everything for which one module needs another in one way.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Kind  string `json:"kind"`             // build, presence or instance
	Test  bool   `json:"test,omitempty"`   // build: only tests ask for it
	OneOf bool   `json:"one_of,omitempty"` // presence, instance: there are several, and nobody has chosen
	For   []For  `json:"for"`
}

// For is one thing that is asked for, and where.
type For struct {
	Name     string `json:"name"` // that is imported or required; of an instance, its kind
	Language string `json:"language,omitempty"`
	Test     bool   `json:"test,omitempty"`
	File     string `json:"file"` // from the root of the repository
	Line     int    `json:"line,omitempty"`
}

// WhyIn asks why a module, or a node, has to do with a module.
type WhyIn struct {
	What   string `json:"-" path:"what"`
	Module string `json:"-" path:"module"`
}

// WhyOut is the answer for a module, for a node, or where something is called as both for both.
type WhyOut struct {
	Modules *WhyModules `json:"modules,omitempty"`
	Node    *WhyNode    `json:"node,omitempty"`
}

// WhyModules is why one module needs another.
type WhyModules struct {
	From    string   `json:"from"`
	To      string   `json:"to"`
	Direct  []Edge   `json:"direct"`            // all of them
	Chain   []Edge   `json:"chain"`             // the shortest where none is direct
	Back    []Edge   `json:"back,omitempty"`    // there is none, and this one leads the other way
	Nearest []string `json:"nearest,omitempty"` // there is none either way: what From needs that comes nearest
	Both    []string `json:"both,omitempty"`    // there is none either way: what both need
}

// WhyNode is why a module is on a node.
type WhyNode struct {
	Node     string            `json:"node"`
	Name     string            `json:"name"`
	Module   string            `json:"module"`
	Belongs  bool              `json:"belongs"`
	Assigned bool              `json:"assigned"`
	Settings map[string]string `json:"settings,omitempty"`
	Stays    bool              `json:"stays,omitempty"`  // nothing brings it there any more, and it is declared there
	Build    string            `json:"build,omitempty"`  // that is declared there
	Stands   string            `json:"stands,omitempty"` // what stands against it there
	Chain    []Edge            `json:"chain"`            // from what is assigned to it
	Assigns  []string          `json:"assigns"`          // what is assigned to the node
	On       []string          `json:"on,omitempty"`     // it is not on this node: the names of those that it belongs on
}

// ChangeIn asks what a commit of a module would change.
type ChangeIn struct {
	Module string `json:"-" path:"module"`
	Rev    string `json:"-" query:"rev"` // a branch, a tag or a commit, of which seven digits are enough
}

// ChangeOut is what a commit would change. Nothing of it is recorded.
type ChangeOut struct {
	Module      string              `json:"module"`
	Ref         string              `json:"ref"`
	Commit      string              `json:"commit"`
	Tree        string              `json:"tree"`
	Now         string              `json:"now,omitempty"` // the commit that the mesh has of it
	Same        bool                `json:"same"`          // the module's folder is what it is now
	Rebuilt     []Rebuilt           `json:"rebuilt"`       // in the order in which they are built
	Added       []Edge              `json:"edges_added"`
	Removed     []Edge              `json:"edges_removed"`
	Requires    Moved               `json:"requires"`
	Provides    Moved               `json:"provides"`
	Against     []string            `json:"against"`               // what would stand against it
	Environment *status.Environment `json:"environment,omitempty"` // what its commands would run in
	Instead     string              `json:"instead,omitempty"`     // the image that it names now, where the commit names another
	Nodes       []ChangedNode       `json:"nodes"`
}

// Moved is names that come and go.
type Moved struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
}

// Rebuilt is one module that would be built again.
type Rebuilt struct {
	Module  string   `json:"module"`
	Moved   bool     `json:"moved"`             // it is built in any case
	Against []string `json:"against"`           // of those before it: where none of them comes out another, and it has not moved itself, it stops here
	Problem string   `json:"problem,omitempty"` // why it could not be built
	Nodes   []string `json:"nodes"`             // the names of those that it belongs on
}

// ChangedNode is one node on which something that would be rebuilt belongs.
type ChangedNode struct {
	Name   string   `json:"name"`
	Auto   []string `json:"auto"`   // of its modules, those that are declared as soon as they are fit
	Manual []string `json:"manual"` // and those that a person declares
}

// StaleOut is every module that is not current, in the order in which they are built.
type StaleOut struct {
	At      time.Time `json:"at"` // when it was answered: nothing in it is from later
	Modules []Stale   `json:"modules"`
}

// Stale is one module that is not current.
type Stale struct {
	Module  string        `json:"module"`
	Commit  string        `json:"commit,omitempty"` // of its source
	Built   string        `json:"built,omitempty"`  // the commit that its newest build is of
	Reasons []StaleReason `json:"reasons"`          // none where it is only waited for
	Waiting []StaleWait   `json:"waiting"`
}

// StaleReason is what was and what is.
type StaleReason struct {
	Cause    string `json:"cause"`              // never-built, tree, platform, input, environment or gone
	Module   string `json:"module,omitempty"`   // of an input
	Artifact string `json:"artifact,omitempty"` // of an input
	Image    string `json:"image,omitempty"`    // of an environment: its name, as the module says it
	From     string `json:"from,omitempty"`
	To       string `json:"to,omitempty"`
}

// StaleWait is what has to happen first, and since when it is waited for.
type StaleWait struct {
	For   string    `json:"for"`
	Since time.Time `json:"since,omitzero"`
}
