package builder

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// takes is what the processes of a sandbox take together.
type takes struct {
	memory    int64 // with what is in the folders that are in memory
	processes int64 // threads included
}

// takesOf is what a process and all below it take. Whatever ends meanwhile is
// left out: in a sandbox, whose orphans become children of its first process,
// nothing else is.
func takesOf(proc string, first int) (u takes) {
	if first == 0 {
		return u
	}
	for _, dir := range []string{"tmp", "home/build", "dev/shm"} {
		var s unix.Statfs_t
		if unix.Statfs(filepath.Join(proc, strconv.Itoa(first), "root", dir), &s) == nil && s.Type == unix.TMPFS_MAGIC {
			u.memory += int64(s.Blocks-s.Bfree) * s.Bsize
		}
	}
	below := []string{strconv.Itoa(first)}
	for len(below) > 0 {
		dir := filepath.Join(proc, below[0])
		below = below[1:]
		if pages, err := os.ReadFile(filepath.Join(dir, "statm")); err == nil {
			u.memory += private(string(pages)) * int64(os.Getpagesize())
		}
		if threads, err := os.ReadDir(filepath.Join(dir, "task")); err == nil {
			u.processes += int64(len(threads))
		}
		below = append(below, childrenOf(proc, filepath.Base(dir))...)
	}
	return u
}

// private is how many pages of a process are nobody else's.
func private(statm string) int64 {
	f := strings.Fields(statm)
	if len(f) < 3 {
		return 0
	}
	resident, errR := strconv.ParseInt(f[1], 10, 64)
	shared, errS := strconv.ParseInt(f[2], 10, 64)
	if errR != nil || errS != nil {
		return 0
	}
	return max(resident-shared, 0)
}
