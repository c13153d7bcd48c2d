package identity

import (
	"testing"

	mesh "noxmesh"
	"noxmesh/internal/fault"
)

// Every role against every requirement, written out: what is not here may not.
func TestMay(t *testing.T) {
	t.Parallel()
	allowed := map[[2]Role]bool{
		{"", Anyone}: true, {Anyone, Anyone}: true, {Viewer, Anyone}: true, {Operator, Anyone}: true, {"root", Anyone}: true,
		{Viewer, Viewer}: true, {Operator, Viewer}: true,
		{Operator, Operator}: true,
	}
	roles := []Role{"", Anyone, Viewer, Operator, "root", "OPERATOR"}
	for _, role := range roles {
		for _, required := range roles {
			want := allowed[[2]Role{role, required}] || required == Anyone
			if May(role, required) != want {
				t.Errorf("%q may what takes %q: %v", role, required, !want)
			}
		}
	}
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"viewer", "operator"} {
		if r, err := ParseRole(name); err != nil || r.String() != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "anyone", "Operator", "root"} {
		if _, err := ParseRole(name); fault.KindOf(err) != fault.Invalid || fault.HintOf(err) == "" {
			t.Errorf("%q is a login's role: %v", name, err)
		}
	}
}

func TestIDsAreValidAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := NewID()
		if !mesh.ValidID(id) || len(id) != 16 || seen[id] {
			t.Fatalf("%q", id)
		}
		seen[id] = true
	}
}
