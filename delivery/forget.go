package delivery

import (
	"cmp"
	"slices"
)

// ByPolicy is who declares where no person does.
const ByPolicy = "policy auto"

// Forgettable is the declare-writes of one module that no question asks for any
// more, by id: a policy's, older than the newest that are kept, unless a person
// wrote next on one of its nodes. So a rollback finds what it rolled back from:
// KnownBad says the same without them, now and after any write to come. What is
// still declared somewhere by one of them is not looked at here.
func Forgettable(writes []Write, newest int) []int64 {
	sorted := slices.SortedFunc(slices.Values(writes), func(a, b Write) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), a.At.Compare(b.At), cmp.Compare(a.Build, b.Build))
	})
	keep := make([]bool, len(sorted))
	last := map[string]int{} // by node: which wrote there last
	for i, w := range sorted {
		keep[i] = !w.Policy || i >= len(sorted)-newest
		for _, n := range w.Nodes {
			if before, ok := last[n]; ok && !w.Policy {
				keep[before] = true
			}
			last[n] = i
		}
	}
	for _, i := range last { // whoever writes there next may be a person
		keep[i] = true
	}
	var out []int64
	for i, w := range sorted {
		if !keep[i] {
			out = append(out, w.ID)
		}
	}
	return out
}
