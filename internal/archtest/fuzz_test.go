package archtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever comes from outside goes through a decoder, and every decoder has been
// given everything.
func TestEveryDecoderIsFuzzed(t *testing.T) {
	t.Parallel()
	tree := read(t, "../..")
	for _, f := range tree.Unfuzzed() {
		t.Error(f)
	}
}

func TestADecoderThatNoTargetReachesIsFound(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"go.mod":           "module small\n",
		"cmd/prog/main.go": "package main\n\nimport (\n\t\"small/a\"\n\t\"small/b\"\n)\n",
		"a/a.go": "package a\n\nfunc DecodeA(b []byte) {}\nfunc ParseB(s string) {}\nfunc parseC(n int) {}\nfunc Parsed(s string) {}\n" +
			"func load(b []byte) { document.Decode[int](b) }\nfunc (x X) UnmarshalText(b []byte) { parseD(b) }\nfunc parseD(b []byte) {}\n",
		"a/a_test.go": "package a\n\nfunc FuzzA(f *testing.F) { f.Add(1); through() }\nfunc through() { DecodeA(nil) }\nfunc FuzzBare(f *testing.F) { f.Fuzz(nil) }\n",
		"b/b.go":      "package b\n\nfunc DecodeAll(b []byte) {}\n",
		"c/c.go":      "package c\n\nfunc DecodeOfNoProgram(b []byte) {}\n",
	}
	tree := read(t, small(t, files))
	want := []string{
		"a: FuzzBare begins with no seed",
		"a: ParseB reads what comes from outside, and no fuzz target calls it",
		"a: load reads what comes from outside, and no fuzz target calls it",
		"b: DecodeAll reads what comes from outside, and no fuzz target calls it",
	}
	if d := cmp.Diff(want, tree.Unfuzzed()); d != "" {
		t.Error(d)
	}
}
