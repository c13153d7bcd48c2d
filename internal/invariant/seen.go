package invariant

import (
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/report"
)

// Seen is what was observed of one mesh at one moment. What is empty was not looked at.
type Seen struct {
	At       time.Time // by the clock of the status
	Sources  []Source
	Record   Record
	Registry Registry
	Said     Said
	Nodes    []Node
	Acks     []Ack
	Canaries []Canary
	Usage    []Usage
	Left     []string // what a killed program has left where nothing removes it
}

// Source is what a module's repository holds now: what should be everywhere, where the policy is auto.
type Source struct {
	Module string
	Commit string
	Auto   bool
}

// Record is what the controller's store holds.
type Record struct {
	Known    bool // it could be read
	Answers  []Answer
	Builds   []Build
	Declared []Declared
	Ledger   []Issued
	Nodes    []NodeRow
}

// Answer is the recorded answer to a request.
type Answer struct {
	Request string
	Builder string
	Build   document.Digest // empty: nothing was built
}

// Build is one recorded build.
type Build struct {
	ID        document.Digest
	Encoded   document.Digest // of the recorded manifest, worked out anew: must be ID
	Content   document.Digest
	Module    string
	Commit    string
	Closure   string // tree, platform and inputs: what it was made of, in one word
	Request   string
	Published document.Digest // its manifest in the registry
	Fit       bool
	Gone      bool   // the record knows that the registry does not hold it
	Finding   string // the record knows that it is not reproducible
}

// Declared is that the record declares this build of the module on this node.
type Declared struct {
	Module string
	Node   string // by id
	Build  document.Digest
}

// Issued is one row of the ledger.
type Issued struct {
	Node  string
	Tuple declaration.Tuple
}

// NodeRow is what the record holds of one node.
type NodeRow struct {
	Node     string
	Sent     declaration.Tuple
	Accepted declaration.Tuple
	Refused  declaration.Tuple
	Report   *report.Report
	ReportAt time.Time
	Signed   bool // the report's envelope is signed by this node's key, over just this report
	Finding  string
}

// Registry is what can be pulled.
type Registry struct {
	Manifests []Manifest
	Blobs     map[document.Digest]Blob
	Taken     []document.Digest // what a test has taken out or damaged, manifests and blobs
}

// Manifest is one that is visible in a repository.
type Manifest struct {
	Repository string
	Digest     document.Digest
	Encoded    document.Digest // of its bytes: must be Digest
	Names      []Named         // the blobs that it names
	Unreadable string          // why it is no manifest; empty where it is one
}

// Named is a blob as a manifest names it.
type Named struct {
	Digest document.Digest
	Size   int64
}

// Blob is a blob as it lies there.
type Blob struct {
	Size int64
	Sum  document.Digest // of its bytes: must be its name
}

// Node is one machine, read by nobody's word but its own disk.
type Node struct {
	ID        string
	Name      string
	Away      bool       // switched off on purpose: nothing can be expected of it now
	History   []Accepted // what it was seen to have accepted, in the order in which it was seen
	Committed int64      // the sequence of the last report that it has kept as committed
	Things    []Thing    // what its host's record holds, beside what is there
	Foreign   []Foreign  // what somebody else has put there
}

// Accepted is what a node's own disk said that it had accepted.
type Accepted struct {
	Tuple  declaration.Tuple
	Signed bool // the kept envelope is signed by a declare key of the mesh
}

// Thing is one entry of a host's record. Want and Found are in the same words, whatever they are.
type Thing struct {
	Path     string
	Resource string // empty for a directory that is only on the way
	Done     bool   // the record says that it was read back
	Made     bool   // and that the host made it
	Want     string
	Found    string
	Touched  bool // somebody else has changed it since
}

// Foreign is what somebody else put on a node, and what is there.
type Foreign struct {
	Path  string
	Put   string
	Found string
	Given bool // a declaration has named this path since: the host may take it over
}

// AckKind is what was acknowledged.
type AckKind string

// The acknowledgements that somebody relies on.
const (
	AckAnswer   AckKind = "answer"   // to a builder: Key is the request, From the builder
	AckReport   AckKind = "report"   // to a node: From is its id, Sequence the report's
	AckDeclared AckKind = "declared" // to a person: Key is the module, From the node's id
)

// Ack is one acknowledgement that was received.
type Ack struct {
	Kind     AckKind
	From     string
	Key      string
	Sequence int64
}

// Canary is a planted secret, and everything outside memory in which it was found.
type Canary struct {
	Name  string
	Found []string
}

// Usage is what something has used of what it may.
type Usage struct {
	What string
	Used int64
	Most int64
}
