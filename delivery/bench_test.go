package delivery_test

import (
	"fmt"
	"testing"

	"noxmesh/delivery"
)

// BenchmarkCompare is 10,000 modules, each on ten nodes with ten builds, ten
// requests and ten declare-writes: all of it out, and all of it one commit behind.
func BenchmarkCompare(b *testing.B) {
	for _, c := range []struct{ name, declared string }{{"all out", "c9/t9"}, {"all behind", "c8/t8"}} {
		b.Run(c.name, func(b *testing.B) {
			all := make([]delivery.Facts, 10_000)
			for m := range all {
				all[m] = large(m, c.declared)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, f := range all {
					if d := delivery.Compare(f, at(100)); (d.Declare == nil) != (c.declared == "c9/t9") {
						b.Fatal(says(d))
					}
				}
			}
		})
	}
}

func large(module int, declared string) delivery.Facts {
	f := facts(auto, from(read("c9/t9")))
	f.Module = fmt.Sprintf("module-%d", module)
	for i := range 10 {
		id := fmt.Sprintf("node-%d", module+i)
		f.Nodes = append(f.Nodes, id)
		f.Declared[id] = digest(declared)
	}
	for i := range 10 {
		name := fmt.Sprintf("c%d/t%d", i, i)
		builds(made(name+"="+name, i))(&f)
		requests(asked(fmt.Sprintf("t%d", i), 1, delivery.Done, i))(&f)
		f.Writes = append(f.Writes, delivery.Write{ID: int64(i), Build: digest(name), Nodes: f.Nodes, Policy: i%3 != 0, At: at(i)})
	}
	return f
}
