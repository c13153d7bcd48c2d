package host

import (
	"testing"

	"noxmesh/host/keep"
	"noxmesh/host/system"
)

// A join that was cut off is tried again with the same keys while the token is
// the same. Under another token the mesh may have taken back what it knew; but
// a node that has joined keeps its keys.
func TestTheKeysOfAJoinAreTheTokens(t *testing.T) {
	t.Parallel()
	sys, err := system.Open(t.TempDir())
	must(t, err)
	defer sys.Close()
	f, err := keep.Open(sys)
	must(t, err)
	defer f.Close()
	public := func(token string) string {
		t.Helper()
		k, err := keysFor(f, token)
		must(t, err)
		return string(k.sign.Public()) + k.seal.Recipient()
	}
	first := public("t1")
	if again := public("t1"); again != first {
		t.Error("the same token, and other keys")
	}
	other := public("t2")
	if other == first {
		t.Error("another token, and the same keys")
	}
	must(t, f.SaveJoined(keep.Joined{Mesh: "meshmesh", Node: "nodenode"}))
	if kept := public("t3"); kept != other {
		t.Error("a node that has joined has other keys")
	}
}
