package builder

import "testing"

// A join that was cut off is tried again with the same keys while the token is
// the same. Under another token the mesh may have taken back what it knew.
func TestTheKeysOfAJoinAreTheTokens(t *testing.T) {
	t.Parallel()
	s, err := openState(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	public := func(token string) string {
		t.Helper()
		key, seed, err := s.keysFor(token)
		if err != nil {
			t.Fatal(err)
		}
		nats, err := seed.Public()
		if err != nil {
			t.Fatal(err)
		}
		return string(key.Public()) + nats
	}
	first := public("t1")
	if again := public("t1"); again != first {
		t.Error("the same token, and other keys")
	}
	other := public("t2")
	if other == first {
		t.Error("another token, and the same keys")
	}
	key, _, err := s.keys()
	if err != nil || string(key.Public()) != other[:len(key.Public())] {
		t.Errorf("the keys that are kept are not the last (%v)", err)
	}
}
