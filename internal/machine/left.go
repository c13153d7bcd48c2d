package machine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"noxmesh/internal/fault"
)

// left takes away what a process has left that was killed: whatever runs in its
// machines and on its bridge, what is mounted below its folder, its namespaces, its
// control groups, and the folder. All of it carries the folder's name.
func left(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	mine := func(where string) []string {
		net, _ := filepath.Glob(filepath.Join(where, "mesh-*-"+filepath.Base(dir))) // the patterns are right
		machines, _ := filepath.Glob(filepath.Join(where, "mesh-*-"+filepath.Base(dir)+"-*"))
		return append(machines, net...)
	}
	// What is busy until the last process has ended is tried again.
	err := until(ctx, func() bool {
		end(ctx, dir, mine("/run/netns"))
		unmount(dir)
		return len(mounts(dir)) == 0
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "take away the machines in %q, of a process that was killed", dir)
	}
	var errs []error
	for _, name := range mine("/run/netns") {
		errs = append(errs, run(ctx, "ip", "netns", "del", filepath.Base(name)))
	}
	for _, where := range []string{cgroups, cgroups + "/systemd", cgroups + "/unified"} {
		for _, group := range mine(where) {
			errs = append(errs, until(ctx, func() bool { return removeGroup(group) == nil }))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(dir))...)
}

// end ends the machines below a folder, and what runs in these namespaces.
func end(ctx context.Context, dir string, namespaces []string) {
	for _, nspawn := range nspawns(dir) {
		for _, pid := range []int{leader(nspawn), nspawn} {
			if pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
	}
	for _, name := range namespaces {
		out, _ := exec.CommandContext(ctx, "ip", "netns", "pids", filepath.Base(name)).Output() // one that has nothing in it any more says so
		for pid := range strings.FieldsSeq(string(out)) {
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
}

// nspawns is the processes that keep a machine whose root is below this folder.
func nspawns(dir string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, name := range all {
		words, err := os.ReadFile(name)
		pid, bad := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && bad == nil && bytes.Contains(words, []byte("\x00--directory="+dir+"/")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// mounts is where something is mounted at or below a folder, the outer ones first.
func mounts(dir string) (points []string) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return []string{dir} // nobody knows
	}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4]+"/", dir+"/") {
			points = append(points, fields[4])
		}
	}
	return points
}

func unmount(dir string) {
	for _, point := range slices.Backward(mounts(dir)) {
		_ = syscall.Unmount(point, 0) // where it is busy it is tried again
	}
}
