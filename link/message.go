package link

import (
	"noxmesh/declaration"
	"noxmesh/document"
)

// Format is the version of the messages' form that this program writes.
const Format = 1

// PayloadType names what an envelope holds. It is signed with the payload, so
// that a signature over one kind of message is never one over another.
type PayloadType string

// The payload types.
const (
	TypeDeclaration  PayloadType = "application/vnd.mesh.declaration.v1+json"
	TypeHello        PayloadType = "application/vnd.mesh.hello.v1+json"
	TypeHelloAnswer  PayloadType = "application/vnd.mesh.hello-answer.v1+json"
	TypeReport       PayloadType = "application/vnd.mesh.report.v1+json"
	TypeReceipt      PayloadType = "application/vnd.mesh.receipt.v1+json"
	TypeWork         PayloadType = "application/vnd.mesh.work.v1+json"
	TypeWorkAnswer   PayloadType = "application/vnd.mesh.work-answer.v1+json"
	TypeWorking      PayloadType = "application/vnd.mesh.working.v1+json"
	TypeBuildRequest PayloadType = "application/vnd.mesh.build-request.v1+json"
	TypeBuildAnswer  PayloadType = "application/vnd.mesh.build-answer.v1+json"
	TypeKeys         PayloadType = "application/vnd.mesh.keys.v1+json"

	// TypeStatement is of an in-toto statement: no message, but what others verify
	// too. The type is theirs.
	TypeStatement PayloadType = "application/vnd.in-toto+json"
)

// Hello is a host's sign of life, and its receipt for a declaration. Sent on
// connect, every 30–60 s, and at once after accepting or refusing one.
type Hello struct {
	Format   int               `json:"format"`
	Mesh     string            `json:"mesh"`
	Node     string            `json:"node"`
	Boot     string            `json:"boot"`
	Counter  int64             `json:"counter"`      // only ever goes up on a node
	At       int64             `json:"at,omitempty"` // Unix milliseconds by the node's own clock, which decides nothing; zero where it is not said
	Host     string            `json:"host"`         // the host's version
	Speaks   []int             `json:"speaks"`       // the declaration formats that it understands
	Keys     int64             `json:"keys"`         // the version of the key document that it holds
	Accepted declaration.Tuple `json:"accepted"`
	Applied  declaration.Tuple `json:"applied"`
	Refused  *Refusal          `json:"refused,omitempty"`  // the last one, until another is accepted
	FreshAt  *int64            `json:"fresh_at,omitempty"` // At of the last answer that this process has heard; zero: of none yet
	Unwell   string            `json:"unwell,omitempty"`   // why the node cannot keep what it is told: its disk, mostly
}

// Refusal is a declaration that a host would not accept, and why.
type Refusal struct {
	Epoch      int64           `json:"epoch"`
	Generation int64           `json:"generation"`
	Digest     document.Digest `json:"digest,omitempty"`
	Why        string          `json:"why"`
}

// HelloAnswer is what the controller says to a hello: current at this time, or
// the declaration itself. Signed by a declare key, it is a node's freshness.
type HelloAnswer struct {
	Format      int       `json:"format"`
	Mesh        string    `json:"mesh"`
	Node        string    `json:"node"`
	Counter     int64     `json:"counter"`         // the hello's
	After       int64     `json:"after,omitempty"` // nothing was heard, since this number had been: a node whose disk was put back goes on above it
	At          int64     `json:"at"`              // Unix milliseconds by the controller's clock
	Current     bool      `json:"current"`         // accepted is what is wanted
	Declaration *Envelope `json:"declaration,omitempty"`
	Keys        *Envelope `json:"keys,omitempty"` // where the host's are older
	Why         string    `json:"why,omitempty"`  // neither current nor a declaration: what stands against it
}

// Receipt is the controller's word that a report, an answer or a working
// message is committed.
type Receipt struct {
	Format int    `json:"format"`
	Mesh   string `json:"mesh"`
	To     string `json:"to"`             // the node or the builder
	For    string `json:"for"`            // the report's sequence in decimal, or the request's id
	At     int64  `json:"at"`             // Unix milliseconds by the controller's clock
	Stop   string `json:"stop,omitempty"` // working: why the builder must stop
}

// Work asks for a build request. It waits a while for one.
type Work struct {
	Format   int    `json:"format"`
	Mesh     string `json:"mesh"`
	Builder  string `json:"builder"`
	Counter  int64  `json:"counter"`
	Version  string `json:"version"`
	Platform string `json:"platform"`
	Sandbox  string `json:"sandbox,omitempty"` // why there is none; empty where there is one
	Unwell   string `json:"unwell,omitempty"`  // why it takes none now: it could not keep what it would build, for want of room mostly
	Lacks    string `json:"lacks,omitempty"`   // which limits of a build its machine does not hold, and why; empty where it holds all
	Checks   bool   `json:"checks,omitempty"`  // it makes what was made before once more, to be compared, and publishes nothing of it
	Speaks   []int  `json:"speaks"`            // the build request formats that it understands
}

// WorkAnswer gives one request under a lease, or none yet.
type WorkAnswer struct {
	Format  int       `json:"format"`
	Mesh    string    `json:"mesh"`
	Builder string    `json:"builder"`
	Counter int64     `json:"counter"`
	At      int64     `json:"at"`
	Request *Envelope `json:"request,omitempty"` // TypeBuildRequest
	Lease   int64     `json:"lease,omitempty"`   // seconds; extended by each working message
	Keys    *Envelope `json:"keys,omitempty"`
}

// Working extends a lease, and carries the log so far and where the build is.
type Working struct {
	Format  int    `json:"format"`
	Mesh    string `json:"mesh"`
	Builder string `json:"builder"`
	Request string `json:"request"`
	Offset  int64  `json:"offset"` // of Log in the whole log
	Log     string `json:"log,omitempty"`
	Step    string `json:"step,omitempty"`    // that is being made; empty where it is not said
	Elapsed int64  `json:"elapsed,omitempty"` // milliseconds since it began
}

// Keys is the key document: which keys may declare. Signed by the root.
type Keys struct {
	Format  int         `json:"format"`
	Mesh    string      `json:"mesh"`
	Version int64       `json:"version"` // only ever goes up
	Declare []PublicKey `json:"declare"`
}
