package inventory

import (
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
// of the node or cannot work it out.
func BehindOf(n Node, wanted document.Digest) Behind {
	switch {
	case wanted == "":
		return NotBehind
	case n.Sent.Tuple == declaration.Tuple{}:
		return NeverTold
	case n.Sent.Tuple.Digest != wanted || n.Sent.Tuple != n.Wanted:
		return OutOfDate
	}
	return NotBehind
}

// Patience is how long a receipt may be pending before a declaration is sent
// again. A host says hello at once when it has accepted or refused one.
const Patience = 10 * time.Second

// Send reports whether to send the wanted declaration now. It is decided by
// tuples, not digests: after A, B, A an old B could otherwise be replayed. Sent
// is when a push went out whose receipt has not come; zero for none.
func Send(n Node, wanted declaration.Tuple, sent, now time.Time) bool {
	switch {
	case wanted == declaration.Tuple{}, n.Finding != "", n.LastSeen.IsZero():
		return false
	case n.Accepted == wanted:
		return false
	case !sent.IsZero() && now.Sub(sent) < Patience:
		return false
	}
	return true
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
// module. Nothing else can say applied.
func StandingOf(n Node, m declaration.Module) Standing {
	if n.Report == nil {
		return Outstanding
	}
	named := false
	for _, in := range n.Report.Modules {
		named = named || in == m
	}
	if !named {
		return Outstanding
	}
	for _, a := range report.AppliedModules(*n.Report) {
		if a == m {
			return Applied
		}
	}
	if FailedModule(*n.Report, m.Module) != nil {
		return Failed
	}
	return Outstanding
}

// FailedModule is the module's first resource that the report says is failed or
// blocked, or nil.
func FailedModule(r report.Report, module string) *report.Resource {
	for i, res := range r.Resources {
		if ModuleOf(res.ID) == module && (res.State == report.StateFailed || res.State == report.StateBlocked) {
			return &r.Resources[i]
		}
	}
	return nil
}

// ModuleOf is the module that a resource's id begins with.
func ModuleOf(id string) string {
	for i := range len(id) {
		if id[i] == '/' {
			return id[:i]
		}
	}
	return id
}
