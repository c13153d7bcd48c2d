package power

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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

// Snapshot is what a power cut would leave of the disks at this moment, all of which
// go on: what the file systems have written, and nothing of what they only have in memory. It
// is empty where they have written nothing since the last one, which was at these counts.
func (all Disks) Snapshot(t testing.TB, last []int64) (images []Image, written []int64) {
	t.Helper()
	for {
		before := all.written(t)
		if slices.Equal(before, last) {
			return nil, last
		}
		images = nil
		for _, d := range all {
			image := newImage(t)
			if err := copySparse(string(d.image), string(image)); err != nil {
				t.Fatal(err)
			}
			images = append(images, image)
		}
		if slices.Equal(all.written(t), before) { // it is that of one moment
			return images, before
		}
	}
}

// written is how often each of them was written to. One that is being written to is never
// as often twice.
func (all Disks) written(t testing.TB) []int64 {
	t.Helper()
	var counts []int64
	for _, d := range all {
		name, err := d.device()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join("/sys/block", name, "stat"))
		if err != nil {
			t.Fatal(err)
		}
		const writes, inFlight = 4, 8
		f := strings.Fields(string(text))
		n, err := strconv.ParseInt(f[writes], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if f[inFlight] != "0" {
			n = -1 - time.Now().UnixNano()
		}
		counts = append(counts, n)
	}
	return counts
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
