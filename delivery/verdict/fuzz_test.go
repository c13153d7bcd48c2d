package verdict_test

import (
	"testing"

	"noxmesh/delivery/verdict"
)

// FuzzParse: an unknown verdict is never a good one.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "fit", "fit (no tests)", "unfit", "outstanding", "Fit", "fit ", "\x1b[2J"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v := verdict.Parse(s); v.String() != s && v != verdict.Outstanding {
			t.Errorf("%q is the verdict %q", s, v)
		}
	})
}
