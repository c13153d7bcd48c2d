package cli

import (
	"strings"
	"testing"

	mesh "noxmesh"
	"noxmesh/internal/fault"
)

// FuzzCutRev: whatever is written is taken apart at its first @, or refused with
// what would be right.
func FuzzCutRev(f *testing.F) {
	seeds := map[string]bool{"core@main": true, "core@a@b": true, "core@": false, "core": false, "@main": false, "": false, "Core@x": false, "core@refs/tags/v1": true}
	for seed, good := range seeds {
		f.Add(seed)
		if _, _, err := cutRev(seed); (err == nil) != good {
			f.Errorf("%q: %v", seed, err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		module, rev, err := cutRev(text)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.HintOf(err), "mesh plan --commit") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if module+"@"+rev != text || !mesh.ValidModuleName(module) || rev == "" {
			t.Errorf("%q became %q and %q", text, module, rev)
		}
	})
}
