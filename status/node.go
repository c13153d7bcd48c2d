package status

import (
	"cmp"
	"fmt"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/inventory"
	"noxmesh/plan"
	"noxmesh/report"
	"noxmesh/trouble"
)

// NodeFacts is what a node's status is made of.
type NodeFacts struct {
	Node         inventory.Node
	Wanted       document.Digest // of what the mesh would send now; empty where it wants nothing or cannot work it out
	NotWorkedOut []plan.Reason
	Modules      []string // that belong on it
	Ignored      *Ignored
	ClockAhead   time.Duration   // at its last hello: its clock before the controller's
	Unwell       string          // at its last hello
	Removal      *Removal        // why nothing new is sent to it, where that is how much it would remove
	Deaf         trouble.Trouble // its hellos come, and what they are answered changes nothing
	Version      string          // of the controller, of which a host takes all that it declares
}

// The states of a node. What is wanted of it was declared to it: Applied when it
// has read that back, Failed when that has failed, Refused when it would not
// take it, Outstanding otherwise.
const (
	NotJoined   = "not joined"
	Quarantined = "quarantined" // it stands against the record; see Finding
	NeverTold   = string(inventory.NeverTold)
	OutOfDate   = string(inventory.OutOfDate)
	Refused     = "refused"
	Failed      = string(inventory.Failed)
	Applied     = string(inventory.Applied)
	Outstanding = string(inventory.Outstanding)
	Idle        = "idle" // nothing is wanted of it
)

// NodeState is the one word for a node. What cannot be worked out has no part in
// it: the node then stands as it does to what it was last declared to be.
func NodeState(f NodeFacts) string {
	n := f.Node
	if n.JoinedAt.IsZero() {
		return NotJoined
	}
	if n.Finding != "" || n.Twins != "" {
		return Quarantined
	}
	if behind := inventory.BehindOf(n, f.Wanted); behind != inventory.NotBehind {
		return string(behind)
	}
	switch {
	case n.Wanted == declaration.Tuple{}:
		return Idle
	case n.HasRefused(n.Wanted):
		return Refused
	case n.Report == nil || n.Report.Accepted != n.Wanted:
		return Outstanding
	case n.Report.Outcome == report.OutcomeFailed:
		return Failed
	case !isApplied(*n.Report):
		return Outstanding
	}
	return Applied
}

// isApplied reports whether the report says that all of what was accepted is applied.
func isApplied(r report.Report) bool {
	return r.Outcome == report.OutcomeApplied && r.Applied == r.Accepted && len(report.AppliedModules(r)) == len(r.Modules)
}

// clockSlack is how far two clocks may stand apart before somebody is told: a
// hello may be on its way for a while.
const clockSlack = time.Minute

// OfNode is the node's status.
func OfNode(f NodeFacts) Node {
	n := f.Node
	out := Node{
		Node: n.ID, Name: n.Name, State: NodeState(f), Behind: inventory.BehindOf(n, f.Wanted), Host: n.Host,
		LastSeen: n.LastSeen, SentAt: n.Sent.At, ReportAt: n.ReportAt, Finding: cmp.Or(n.Twins, n.Finding), Ignored: f.Ignored,
		Trouble: TroubleOf(n.Trouble), NotWorkedOut: len(f.NotWorkedOut), Modules: f.Modules,
	}
	for _, r := range f.NotWorkedOut {
		if r.Why != plan.NotDeclared {
			out.Reasons = append(out.Reasons, r)
		}
		out.NeedsHost = cmp.Or(out.NeedsHost, r.Host)
	}
	if ahead := f.ClockAhead; ahead > clockSlack || ahead < -clockSlack {
		out.ClockAhead = int64(ahead / time.Second)
	}
	out.Unwell, out.Removal = f.Unwell, f.Removal
	if f.Deaf.Stuck() { // one answer may be lost
		out.Deaf = TroubleOf(f.Deaf)
	}
	if out.Modules == nil {
		out.Modules = []string{}
	}
	if n.Refused != nil {
		out.Refused = RefusalOf(n, f.Version)
		if needsAnother(n, f.Version) {
			out.NeedsHost = declaration.HostOf(f.Version)
		}
	}
	if n.Report == nil {
		return out
	}
	out.read(*n.Report)
	return out
}

// needsAnother reports whether a node refuses what it was told since its host is of
// another version than the controller, and does not know all of it.
func needsAnother(n inventory.Node, version string) bool {
	return n.Refused != nil && declaration.IsUnknown(n.Refused.Why) && version != "" && !declaration.SameRelease(n.Host, version)
}

// RefusalOf is why a node has refused what it was told, with what to do where a host
// of this version, which is the controller's, would not.
func RefusalOf(n inventory.Node, version string) string {
	if !needsAnother(n, version) {
		return n.Refused.Why
	}
	return fmt.Sprintf("%s; %s runs mesh-host %s: upgrade it to %s, or later", n.Refused.Why, n.Name, n.Host, declaration.HostOf(version))
}

// read takes in what the last report says of each resource.
func (n *Node) read(last report.Report) {
	n.Outcome = string(last.Outcome)
	for _, r := range last.Resources {
		if r.Fixed {
			n.Drift++
		}
		if c := r.Contested; c != nil {
			n.Contested = append(n.Contested, Contested{Resource: r.ID, Since: time.UnixMilli(c.Since).UTC(), Count: c.Count})
		}
		switch r.State {
		case report.StateFailed, report.StateBlocked, report.StateWaiting, report.StateDiffers:
			n.Failing = append(n.Failing, Failing{r.ID, string(r.State), cmp.Or(r.Error, r.Found)})
		case report.StateOK, report.StateChanged, report.StateRemoved:
		}
	}
}

// Bad reports whether the node failed, refuses what it is told, does not hear it,
// is stuck, stands against the record, or waits for a person to allow what it would remove.
func (n Node) Bad() bool {
	return n.State == Refused || n.Outcome == string(report.OutcomeFailed) || n.Finding != "" || n.Deaf != nil || n.Removal != nil || (n.Trouble != nil && n.Trouble.Stuck)
}
