package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"noxmesh/delivery/graph"
)

// large is 10,000 modules with 100,000 edges. Where cyclic, edges go anywhere
// and most of it is one cycle; otherwise they go to modules of lower number.
func large(cyclic bool) []graph.Module {
	const modules, edges = 10_000, 10
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]graph.Module, modules)
	for i := range out {
		out[i] = graph.Module{Name: fmt.Sprintf("module-%05d", i)}
		for range edges {
			to := r.IntN(modules)
			if !cyclic {
				to = r.IntN(i + 1)
			}
			out[i].Requires = append(out[i].Requires, fmt.Sprintf("module-%05d", to))
		}
	}
	return out
}

func allOf(modules []graph.Module) []string {
	roots := make([]string, len(modules))
	for i, m := range modules {
		roots[i] = m.Name
	}
	return roots
}

func BenchmarkNew(b *testing.B) {
	modules := large(false)
	b.ReportAllocs()
	for b.Loop() {
		graph.New(modules, nil)
	}
}

func BenchmarkClosure(b *testing.B) {
	for _, c := range []struct {
		name   string
		cyclic bool
		roots  int
	}{{"everything", false, 10_000}, {"one root", false, 1}, {"one great cycle", true, 10_000}} {
		b.Run(c.name, func(b *testing.B) {
			modules := large(c.cyclic)
			g, roots := graph.New(modules, nil), allOf(modules[len(modules)-c.roots:])
			b.ReportAllocs()
			for b.Loop() {
				g.Closure(roots)
			}
		})
	}
}

// TestClosureDeep: a chain and a ring as long as anybody will ever make one.
func TestClosureDeep(t *testing.T) {
	t.Parallel()
	const n = 100_000
	chain := make([]graph.Module, n)
	for i := range chain {
		chain[i] = graph.Module{Name: fmt.Sprintf("m%06d", i), Requires: []string{fmt.Sprintf("m%06d", (i+1)%n)}}
	}
	_, problems := graph.New(chain, nil).Closure([]string{"m000042"})
	if len(problems) != n {
		t.Fatalf("%d problems", len(problems))
	}
	words := 0
	for _, p := range problems {
		words += len(p.Why)
	}
	if words > 100*n {
		t.Fatalf("%d bytes of words about %d modules", words, n)
	}
	chain[n-1].Requires = nil
	order, problems := graph.New(chain, nil).Closure([]string{"m000000"})
	if len(problems) != 0 || len(order) != n || order[0] != "m099999" || order[n-1] != "m000000" {
		t.Fatalf("%d in order, %d problems", len(order), len(problems))
	}
}
