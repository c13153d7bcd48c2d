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
	defer func() { _ = unix.Close(fd) }() // it was only to wait on
	for deadline := time.Now().Add(settleTime); time.Now().Before(deadline); {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(endsBy.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fault.Wrap(fault.Unavailable, err, "wait for the sandbox to end")
		}
		if n > 0 {
			return nil
		}
		endBelow("/proc", strconv.Itoa(*pid))
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
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !raises(proc, e.Name(), workshop) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		if raises(proc, e.Name(), workshop) { // and is no other one with its number
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // where it has ended meanwhile, all is well
		}
		_ = unix.Close(fd) // it was only to name it
		if err := waitGone(&pid); err != nil {
			return err
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
		n, err := strconv.Atoi(child)
		if err != nil {
			continue
		}
		fd, err := unix.PidfdOpen(n, 0)
		if err != nil {
			continue // it has ended
		}
		if slices.Contains(childrenOf(proc, pid), child) { // and is no other one with its number
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // likewise
		}
		_ = unix.Close(fd) // it was only to name it
	}
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
