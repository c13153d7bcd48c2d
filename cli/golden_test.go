package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/internal/term"
)

var update = flag.Bool("update", false, "write what is expected anew")

// golden compares with testdata/NAME.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	compare(t, filepath.Join("testdata", name+".golden"), got, "make golden")
}

// compare fails where a file is not what it would be now, and names what writes it.
func compare(t *testing.T, path, now, writes string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kept), now); diff != "" {
		t.Errorf("%s is out of date: %s writes it (-kept +now):\n%s", path, writes, diff)
	}
}

// screen is a shell on a terminal of this many columns, or on a pipe, and what
// a person sees there.
func screen(width int) (*shell, *bytes.Buffer) {
	var b bytes.Buffer
	return &shell{out: &term.Term{Name: "mesh", Out: &b, Err: &b, Width: width}}, &b
}
