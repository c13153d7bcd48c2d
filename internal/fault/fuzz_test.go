package fault_test

import (
	"testing"

	"noxmesh/internal/fault"
)

// FuzzParseKind: a kind is its name.
func FuzzParseKind(f *testing.F) {
	for _, s := range []string{"", "unknown", "invalid", "Invalid", "not-found", "broken", "\x1b[2J"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if k, ok := fault.ParseKind(name); ok != (k.String() == name) {
			t.Errorf("%q is the kind %q, %t", name, k, ok)
		}
	})
}
