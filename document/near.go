package document

import (
	"slices"
	"strconv"
	"strings"
)

// suggest says which key may have been meant, or which there are.
func suggest(key string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, key) {
			return "did you mean " + strconv.Quote(k) + "? keys are told apart by case"
		}
	}
	if len(known) == 0 {
		return "there are no keys here"
	}
	known = slices.Sorted(slices.Values(known))
	return Nearest(key, known, "the keys here are "+strings.Join(known, ", "))
}

// Nearest asks whether the nearest of the known words was meant; where none is
// near, it is the other sentence. Near is a slip of the hand, and a word that is
// a part of the other: "dir" of "directory".
func Nearest(word string, known []string, otherwise string) string {
	best, distance := "", 1<<10
	for _, k := range known {
		d := edits(strings.ToLower(word), k)
		if part(word, k) {
			d = min(d, 1)
		}
		if d < distance && d <= max(1, min(len(word), len(k))/3) {
			best, distance = k, d
		}
	}
	if best == "" || len(word) < 2 {
		return otherwise
	}
	return "did you mean " + strconv.Quote(best) + "?"
}

// part reports whether one of two words is in the other.
func part(a, b string) bool {
	return min(len(a), len(b)) >= 3 && (strings.Contains(a, b) || strings.Contains(b, a))
}

// edits is how many letters must be put in, taken out, changed or swapped with
// the next to make a of b. A long key is near to nothing.
func edits(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	x, y := []rune(a), []rune(b)
	var two, one []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		two, one, row = one, row, make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(one[j+1]+1, row[j]+1, one[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], two[j-1]+1)
			}
		}
	}
	return row[len(y)]
}
