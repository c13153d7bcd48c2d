package builder

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A workshop whose builder will never come again goes with the next start of any
// builder of this user; what is anybody's else stays.
func TestAWorkshopOfNobodyIsRemoved(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	for name, of := range map[string]string{"mesh-builder-dead": filepath.Join(state, "gone"), "mesh-builder-alive": state, "mesh-builder-odd": "relative", "other": filepath.Join(state, "gone")} {
		if err := os.MkdirAll(filepath.Join(dir, name, "bench"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, ofFile), []byte(of), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "mesh-builder-unsaid"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := removeOrphans(filepath.Join(dir, "mesh-builder-")); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range all {
		left = append(left, e.Name())
	}
	if want := []string{"mesh-builder-alive", "mesh-builder-odd", "mesh-builder-unsaid", "other"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}
