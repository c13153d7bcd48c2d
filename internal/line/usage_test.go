//go:build meshcrash || power

package line

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"noxmesh/internal/invariant"
)

// What the parts of a mesh with a handful of small builds may use. It is some
// three times what they do use: what grows without end grows past it.
const (
	mostMemory      = 192 << 20 // of a process, at its highest
	mostDescriptors = 128       // of a process
	mostRecord      = 8 << 20   // of the controller's folder without what is published
	mostRegistry    = 12 << 20  // one of them is large where a disk is to be filled
	mostBuilder     = 4 << 20   // of a builder's state
	mostHost        = 4 << 20   // of a host's state, with its reserve
	mostLog         = 2 << 20   // of one part
)

// usage is what the parts of a mesh have used, of what they may.
func (m *mesh) usage() (all []invariant.Usage) {
	m.t.Helper()
	for _, p := range append(append([]*part{m.controller}, m.builders...), m.hosts...) {
		all = append(all, p.usage()...)
	}
	for pattern, most := range map[string]int64{
		"controller": mostRecord + mostRegistry, "controller/registry": mostRegistry, "builders/*": mostBuilder, "builder": mostBuilder,
		"nodes/*/var/lib/mesh-host": mostHost, "*.log": mostLog, "log/*.log": mostLog,
	} {
		paths, err := filepath.Glob(m.path(pattern))
		must(m.t, err)
		for _, path := range paths {
			all = append(all, invariant.Usage{What: "bytes of " + path, Used: size(path), Most: most})
		}
	}
	return all
}

// usage is what a process has used. One that has ended uses nothing.
func (p *part) usage() []invariant.Usage {
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	if cmd == nil || !p.running() {
		return nil
	}
	proc := fmt.Sprintf("/proc/%d/", cmd.Process.Pid)
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		return nil // it has just ended
	}
	var memory int64
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "VmHWM:" {
			memory, err = strconv.ParseInt(words[1], 10, 64)
			must(p.t, err)
		}
	}
	open, _ := os.ReadDir(proc + "fd") // none, where it has just ended
	return []invariant.Usage{
		{What: "memory of " + p.name, Used: memory << 10, Most: mostMemory},
		{What: "files that " + p.name + " has open", Used: int64(len(open)), Most: mostDescriptors},
	}
}

// size is the bytes of all files below a path, which may go meanwhile.
func size(path string) (n int64) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return 0
	}
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return n
}
