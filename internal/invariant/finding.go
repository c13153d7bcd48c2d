package invariant

import (
	"cmp"
	"fmt"
	"slices"
)

// ID names one invariant.
type ID string

// The invariants.
const (
	I1  ID = "I1"  // nothing lost: what source is ahead goes out, or a reason is shown
	I2  ID = "I2"  // nothing claimed that was not read back
	I3  ID = "I3"  // nothing half-published: what a visible manifest names is there, and right
	I4  ID = "I4"  // one identity, one content; one request, at most one recorded build
	I5  ID = "I5"  // what a host has accepted never falls
	I6  ID = "I6"  // what was acknowledged is in the record
	I7  ID = "I7"  // the host removes only what it made
	I8  ID = "I8"  // what waits says why and since when; three alike is stuck
	I9  ID = "I9"  // no plain secret outside memory
	I10 ID = "I10" // bounded memory, disk and time, and nothing left behind
)

// Finding is one thing that must not be so.
type Finding struct {
	Invariant ID
	Where     string // which module, node, manifest or file
	What      string
}

func (f Finding) String() string { return fmt.Sprintf("%s %s: %s", f.Invariant, f.Where, f.What) }

// findings gathers while a Seen is gone through.
type findings struct {
	seen  Seen
	found []Finding
}

func (f *findings) find(id ID, where, format string, args ...any) {
	f.found = append(f.found, Finding{id, where, fmt.Sprintf(format, args...)})
}

// Always is what stands against the invariants that hold at any moment: all but I1.
func Always(s Seen) []Finding {
	f := &findings{seen: s}
	f.always()
	return f.sorted()
}

// AtEnd is what stands against all of them once faults have stopped and
// everything has had its time.
func AtEnd(s Seen) []Finding {
	f := &findings{seen: s}
	f.always()
	f.lost()
	f.strangers()
	f.leftovers()
	return f.sorted()
}

func (f *findings) always() {
	f.claimedOfModules()
	f.claimedOfNodes()
	f.claimedByHosts()
	f.declared()
	f.published()
	f.identities()
	f.order()
	f.ledger()
	f.acknowledged()
	f.foreign()
	f.waits()
	f.secrets()
	f.bounds()
}

func (f *findings) sorted() []Finding {
	slices.SortStableFunc(f.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(len(a.Invariant), len(b.Invariant)), cmp.Compare(a.Invariant, b.Invariant), cmp.Compare(a.Where, b.Where))
	})
	return slices.Compact(f.found)
}
