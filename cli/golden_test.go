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
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wanted, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(wanted), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// screen is a shell on a terminal of this many columns, or on a pipe, and what
// a person sees there.
func screen(width int) (*shell, *bytes.Buffer) {
	var b bytes.Buffer
	return &shell{out: &term.Term{Name: "mesh", Out: &b, Err: &b, Width: width}}, &b
}
