package delivery_test

import (
	"testing"

	"noxmesh/delivery"
)

// FuzzParsePolicy: a policy is its name.
func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{"", "auto", "manual", "Auto", "auto ", "\x1b[2J"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, ok := delivery.ParsePolicy(s); ok && string(p) != s {
			t.Errorf("%q is the policy %q", s, p)
		}
	})
}
