//go:build meshbugs

package sim

import (
	"flag"
	"testing"
	"time"

	"noxmesh/internal/planted"
)

var (
	bug  = flag.String("bug", "", "the one planted bug to look for; empty for all")
	most = flag.Uint64("most", 2000, "within how many seeds each must be found")
)

// Each bug that can be planted is found, or the simulation proves nothing.
func TestBugs(t *testing.T) {
	for _, b := range planted.Bugs() {
		if b.By != planted.Simulation || *bug != "" && b.Name != *bug {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			t.Setenv("MESH_BUG", b.Name)
			began := time.Now()
			for seed := *first; seed < *first+*most; seed++ {
				if r := play(t, seed); len(r.findings) > 0 {
					t.Logf("found by seed %d in %s: %s", seed, time.Since(began).Round(time.Millisecond), r.findings[0])
					return
				}
			}
			t.Errorf("not found by %d seeds from %d", *most, *first)
		})
	}
}
