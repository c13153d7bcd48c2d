//go:build meshcrash && power

package version_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"noxmesh/document"
	"noxmesh/host/version"
	"noxmesh/internal/power"
)

const writerVariable = "MESH_TEST_VERSION"

// TestPowerIsCutWhileAVersionIsConfirmed: there is always a version to go back to, whole: the
// one before until another is confirmed, and that one from then on.
func TestPowerIsCutWhileAVersionIsConfirmed(t *testing.T) {
	if dir := os.Getenv(writerVariable); dir != "" {
		must(t, two(dir).Confirm())
		fmt.Println("confirmed")
		return
	}
	t.Parallel()
	run := func(dir string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestPowerIsCutWhileAVersionIsConfirmed$")
		cmd.Env = append(os.Environ(), writerVariable+"="+dir)
		return cmd
	}
	power.Writer{Run: run, Begin: before(t), Least: 12}.EachCut(t, func(t *testing.T, dir string, said []string) {
		wants := []string{"one", "two"}
		if slices.Contains(said, "confirmed") {
			wants = wants[1:]
		}
		back(t, dir, wants)
		must(t, two(dir).Confirm()) // it is started again
		back(t, dir, wants[len(wants)-1:])
		if got := list(t, filepath.Join(dir, "kept")); got != "2" {
			t.Errorf("kept are %q", got)
		}
	})
}

func two(dir string) *version.Versions {
	return version.Here(dir, filepath.Join(dir, "state"), "2", filepath.Join(dir, "versions/2/mesh-host"))
}

// before is a disk on which version 1 is confirmed, and version 2 runs after two failures.
func before(t *testing.T) power.Image {
	t.Helper()
	d := power.New(t, "16M")
	put(t, filepath.Join(d.Dir, "versions/1/mesh-host"), "one")
	put(t, filepath.Join(d.Dir, "versions/2/mesh-host"), "two")
	must(t, os.Mkdir(filepath.Join(d.Dir, "state"), 0o700))
	must(t, version.Here(d.Dir, filepath.Join(d.Dir, "state"), "1", filepath.Join(d.Dir, "versions/1/mesh-host")).Confirm())
	put(t, filepath.Join(d.Dir, "state/failures"), "2 exit-code exited 1\n2 timeout killed KILL\n")
	return d.Image()
}

// back is that the version to go back to is one of these, and what was kept.
func back(t *testing.T, dir string, wants []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "confirmed/mesh-host"))
	digest, bad := os.ReadFile(filepath.Join(dir, "confirmed/digest"))
	if err != nil || bad != nil || !slices.Contains(wants, string(text)) || string(digest) != string(document.Sum(text)) {
		t.Errorf("there is %q with the digest %q (%v, %v), want one of %q", text, digest, err, bad, wants)
	}
	if info, err := os.Stat(filepath.Join(dir, "confirmed/mesh-host")); err != nil || info.Mode() != 0o755 {
		t.Errorf("it cannot be started: %v, %v", info, err)
	}
}
