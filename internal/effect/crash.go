//go:build meshcrash

package effect

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// seen counts how often each effect has been reached in this process; mu guards it.
var (
	mu   sync.Mutex
	seen = map[string]int{}
)

// Do runs f, which changes something outside the program's memory. The name is
// a constant, "room.thing.verb", and is unique to the place that it stands at.
func Do(name string, f func() error) error {
	mu.Lock()
	seen[name]++
	here := name + "#" + strconv.Itoa(seen[name])
	note(here)
	mu.Unlock()
	crash(here + ":before")
	if err := planned(here); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := f(); err != nil {
		return err
	}
	crash(here + ":after")
	return nil
}

func note(here string) {
	path := os.Getenv("MESH_EFFECTS")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(here + "\n"); err != nil {
		panic(err)
	}
}

// crash ends the process at once: no deferred call, no flush, no exit handler.
// What it had written the kernel still brings to the disk, unless the power is
// cut with it.
func crash(point string) {
	if os.Getenv("MESH_CRASH") != point {
		return
	}
	note("crash " + point)
	cut(os.Getenv("MESH_POWER"))
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// planned is the failure that MESH_FAIL asks for here, or nil.
func planned(here string) error {
	point, name, ok := strings.Cut(os.Getenv("MESH_FAIL"), ":")
	if !ok || point != here {
		return nil
	}
	switch name {
	case "ENOSPC":
		return syscall.ENOSPC
	case "EIO":
		return syscall.EIO
	case "EROFS":
		return syscall.EROFS
	}
	panic("MESH_FAIL: unknown error " + name)
}
