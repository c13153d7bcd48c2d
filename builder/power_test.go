//go:build meshcrash && power

package builder

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"noxmesh/internal/power"
)

// TestPowerIsCutInABuilder cuts the power before and after each of a builder's
// effects. What it has answered is answered from the disk, and what it had begun
// is built again.
func TestPowerIsCutInABuilder(t *testing.T) {
	t.Parallel()
	if os.Getenv(crashVariable) != "" {
		return
	}
	blank := power.Blank(t, "512M", "-J", "size=4", "-N", "4096") // 256 MiB stay free
	needsSandbox(t)
	cuts := power.Cuts(strings.Join(passed(t), "\n"))
	t.Logf("%d power cuts", len(cuts))
	if len(cuts) < 40 {
		t.Fatalf("only %v", cuts)
	}
	var ends []end
	for _, c := range cuts {
		if c.Point != power.End { // that is after the last effect
			ends = append(ends, end{c.String(), func(s *story) []string { return s.disk.(*onDisk).disks.Env(c) }})
		}
	}
	tellAll(t, func() powered { return &onDisk{blank: blank} }, ends)
}

// onDisk is a builder whose state is on a disk of its own.
type onDisk struct {
	blank power.Image
	disks power.Disks
}

// mount puts what is in the folder on the disk, in its place.
func (d *onDisk) mount(t *testing.T, dir string) {
	t.Helper()
	was := dir + ".was"
	for _, err := range []error{os.Rename(dir, was), os.Mkdir(dir, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d.disks = power.Disks{d.blank.MountAt(t, dir)}
	if out, err := exec.Command("sh", "-c", `cp -a "$0"/. "$1" && sync -f "$1"`, was, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, strings.TrimSpace(string(out)))
	}
}

// back is the power coming back.
func (d *onDisk) back(t *testing.T) {
	t.Helper()
	d.disks.Back(t)
}
