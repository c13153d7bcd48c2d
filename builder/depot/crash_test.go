//go:build meshcrash

package depot

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"noxmesh/builder/lock"
)

const crashVariable = "MESH_TEST_CRASH_DEPOT"

// Kill whoever puts a file before and after each effect, and let each meet a full
// disk: afterwards what is kept is whole, and it can be put again.
func TestEveryEffectOfADepotMayBeTheLast(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(crashVariable); dir != "" {
		if err := twoFiles(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	effects := filepath.Join(t.TempDir(), "effects")
	if _, err := child(t, filepath.Join(t.TempDir(), "depot"), "MESH_EFFECTS="+effects); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(effects)
	must(t, err)
	points := strings.Fields(string(list))
	want := []string{"builder.depot.open#1", "builder.depot.fill#1", "builder.depot.keep#1", "builder.depot.fill#2", "builder.depot.keep#2", "builder.depot.drop#1"}
	if !slices.Equal(points, want) {
		t.Fatalf("the effects are %v, want %v", points, want)
	}
	for _, point := range points {
		for _, how := range []string{"MESH_CRASH=" + point + ":before", "MESH_CRASH=" + point + ":after", "MESH_FAIL=" + point + ":ENOSPC"} {
			dir := filepath.Join(t.TempDir(), "depot")
			said, err := child(t, dir, how)
			var exit *exec.ExitError
			killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			if killed != strings.HasPrefix(how, "MESH_CRASH") {
				t.Errorf("%s: %v\n%s", how, err, said)
			}
			if !killed && (err == nil || !strings.Contains(said, "no space left on device") || !strings.Contains(said, `"`)) {
				t.Errorf("%s: it does not say what is wrong with what: %v\n%s", how, err, said)
			}
			if said, err := child(t, dir); err != nil {
				t.Errorf("%s: again: %v\n%s", how, err, said)
			}
			d := open(t, dir, 6)
			if has(t, d, "first") || !has(t, d, "second") {
				t.Errorf("%s: it keeps %v", how, d.Each())
			}
			if left, err := os.ReadDir(filepath.Join(dir, begun)); err != nil || len(left) > 0 {
				t.Errorf("%s: %v stays, %v", how, left, err)
			}
		}
	}
}

func child(t *testing.T, dir string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^TestEveryEffectOfADepotMayBeTheLast$", "-test.count=1")
	cmd.Env = append(append(os.Environ(), crashVariable+"="+dir), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// twoFiles puts two files where there is room for one.
func twoFiles(dir string) error {
	d, err := Open(Config{Dir: dir, Most: 6})
	if err != nil {
		return err
	}
	for _, text := range []string{"first", "second"} {
		f, err := d.Put([]lock.Hash{hashOf(text)}, 100, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
