package mesh_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

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

// The names are what these expressions say.
func TestNamesAreWhatTheirExpressionsSay(t *testing.T) {
	t.Parallel()
	module := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	node := regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)
	id := regexp.MustCompile(`^[a-z0-9]{8,32}$`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("aaz09-.A_/\n\x00ä")), 0, 66, -1).Draw(t, "s")
		if n := rapid.IntRange(0, 66).Draw(t, "n"); n > 40 {
			s = strings.Repeat("a", n-1) + s
		}
		if mesh.ValidModuleName(s) != module.MatchString(s) || mesh.ValidNodeName(s) != node.MatchString(s) || mesh.ValidID(s) != id.MatchString(s) {
			t.Fatalf("%q", s)
		}
	})
}
