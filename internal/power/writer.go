package power

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Writer is a program that keeps something on a disk, and says on its standard
// output, line by line, what is on it for good. It ends by itself.
type Writer struct {
	Run   func(dir string) *exec.Cmd // built with the tag meshcrash; its environment is added to
	Begin Image                      // what the disk is at the beginning
	Least int                        // of cuts: with fewer, effects are missing
}

// EachCut lets the writer write with each cut of its run, and has it checked what
// is on the disk then, given what it had said.
func (w Writer) EachCut(t *testing.T, check func(t *testing.T, dir string, said []string)) {
	t.Helper()
	passed := filepath.Join(t.TempDir(), "effects")
	w.until(t, w.Begin.Mount(t), "MESH_EFFECTS="+passed)
	text, err := os.ReadFile(passed)
	if err != nil {
		t.Fatal(err)
	}
	cuts := Cuts(string(text))
	t.Logf("%d power cuts", len(cuts))
	if len(cuts) < w.Least {
		t.Fatalf("only %v", cuts)
	}
	for _, c := range cuts {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			disks := Disks{w.Begin.Mount(t)}
			said := w.until(t, disks[0], disks.Env(c)...)
			if c.Point == End {
				disks.Fail(c.Log)
			}
			disks.Back(t)
			check(t, disks[0].Dir, said)
		})
	}
}

// until runs the writer to its end or to where it is killed, and gives what it said.
func (w Writer) until(t *testing.T, d *Disk, env ...string) []string {
	t.Helper()
	cmd := w.Run(d.Dir)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	killed := slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "MESH_CRASH=") && e != "MESH_CRASH="+End })
	if (err != nil) != killed {
		t.Fatalf("killed: %v, and it ended with %v: %s", killed, err, out)
	}
	return strings.Fields(string(out))
}
