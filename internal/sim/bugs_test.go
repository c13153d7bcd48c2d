//go:build meshbugs

package sim

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/planted"
)

var (
	bug  = flag.String("bug", "", "the one planted bug to look for; empty for all")
	most = flag.Uint64("most", 2000, "within how many seeds each must be found")
)

// Each bug that can be planted is found, or the simulation proves nothing: by
// what it breaks, in a seed that has nothing to find without it.
func TestBugs(t *testing.T) { //nolint:paralleltest // which bug is planted is one for the whole process
	for _, b := range planted.Bugs() { //nolint:paralleltest // nor is each
		if b.By != planted.Simulation || *bug != "" && b.Name != *bug {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			began := time.Now()
			seeds := []uint64{b.Seed}
			for seed := *first; seed < *first+*most; seed++ {
				seeds = append(seeds, seed)
			}
			for _, seed := range seeds {
				if finding := finds(t, b, seed); finding != "" {
					t.Logf("found by seed %d in %s: %s", seed, time.Since(began).Round(time.Millisecond), finding)
					return
				}
			}
			t.Errorf("not found by %d seeds from %d", *most, *first)
		})
	}
}

// finds is how the seed finds the bug, or empty where it does not.
func finds(t *testing.T, b planted.Bug, seed uint64) string {
	t.Helper()
	if seed == 0 {
		return "" // none is known that finds it
	}
	t.Setenv("MESH_BUG", b.Name)
	with := play(t, seed)
	fits := slices.IndexFunc(with.findings, func(f string) bool {
		id, _, _ := strings.Cut(f, " ")
		return slices.Contains(strings.Fields(b.Breaks), id)
	})
	if fits < 0 {
		if len(with.findings) > 0 {
			t.Logf("seed %d finds something else: %s", seed, with.findings[0])
		}
		return ""
	}
	t.Setenv("MESH_BUG", "")
	if without := play(t, seed); len(without.findings) > 0 {
		t.Errorf("seed %d finds something without the bug: %s", seed, without.findings[0])
		return ""
	}
	return with.findings[fits]
}
