//go:build meshcrash

package effect

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// seen counts how often each effect has been reached in this process, by name
// and by name and way; mu guards it.
var (
	mu   sync.Mutex
	seen = map[string]int{}

	stopped sync.Mutex // held by the one that waits
)

// Do runs f, which changes something outside the program's memory. The name is
// a constant, "room.thing.verb", and is unique to the place that it stands at.
func Do(name string, f func() error) error {
	h := reach(name)
	h.stop("before")
	h.crash("before")
	if err := h.planned(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	h.crash("after")
	return nil
}

// here is one reaching of an effect.
type here struct {
	name   string
	way    string // how the program came here
	number int    // of all that have this name
	along  int    // of those that came the same way
}

func (h here) byName() string { return h.name + "#" + strconv.Itoa(h.number) }
func (h here) byWay() string  { return h.name + "@" + h.way + "#" + strconv.Itoa(h.along) }

func reach(name string) here {
	way, calls := wayHere()
	mu.Lock()
	defer mu.Unlock()
	seen[name]++
	seen[name+"@"+way]++
	h := here{name, way, seen[name], seen[name+"@"+way]}
	note("MESH_EFFECTS", h.byName())
	note("MESH_WAYS", h.byWay()+" "+calls)
	return h
}

// wayHere is the calls that led to an effect, those of ours and of the registry
// behind, as one word and spelled out.
func wayHere() (word, calls string) {
	if os.Getenv("MESH_WAYS") == "" && !strings.Contains(os.Getenv("MESH_CRASH")+os.Getenv("MESH_FAIL"), "@") {
		return "", ""
	}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(4, pcs)])
	var names []string
	for {
		f, more := frames.Next()
		if own, ok := strings.CutPrefix(f.Function, "noxmesh/"); ok {
			names = append(names, own)
		} else if strings.HasPrefix(f.Function, "github.com/distribution/") {
			names = append(names, f.Function[strings.LastIndex(f.Function, "/")+1:])
		}
		if !more {
			break
		}
	}
	calls = strings.ReplaceAll(strings.Join(names, "<"), " ", "")
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(calls)) // it never fails
	return fmt.Sprintf("%08x", sum.Sum32()), calls
}

func note(variable, line string) {
	path := os.Getenv(variable)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		panic(err)
	}
}

// crash ends the process at once: no deferred call, no flush, no exit handler.
// What it had written the kernel still brings to the disk, unless the power is
// cut with it.
func (h here) crash(when string) {
	points := strings.Split(os.Getenv("MESH_CRASH"), ",")
	point := h.byWay() + ":" + when
	if !slices.Contains(points, point) {
		point = h.byName() + ":" + when
	}
	if !slices.Contains(points, point) {
		return
	}
	note("MESH_EFFECTS", "crash "+point)
	cut(os.Getenv("MESH_POWER"))
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// stop waits until somebody who was told of the point lets the program go on: what is told
// is written to the FIFO "at" in the folder MESH_STOPS, and "on" is read to its end.
func (h here) stop(when string) {
	dir := os.Getenv("MESH_STOPS")
	if dir == "" {
		return
	}
	stopped.Lock()
	defer stopped.Unlock()
	if err := os.WriteFile(filepath.Join(dir, "at"), []byte(h.byName()+":"+when), 0); err != nil {
		panic(err)
	}
	if _, err := os.ReadFile(filepath.Join(dir, "on")); err != nil {
		panic(err)
	}
}

// planned is the failure that MESH_FAIL asks for here, or nil: the first of
// several with commas between. Without a number it is at every occurrence. Where
// MESH_FAIL_WHILE names a folder, there is only what has a file of its name there.
func (h here) planned() error {
	for failure := range strings.SplitSeq(os.Getenv("MESH_FAIL"), ",") {
		point, name, ok := strings.Cut(failure, ":")
		if !ok || point != h.byName() && point != h.byWay() && point != h.name && point != h.name+"@"+h.way {
			continue
		}
		if dir := os.Getenv("MESH_FAIL_WHILE"); dir != "" {
			if _, err := os.Stat(filepath.Join(dir, failure)); err != nil {
				continue
			}
		}
		note("MESH_EFFECTS", "fail "+failure)
		at, _, _ := strings.Cut(point, "#")
		return refusal{at, errorOf(name)}
	}
	return nil
}

// refusal is the kernel's error as an effect that was told to fail has it: to the
// program it is that, and to whoever reads it, it says at which place it was.
type refusal struct {
	at  string
	err syscall.Errno
}

func (r refusal) Error() string { return r.at + ": " + r.err.Error() }

func (r refusal) Is(target error) bool { return errors.Is(r.err, target) }

func (r refusal) As(target any) bool {
	no, ok := target.(*syscall.Errno)
	if ok {
		*no = r.err
	}
	return ok
}

func errorOf(name string) syscall.Errno {
	switch name {
	case "ENOSPC":
		return syscall.ENOSPC
	case "EMLINK":
		return syscall.EMLINK
	case "EDQUOT":
		return syscall.EDQUOT
	case "EIO":
		return syscall.EIO
	case "EROFS":
		return syscall.EROFS
	}
	panic("MESH_FAIL: unknown error " + name)
}
