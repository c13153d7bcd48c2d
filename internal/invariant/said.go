package invariant

import (
	"time"

	"noxmesh/document"
)

// Said is what the mesh shows of itself.
type Said struct {
	Known      bool   // it could be asked
	Recovering string // why nothing is declared at all
	Modules    []Module
	Nodes      []NodeSaid
}

// Module is a module as status shows it.
type Module struct {
	Name     string
	Commit   string
	State    string // of the source: "read", or another word
	Why      string
	Since    time.Time
	Current  bool // what is built is of this source
	On       []On
	Waits    []Wait
	Troubles []Trouble
	Finding  string
}

// On is a module on a node on which it belongs.
type On struct {
	Node     string // by id
	Content  document.Digest
	Applied  bool
	Failed   bool
	Why      string // failed: which resource, and what it said
	Declared bool   // what is declared there is the current build's content
}

// NodeSaid is a node as status shows it.
type NodeSaid struct {
	Node         string // by id
	State        string
	LastSeen     time.Time
	ReportAt     time.Time
	Refused      string
	Finding      string
	Failing      []Failing
	Trouble      *Trouble
	NotWorkedOut int
}

// The states of a node that this package must tell apart from the others.
const (
	Applied     = "applied"
	Idle        = "idle"
	Refused     = "refused"
	Quarantined = "quarantined"
	NotJoined   = "not joined"
)

// Failing is a resource that is not as declared.
type Failing struct {
	Resource string
	State    string
	Why      string
}

// Wait is something that waits.
type Wait struct {
	For   string
	Since time.Time
}

// Trouble is one failure that keeps coming.
type Trouble struct {
	Key   string
	Says  string
	Since time.Time
	Count int64
	Stuck bool
}
