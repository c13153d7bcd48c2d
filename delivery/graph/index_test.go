package graph

import (
	"testing"

	"pgregory.net/rapid"
)

// An index is a map, however many have one hash.
func TestIndexIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.Uint32Range(1, 1<<10).Draw(t, "hashes")
		x, is := indexFor(rapid.IntRange(0, 200).Draw(t, "room")), map[uint32]bool{}
		for _, n := range rapid.SliceOfN(rapid.Uint32Range(0, 1<<9), 200, 400).Draw(t, "numbers") {
			right := func(number uint32) bool { return number == n }
			got, there := x.find(n%hashes, right)
			if there != is[n] || there && got != n {
				t.Fatalf("%d: found %d %v, want %v", n, got, there, is[n])
			}
			if !there {
				x.put(n%hashes, n)
				is[n] = true
			}
		}
		for n := range is {
			if got, there := x.find(n%hashes, func(number uint32) bool { return number == n }); !there || got != n {
				t.Fatalf("%d is lost", n)
			}
		}
	})
}
