package db

import (
	"cmp"
	"slices"
)

// Sorted is all in the order of their keys. The order of letters is ours, not
// that of a database's language.
func Sorted[T any](all []T, key func(T) string) []T {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return all
}
