package standing

import "time"

// Named is the state with this name, and the zero one and false where none of all has it.
func Named[S ~string](all []S, name string) (S, bool) {
	for _, s := range all {
		if string(s) == name {
			return s, true
		}
	}
	return "", false
}

// Since is since when something is in a state that was in another, or in the same,
// since a time that is zero where it was in none.
func Since[S comparable](was, is S, since, now time.Time) time.Time {
	if was != is || since.IsZero() {
		return now
	}
	return since
}
