package power

import (
	"slices"
	"strings"
	"testing"
)

// Cut is one power cut: at which point, and what it finds of the log.
type Cut struct {
	Point string // name#n:before or name#n:after, for MESH_CRASH
	Log   Log
}

// End is the point at which a program has ended by itself.
const End = "end"

// Cuts is every cut of a run that passed these effects: before each one, which
// is after the one before it, with the log written; after each one with the log
// lost; and at the end. So each state of the disk meets both.
func Cuts(effects string) (all []Cut) {
	for _, e := range strings.Fields(effects) {
		all = append(all, Cut{e + ":before", Written}, Cut{e + ":after", Lost})
	}
	return append(all, Cut{End, Written}, Cut{End, Lost})
}

// String is the cut as the name of a test.
func (c Cut) String() string {
	if c.Log == Written {
		return c.Point + " log written"
	}
	return c.Point + " log lost"
}

// Disks is the disks of one machine, which lose their power together. One that
// is mounted on another comes after it.
type Disks []*Disk

// Env is what a program built with the tag meshcrash is told, to cut their power there.
func (all Disks) Env(c Cut) []string {
	var dirs []string
	for _, d := range all {
		dirs = append(dirs, d.Dir)
	}
	env := []string{"MESH_CRASH=" + c.Point, "MESH_POWER=" + strings.Join(dirs, ":")}
	if c.Log == Written {
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

// Fail cuts the power of all of them.
func (all Disks) Fail(l Log) {
	for _, d := range all {
		d.t.Helper()
		d.Fail(l)
	}
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
