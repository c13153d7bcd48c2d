package observe

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What is looked for in one go is what looking for one after the other finds.
func TestManyAreFoundAsOneIs(t *testing.T) {
	t.Parallel()
	letters := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00")), 1, 9)
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.SliceOfN(letters, 1, 4), 1, 5).Draw(t, "all")
		long := rapid.IntRange(0, 300).Draw(t, "long")
		for i := range all {
			for n := range all[i] {
				all[i][n] = append(bytes.Repeat([]byte("b"), long), all[i][n]...)
			}
		}
		text := bytes.Join(rapid.SliceOf(rapid.OneOf(letters, rapid.SampledFrom(slices.Concat(all...)))).Draw(t, "text"), nil)
		var want []int
		for i, forms := range all {
			if slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(text, form) }) {
				want = append(want, i)
			}
		}
		if got := seek(all).in(text); !slices.Equal(got, want) {
			t.Errorf("found %v, want %v", got, want)
		}
	})
}
