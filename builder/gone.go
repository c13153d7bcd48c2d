package builder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// endsBy is how long the kernel has to end a sandbox before each of its
// processes is ended.
const endsBy = 200 * time.Millisecond

// waitGone waits until the first process of a sandbox has ended: the kernel
// ends every other one before it. Where one of those holds it, as a tracer can,
// each is ended by itself.
func waitGone(pid *int) error {
	if pid == nil {
		return nil
	}
	fd, err := unix.PidfdOpen(*pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "wait for the sandbox to end")
	}
	return waitFor(fd, *pid)
}

// waitFor waits for the process that fd names, and closes it.
func waitFor(fd, pid int) error {
	defer func() { _ = unix.Close(fd) }() // it was only to wait on
	for deadline := time.Now().Add(settleTime); time.Now().Before(deadline); {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(endsBy.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fault.Wrap(fault.Unavailable, err, "wait for the sandbox to end")
		}
		if n > 0 {
			return nil
		}
		endBelow("/proc", strconv.Itoa(pid))
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // where it has ended meanwhile, the next look says so
	}
	return fault.New(fault.Unavailable, "processes of the sandbox are still there %s after its end", settleTime)
}

// endLeft ends the sandboxes that a killed builder has left of this workshop. The
// kernel ends a sandbox with who began it, but not in the moments in which
// bubblewrap raises it: one then waits for ever for who is gone, and its user has
// no build any more.
func endLeft(proc, workshop string) error {
	all, err := os.ReadDir(proc)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "look for sandboxes that were left")
	}
	for _, e := range all {
		is := func() bool { return raises(proc, e.Name(), workshop) }
		if !is() {
			continue
		}
		if fd, pid, ok := endOne(e.Name(), is); ok {
			if err := waitFor(fd, pid); err != nil {
				return err
			}
		}
	}
	return nil
}

// raises reports whether a process is bubblewrap with something of the workshop.
func raises(proc, pid, workshop string) bool {
	line, err := os.ReadFile(filepath.Join(proc, pid, "cmdline"))
	if err != nil {
		return false // it has ended
	}
	words := strings.Split(string(line), "\x00")
	return filepath.Base(words[0]) == "bwrap" && slices.ContainsFunc(words, func(s string) bool { return strings.HasPrefix(s, workshop+"/") })
}

// endBelow ends every process below one.
func endBelow(proc, pid string) {
	for _, child := range childrenOf(proc, pid) {
		endBelow(proc, child)
		if fd, _, ok := endOne(child, func() bool { return slices.Contains(childrenOf(proc, pid), child) }); ok {
			_ = unix.Close(fd) // it was only to name it
		}
	}
}

// endOne ends a process, where it still is the one that was meant and no other with
// its number. What it gives names that one process, and is to be closed.
func endOne(number string, is func() bool) (fd, pid int, ok bool) {
	pid, err := strconv.Atoi(number)
	if err != nil {
		return 0, 0, false
	}
	if fd, err = unix.PidfdOpen(pid, 0); err != nil {
		return 0, 0, false // it has ended
	}
	if !is() {
		_ = unix.Close(fd) // it was only to name it
		return 0, 0, false
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // where it has ended meanwhile, all is well
	return fd, pid, true
}

// childrenOf is the processes that the threads of one have begun, and those that
// were left to it.
func childrenOf(proc, pid string) (all []string) {
	dir := filepath.Join(proc, pid, "task")
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil // it has ended
	}
	for _, t := range threads {
		if ids, err := os.ReadFile(filepath.Join(dir, t.Name(), "children")); err == nil {
			all = append(all, strings.Fields(string(ids))...)
		}
	}
	return all
}
