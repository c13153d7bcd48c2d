package builder

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// A workshop whose builder will never come again goes with the next start of any
// builder of this user; what is anybody's else stays.
func TestAWorkshopOfNobodyIsRemoved(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	for name, of := range map[string]string{"mesh-builder-dead": filepath.Join(state, "gone"), "mesh-builder-alive": state, "mesh-builder-odd": "relative", "other": filepath.Join(state, "gone")} {
		if err := os.MkdirAll(filepath.Join(dir, name, "bench"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, ofFile), []byte(of), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "mesh-builder-unsaid"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := removeOrphans(filepath.Join(dir, "mesh-builder-")); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range all {
		left = append(left, e.Name())
	}
	if want := []string{"mesh-builder-alive", "mesh-builder-odd", "mesh-builder-unsaid", "other"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

// A sandbox that a killed builder has left is ended with the next start, and no
// other: neither another builder's nor what merely works in the same folder.
func TestASandboxOfAKilledBuilderIsEnded(t *testing.T) {
	t.Parallel()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bubblewrap is not here")
	}
	dir := t.TempDir()
	mine, others := filepath.Join(dir, "mine"), filepath.Join(dir, "mine2")
	w, err := openWorkshop(mine, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(program, in string) (*exec.Cmd, io.Closer) {
		if err := os.MkdirAll(filepath.Join(in, "tree"), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "--ro-bind", "/", "/", "--bind", filepath.Join(in, "tree"), "/tmp", "cat")
		if program == "sh" {
			cmd = exec.Command(program, "-c", "read -r _", filepath.Join(in, "tree"))
		}
		goOn, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		return cmd, goOn
	}
	left, _ := begin(bwrap, mine)
	beside, letBeside := begin(bwrap, others)
	person, letPerson := begin("sh", mine)
	if _, err := probe(t.Context(), w, DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	_ = left.Wait()
	if !left.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		t.Errorf("it has ended otherwise than by being ended: %s", left.ProcessState)
	}
	_, _ = letBeside.Close(), letPerson.Close()
	for _, other := range []*exec.Cmd{beside, person} {
		if _ = other.Wait(); other.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			t.Errorf("%v was ended: %s", other.Args, other.ProcessState)
		}
	}
}
