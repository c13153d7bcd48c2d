package line

import (
	"fmt"
	"testing"
	"time"
)

// From a commit to applied on three nodes, with the hook on and nothing to run:
// each commit is of a repository of its own, so that none waits for the polite
// pause between two looks at one.
func BenchmarkCommitToApplied(b *testing.B) {
	m := start(b, options{hosts: 3, builders: 1, every: time.Hour})
	const modules = 6
	for i := range modules {
		name := fmt.Sprintf("site%d", i)
		first := m.module(name, site(name, "0"))
		m.assign(name, "node1", "node2", "node3")
		m.auto(name)
		m.until("the first commit is out", isOut(name, first, 3))
	}
	best, sum, n := time.Hour, time.Duration(0), 0
	for b.Loop() {
		name := fmt.Sprintf("site%d", n%modules)
		commit := m.forge.commit(name, files{"public/index.html": fmt.Sprintf("%d", n)})
		began := time.Now()
		m.post("/hooks/"+name, "{}")
		m.until("the commit is out", isOut(name, commit, 3))
		took := time.Since(began)
		best, sum, n = min(best, took), sum+took, n+1
	}
	b.ReportMetric(best.Seconds(), "best-s")
	b.ReportMetric(sum.Seconds()/float64(n), "mean-s")
}
