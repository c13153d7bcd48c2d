package report

import (
	"noxmesh/declaration"
	"noxmesh/document"
)

// Format is the version of the report's form that this program writes.
const Format = 1

// Limits is what a controller reads of a report before it has looked at it.
var Limits = document.Limits{Bytes: 2 << 20, Depth: 12} //nolint:gochecknoglobals // a constant struct

// Report is one reading of a whole node. Times are Unix milliseconds by the node's own clock.
type Report struct {
	Format    int                  `json:"format"`
	Mesh      string               `json:"mesh"`
	Node      string               `json:"node"`
	Boot      string               `json:"boot"`
	Sequence  int64                `json:"sequence"` // only ever goes up on a node; an older one than the last stored is ignored
	Accepted  declaration.Tuple    `json:"accepted"`
	Applied   declaration.Tuple    `json:"applied"`
	Host      string               `json:"host"` // the host's version
	Cause     Cause                `json:"cause"`
	Began     int64                `json:"began"`
	Ended     int64                `json:"ended"`
	Outcome   Outcome              `json:"outcome"`
	Trouble   *Trouble             `json:"trouble,omitempty"`
	Modules   []declaration.Module `json:"modules"` // what the declaration that was read for this named
	Resources []Resource           `json:"resources"`
	Facts     *Facts               `json:"facts,omitempty"` // when they changed
}

// Cause is why the host looked.
type Cause string

// The causes.
const (
	CauseDeclaration Cause = "declaration"
	CauseDrift       Cause = "drift"
	CauseStart       Cause = "start"
	CauseEvent       Cause = "event"
)

// Outcome is how the whole apply ended.
type Outcome string

// The outcomes. OutcomeConfirming is a new host's that has not completed one reconcile.
const (
	OutcomeApplied    Outcome = "applied"
	OutcomeFailed     Outcome = "failed"
	OutcomeConfirming Outcome = "confirming"
)

// State is how one resource was found.
type State string

// The states. StateOK and StateChanged are the two that say the resource was read back as declared.
const (
	StateOK      State = "ok"
	StateChanged State = "changed"
	StateDiffers State = "differs"
	StateWaiting State = "waiting"
	StateFailed  State = "failed"
	StateBlocked State = "blocked"
	StateRemoved State = "removed"
)

// Resource is what was read back of one resource. A resource that left the
// declaration is listed once as Removed, or with why it is still there.
type Resource struct {
	ID     string          `json:"id"`
	Digest document.Digest `json:"digest,omitempty"` // of the declared resource; empty for one that is no longer declared
	State  State           `json:"state"`
	Error  string          `json:"error,omitempty"`
	Found  string          `json:"found,omitempty"` // what was there, when it differed
	Fixed  bool            `json:"fixed,omitempty"` // it had been as declared before, and something else changed it: drift, put back

	Contested *Contested `json:"contested,omitempty"` // something else writes it too
}

// Contested is what a host says of a resource that it puts back again and again: it
// does so ever more seldom, until it stays right.
type Contested struct {
	Since int64 `json:"since"` // when it was put back first; Unix milliseconds by the node's clock
	Count int64 `json:"count"` // how often since
}

// Trouble is what the host counts itself: the same failed resources, whatever the words.
type Trouble struct {
	Fingerprint string `json:"fingerprint"`
	Since       int64  `json:"since"` // Unix milliseconds by the node's clock
	Count       int64  `json:"count"`
}

// Facts are what a node says of itself. They never select anything; they only refuse.
type Facts struct {
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	Hostname     string   `json:"hostname"`
	Capabilities []string `json:"capabilities"`
	Machine      *Machine `json:"machine,omitempty"` // of a host that keeps a whole one
}

// Machine is what there is to say of a machine that stays as it is for as long as
// nobody changes it. What it does not tell is left out.
type Machine struct {
	System    string   `json:"system,omitempty"` // "Debian GNU/Linux 12 (bookworm)"
	Kernel    string   `json:"kernel,omitempty"`
	Virtual   string   `json:"virtual,omitempty"` // what it is within; none
	Memory    int64    `json:"memory,omitempty"`  // bytes, in whole mebibytes
	Disks     []Disk   `json:"disks,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
}

// Disk is a file system that is mounted from a device, or the root.
type Disk struct {
	Mount string `json:"mount"`
	Type  string `json:"type"`
	Size  int64  `json:"size"` // bytes, in whole mebibytes
}
