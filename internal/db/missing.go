package db

import (
	"slices"

	"noxmesh/internal/fault"
)

// Missing is the NotFound for a name that the record does not hold, with the
// nearest of the names that it does as the hint.
func Missing(noun, name string, names []string) error {
	f := fault.New(fault.NotFound, "there is no %s %q", noun, name)
	best, distance := "", len(name)/2+2
	names = slices.Sorted(slices.Values(names))
	for _, n := range names {
		if d := edits(name, n); d < distance {
			best, distance = n, d
		}
	}
	if best != "" {
		return f.With("did you mean %q?", best)
	}
	return f
}

// edits is how many letters must be put in, taken out or changed to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := corner
			if a[i] != b[j] {
				next = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
