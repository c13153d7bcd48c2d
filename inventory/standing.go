package inventory

import (
	"slices"
	"strings"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/report"
)

// Behind is how a node stands to what it should be told. The zero value is "not behind".
type Behind string

// The two ways of being behind, kept apart: they read differently to whoever is
// looking, even where the remedy is the same. A node that cannot be worked out
// is in neither.
const (
	NotBehind Behind = ""
	NeverTold Behind = "never told"
	OutOfDate Behind = "out of date"
)

// BehindOf compares what was last sent to the node with what the mesh would
// send now. Wanted is the digest of that, or empty where the mesh wants nothing
// of the node or cannot work it out. To a node that has not joined, that stands
// against the record or that has refused just this, nothing would be sent.
func BehindOf(n Node, wanted document.Digest) Behind {
	switch {
	case wanted == "", n.JoinedAt.IsZero(), n.Finding != "", n.Twins != "":
		return NotBehind
	case n.Wanted.Digest == wanted && n.HasRefused(n.Wanted):
		return NotBehind
	case n.Sent.Tuple == declaration.Tuple{}:
		return NeverTold
	case n.Sent.Tuple.Digest != wanted, n.Sent.Tuple != n.Wanted:
		return OutOfDate
	}
	return NotBehind
}

// Patience is how long a receipt may be pending before a declaration is sent
// again. A host says hello at once when it has accepted or refused one.
const Patience = 10 * time.Second

// Send reports whether to send the wanted declaration now. It is decided by the
// order, not by digests: after A, B, A an old B could otherwise be replayed, and
// what does not come after what the node has accepted, it would refuse. Sent is
// when a push went out whose receipt has not come; zero for none.
func Send(n Node, wanted declaration.Tuple, sent, now time.Time) bool {
	switch {
	case wanted == declaration.Tuple{}, n.Finding != "", n.Twins != "", n.LastSeen.IsZero():
		return false
	case !n.Accepted.Before(wanted), n.HasRefused(wanted):
		return false
	case !sent.IsZero() && now.Sub(sent) < Patience:
		return false
	}
	return true
}

// HasRefused reports whether the last declaration that the node refused is just
// this one: to send it again would change nothing.
func (n Node) HasRefused(t declaration.Tuple) bool {
	r := n.Refused
	return r != nil && t == declaration.Tuple{Epoch: r.Epoch, Generation: r.Generation, Digest: r.Digest}
}

// Standing is how a node stands to one module that is declared on it.
type Standing string

// The standings. Outstanding is not failure: a node that has not applied yet is
// a fact with a time.
const (
	Outstanding Standing = "outstanding"
	Applied     Standing = "applied"
	Failed      Standing = "failed"
)

// StandingOf is what the node's own signed report says of this content of a
// module. Nothing else can say applied, and a report on other content says
// nothing of this one. What waits for something outside, or was not tried yet,
// has not failed.
func StandingOf(n Node, m declaration.Module) Standing {
	switch {
	case n.Report == nil || !slices.Contains(n.Report.Modules, m):
		return Outstanding
	case slices.Contains(report.AppliedModules(*n.Report), m):
		return Applied
	case FailedModule(*n.Report, m.Module) != nil:
		return Failed
	}
	return Outstanding
}

// FailedModule is the module's first resource that the report says has failed,
// or else its first that is blocked by one that has; nil where there is none.
func FailedModule(r report.Report, module string) *report.Resource {
	for _, state := range []report.State{report.StateFailed, report.StateBlocked} {
		for i, res := range r.Resources {
			if res.State == state && ModuleOf(res.ID) == module {
				return &r.Resources[i]
			}
		}
	}
	return nil
}

// ModuleOf is the module that a resource's id begins with.
func ModuleOf(id string) string {
	module, _, _ := strings.Cut(id, "/")
	return module
}
