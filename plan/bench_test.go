package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"noxmesh/plan"
)

// BenchmarkCompile is one node with 200 modules of five resources each, in a
// mesh that knows no others and in one that knows 10,000.
func BenchmarkCompile(b *testing.B) {
	for _, known := range []int{200, 10_000} {
		b.Run(fmt.Sprintf("of %d", known), func(b *testing.B) {
			var modules []plan.Module
			var assigned []string
			for i := range known {
				name, needs := fmt.Sprintf("module-%d", i), ""
				if i%10 != 0 {
					needs = fmt.Sprintf("module-%d module-%d", i-1, i-i%10)
				}
				if i >= 200 {
					modules = append(modules, only(name, needs, ""))
					continue
				}
				assigned = append(assigned, name)
				modules = append(modules, declared(
					name, with(requires(needs), setting("port", integer(int64(1000+i))), claims("tcp:${settings.port}")),
					"directory d /srv/"+name, "archive site /srv/"+name+"/site "+name, "file conf /srv/"+name+"/conf port ${settings.port} on ${node.name}",
					"from logo /srv/"+name+"/logo "+name, "link now /srv/"+name+"/now site",
				))
			}
			f := facts(strings.Join(assigned, " "), strings.Join(assigned, " "), modules...)
			if p := plan.Compile(f); len(p.Body.Resources) != 1000 {
				b.Fatalf("%d resources, held %v, left out %v", len(p.Body.Resources), p.Held, p.LeftOut)
			}
			b.ReportAllocs()
			for b.Loop() {
				plan.Compile(f)
			}
		})
	}
}
