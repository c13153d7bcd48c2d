package imports_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
)

func at(place string) imports.Place {
	file, line, _ := strings.Cut(place, ":")
	p := imports.Place{File: file}
	for _, digit := range line {
		p.Line = p.Line*10 + int(digit-'0')
	}
	return p
}

func TestSorted(t *testing.T) {
	t.Parallel()
	slashes := func(name string) []string { return imports.Prefixes(name, "/") }
	in := imports.Found{
		Owns: []imports.Own{{"m/b", at("b/go.mod:1")}, {"m", at("go.mod:1")}, {"m", at("a/go.mod:1")}},
		Imports: []imports.Import{
			{Name: "x/y", At: at("b.go:9")},
			{Name: "x/y", At: at("b.go:4")},
			{Name: "x/y", Test: true, At: at("a_test.go:1")},
			{Name: "z", Test: true, At: at("b_test.go:2")},
			{Name: "z", Test: true, At: at("a_test.go:7")},
			{Name: "m/b/c", At: at("a.go:1")},
			{Name: "mm", At: at("a.go:2")},
			{Path: "m", At: at("a.go:3")},
		},
		Faults: []imports.Fault{{At: at("z.go:1"), Why: "no"}, {At: at("a.go:3"), Why: "no"}, {At: at("a.go:3"), Why: "no"}},
	}
	want := imports.Found{
		Owns: []imports.Own{{"m", at("a/go.mod:1")}, {"m/b", at("b/go.mod:1")}},
		Imports: []imports.Import{
			{Path: "m", At: at("a.go:3")},
			{Name: "mm", At: at("a.go:2")},
			{Name: "x/y", At: at("b.go:4")},
			{Name: "z", Test: true, At: at("a_test.go:7")},
		},
		Faults: []imports.Fault{{At: at("a.go:3"), Why: "no"}, {At: at("z.go:1"), Why: "no"}},
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		r.Shuffle(len(in.Owns), func(i, j int) { in.Owns[i], in.Owns[j] = in.Owns[j], in.Owns[i] })
		r.Shuffle(len(in.Imports), func(i, j int) { in.Imports[i], in.Imports[j] = in.Imports[j], in.Imports[i] })
		if d := cmp.Diff(want, in.Sorted(slashes)); d != "" {
			t.Fatal(d)
		}
	}
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "", "a": "a", "a/b/c": "a/b/c a/b a", "/a": "/a", "a/": "a/ a"} {
		if got := strings.Join(imports.Prefixes(name, "/"), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if d := cmp.Diff("a/b.go:3 a", at("a/b.go:3").String()+" "+at("a").String()); d != "" {
		t.Error(d)
	}
}
