package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
)

// fleet is modules whose code asks for ten others each, of lower number.
func fleet(modules int) []graph.Code {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]graph.Code, modules)
	for i := range out {
		name := fmt.Sprintf("module-%06d", i)
		f := imports.Found{Owns: []imports.Own{{Name: "example.com/" + name, At: imports.Place{File: "go.mod", Line: 1}}}}
		for k := range 10 {
			to := fmt.Sprintf("example.com/module-%06d/pkg", r.IntN(i+1))
			f.Imports = append(f.Imports, imports.Import{Name: to, At: imports.Place{File: "a.go", Line: k + 3}})
		}
		out[i] = graph.Code{Module: name, Repository: "r", Folder: name, Says: imports.Say(map[string]imports.Found{"slashes": f})}
	}
	return out
}

func of(all []graph.Code) *graph.Builds {
	b := graph.NewBuilds([]imports.Language{slashes{}})
	for _, c := range all {
		b.Set(c)
	}
	b.Settle()
	return b
}

// Everything: from what was read of each module to the rebuild set of the first.
func BenchmarkRebuildAll(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("modules=%d", n), func(b *testing.B) {
			all := fleet(n)
			b.ReportAllocs()
			for b.Loop() {
				if got := of(all).Rebuilt([]string{all[0].Module}); len(got) < n/2 {
					b.Fatal(len(got))
				}
			}
		})
	}
}

// One module that moved, at the end that hardly anybody imports: what that
// reaches, in a graph that stands.
func BenchmarkOneModuleMoved(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("modules=%d", n), func(b *testing.B) {
			all := fleet(n)
			g, last := of(all), all[n-1]
			b.ReportAllocs()
			for b.Loop() {
				g.Set(last)
				if got := g.Rebuilt([]string{last.Module}); len(got) != 1 {
					b.Fatal(len(got))
				}
			}
		})
	}
}
