package mesh_test

import (
	"strings"
	"testing"

	mesh "noxmesh"
)

// An id becomes a part of a broker subject and a name a part of a path, a
// subject and a registry's repository: what has a meaning there is no name.
func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	for name, c := range map[string]struct {
		valid    func(string) bool
		yes, not []string
	}{
		"module": {mesh.ValidModuleName, []string{"a", "0", "site", "mesh-board", "a-b-c", long}, []string{
			"", "-", "-a", "a-", "A", "a.b", "a_b", "a/b", "a b", "ä", "a\n", "..", "*", ">", long + "a",
		}},
		"node": {mesh.ValidNodeName, []string{"a", "laptop", "db-1.example.org", long}, []string{
			"", ".", "-a", "a.", "A", "a_b", "a/b", "a b", "ä", "a\n", "*", ">", long + "a",
		}},
		"id": {mesh.ValidID, []string{"n7f3k000", strings.Repeat("a", 32)}, []string{
			"", "n7f3k00", "N7F3K000", "n7f3k00-", "n7f3k.00", "n7f3k0000\n", "********", ">>>>>>>>", strings.Repeat("a", 33), "n7f3k00ä",
		}},
	} {
		for _, s := range c.yes {
			if !c.valid(s) {
				t.Errorf("%s: %q is refused", name, s)
			}
		}
		for _, s := range c.not {
			if c.valid(s) {
				t.Errorf("%s: %q is taken", name, s)
			}
		}
	}
}
