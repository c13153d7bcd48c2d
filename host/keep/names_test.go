package keep

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// A table is what a map would be, whatever is put into it and dropped.
func TestTableIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		table, m := NewTable(rapid.IntRange(0, 8).Draw(rt, "room")), map[string]Entry{}
		paths := rapid.Custom(func(t *rapid.T) string { return "/" + strconv.Itoa(rapid.IntRange(0, 40).Draw(t, "path")) })
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				e := Entry{Thing: Thing{Path: paths.Draw(rt, "put"), Size: rapid.Int64().Draw(rt, "size")}}
				table.Put(e)
				m[e.Thing.Path] = e
			},
			"drop": func(rt *rapid.T) {
				p := paths.Draw(rt, "drop")
				table.Drop(p)
				delete(m, p)
			},
			"": func(rt *rapid.T) {
				for n := range 41 {
					p := "/" + strconv.Itoa(n)
					want, there := m[p]
					if e, had := table.Get(p); e != want || had != there {
						rt.Fatalf("%s is %v %t, not %v %t", p, e, had, want, there)
					}
				}
				all := map[string]Entry{}
				for e := range table.All() {
					all[e.Thing.Path] = e
				}
				if table.Len() != len(m) || !maps.Equal(all, m) {
					rt.Fatalf("%d lines: %v, not %v", table.Len(), all, m)
				}
				var sorted []string
				for e := range table.Sorted() {
					sorted = append(sorted, e.Thing.Path)
				}
				if want := slices.Sorted(maps.Keys(m)); !slices.Equal(sorted, want) {
					rt.Fatalf("in the order %v, not %v", sorted, want)
				}
			},
		})
	})
}
