package archtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever comes from outside goes through a decoder, and every decoder has been
// given everything.
func TestEveryDecoderIsFuzzed(t *testing.T) {
	t.Parallel()
	tree, err := Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tree.Unfuzzed() {
		t.Error(f)
	}
}

func TestADecoderThatNoTargetReachesIsFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module small\n",
		"cmd/prog/main.go": "package main\n\nimport (\n\t\"small/a\"\n\t\"small/b\"\n)\n",
		"a/a.go": "package a\n\nfunc DecodeA(b []byte) {}\nfunc ParseB(s string) {}\nfunc parseC(n int) {}\nfunc Parsed(s string) {}\n" +
			"func load(b []byte) { document.Decode[int](b) }\nfunc (x X) UnmarshalText(b []byte) { parseD(b) }\nfunc parseD(b []byte) {}\n",
		"a/a_test.go": "package a\n\nfunc FuzzA(f *testing.F) { f.Add(1); through() }\nfunc through() { DecodeA(nil) }\nfunc FuzzBare(f *testing.F) { f.Fuzz(nil) }\n",
		"b/b.go":      "package b\n\nfunc DecodeAll(b []byte) {}\n",
		"c/c.go":      "package c\n\nfunc DecodeOfNoProgram(b []byte) {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
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
