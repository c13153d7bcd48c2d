package power

import (
	"slices"
	"strings"
	"testing"
)

// Disks is the disks of one machine, which lose their power together. One that
// is mounted on another comes after it.
type Disks []*Disk

// Env is what a program built with the tag meshcrash is told, to cut their power
// where it is killed: with the log written at the last moment, or not.
func (all Disks) Env(l Log) []string {
	var dirs []string
	for _, d := range all {
		dirs = append(dirs, d.Dir)
	}
	env := []string{"MESH_POWER=" + strings.Join(dirs, ":")}
	if l == Written {
		env = append(env, "MESH_POWER_LOG=1")
	}
	return env
}

// Log is what a cut finds of the file system's log. A program must stand both:
// one finds names that nobody made durable, the other names whose bytes nobody did.
type Log bool

// The two: the file system may have written its log of its own accord just before.
const (
	Lost    Log = false
	Written Log = true
)

// Cut is a power cut of all of them, and the power coming back.
func (all Disks) Cut(t testing.TB) {
	t.Helper()
	for _, d := range all {
		d.Fail()
	}
	all.Back(t)
}

// Back mounts disks again whose power was cut.
func (all Disks) Back(t testing.TB) {
	t.Helper()
	for _, d := range slices.Backward(all) {
		if err := d.unmount(); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range all {
		d.mount()
	}
}
