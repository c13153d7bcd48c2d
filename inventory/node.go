package inventory

import (
	"time"

	"noxmesh/declaration"
	"noxmesh/link"
	"noxmesh/report"
	"noxmesh/trouble"
)

// Node is everything that the record holds of one node.
type Node struct {
	ID       string
	Name     string
	AddedAt  time.Time
	JoinedAt time.Time // zero: the token has not been used
	Sign     link.PublicKey
	Nats     string
	Seal     string
	Host     string // the host's version
	Speaks   []int
	Boot     string
	Counter  int64             // of the last hello
	LastSeen time.Time         // by the controller's clock
	Accepted declaration.Tuple // the node's signed word
	Applied  declaration.Tuple // the node's signed word
	Refused  *link.Refusal
	Sent     Sent              // last sent, recorded on receipt
	Wanted   declaration.Tuple // the newest row of the ledger
	Had      []string          // the modules that the newest row of the ledger named
	Report   *report.Report    // the last one stored
	ReportAt time.Time         // its arrival, by the controller's clock
	Trouble  trouble.Trouble   // of its reports; the zero value where the last was clean
	Twins    string            // why two machines are taken to say that they are it; until it joins anew, nothing is declared to it
	Finding  string            // why nothing is declared to it: "accepted 7/43, which this record never issued"
}

// Sent is what a node was last sent, known by its receipt. The zero Sent is "never told".
type Sent struct {
	Tuple declaration.Tuple
	At    time.Time
}
