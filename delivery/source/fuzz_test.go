package source

import "testing"

// FuzzParseState: a state is its name, and any other word is no state.
func FuzzParseState(f *testing.F) {
	for _, s := range []string{"", "read", "bad-manifest", "Read", "read ", "\x1b[2J"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if st, ok := ParseState(s); ok && string(st) != s || !ok && st != NeverLooked {
			t.Errorf("%q is the state %q", s, string(st))
		}
	})
}
