package builder

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// groups is where this machine lets the builder bound all processes of a command
// together: control groups of the kernel, of the one hierarchy or of the older ones.
type groups struct {
	memory, processes string // the folders to make groups in; empty where there is none
	v2                bool   // then both are one
	prefix            string // of what is ours there
}

// group is one command's.
type group struct {
	groups
	limits Limits
	first  int // the sandbox's first process; zero until it is there
}

// hierarchy is one place where control groups are.
type hierarchy struct {
	at    string // the folder that this process is in, or else the topmost
	top   string
	v2    bool
	knows []string
}

// findGroups finds what there is to give below root, which is / but in a test.
// What is left there of this builder, which was killed, is removed.
func findGroups(root, prefix string) (groups, error) {
	all, err := hierarchies(root)
	if err != nil {
		return groups{}, err
	}
	g := groups{prefix: prefix}
	for _, h := range all {
		switch {
		case h.v2 && slices.Contains(h.knows, "memory") && slices.Contains(h.knows, "pids"):
			if dir := delegated(h); dir != "" {
				g.memory, g.processes, g.v2 = dir, dir, true
			}
		case !h.v2 && slices.Contains(h.knows, "memory") && g.memory == "":
			g.memory = writable(h.at, prefix)
		case !h.v2 && slices.Contains(h.knows, "pids") && g.processes == "":
			g.processes = writable(h.at, prefix)
		}
	}
	return g, g.sweep()
}

// lacks is which limits this machine does not have, for people; empty where it has all.
func (g groups) lacks() string {
	const none = ", since this machine gives the builder no control group for "
	switch {
	case g.memory == "" && g.processes == "":
		return "memory and processes are looked at five times a second and not held by the kernel" + none + "them: run it as root, or by systemd with Delegate=yes"
	case g.memory == "":
		return "memory is looked at five times a second and not held by the kernel" + none + "it"
	case g.processes == "":
		return "processes are looked at five times a second, and each user has as many" + none + "them"
	}
	return ""
}

func (g groups) dirs() []string {
	return slices.Compact(slices.DeleteFunc([]string{g.memory, g.processes}, func(s string) bool { return s == "" }))
}

// sweep removes what a killed builder has left.
func (g groups) sweep() error {
	for _, dir := range g.dirs() {
		left, err := filepath.Glob(filepath.Join(dir, g.prefix+"*"))
		if err != nil {
			return fault.Wrap(fault.Broken, err, "look for control groups")
		}
		for _, old := range left {
			if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fault.Wrap(fault.Unavailable, err, "remove the control group %q", old)
			}
		}
	}
	return nil
}

// open makes the group of one command.
func (g groups) open(limits Limits) (*group, error) {
	one := &group{groups: g, limits: limits}
	one.prefix += strconv.FormatInt(time.Now().UnixNano(), 36)
	err := effect.Do("builder.group.make", func() error {
		for _, dir := range one.dirs() {
			if err := os.Mkdir(filepath.Join(dir, one.prefix), 0o755); err != nil {
				return err
			}
		}
		return one.set()
	})
	if err != nil {
		return nil, errors.Join(fault.Wrap(fault.Unavailable, err, "make the control group %q", one.prefix), one.close())
	}
	return one, nil
}

func (g *group) set() error {
	memory, processes := strconv.FormatInt(g.limits.Memory, 10), strconv.FormatInt(g.limits.Processes-1, 10) // met before the user's own limit, which says nothing
	if g.v2 {
		return errors.Join(g.write(g.memory, "memory.max", memory), g.write(g.processes, "pids.max", processes),
			ignoreAbsent(g.write(g.memory, "memory.swap.max", "0")), g.write(g.memory, "memory.oom.group", "1"))
	}
	var err error
	if g.memory != "" {
		err = errors.Join(g.write(g.memory, "memory.limit_in_bytes", memory), ignoreAbsent(g.write(g.memory, "memory.memsw.limit_in_bytes", memory)))
	}
	if g.processes != "" {
		err = errors.Join(err, g.write(g.processes, "pids.max", processes))
	}
	return err
}

// ignoreAbsent: a machine without swap has no limit on it.
func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (g *group) write(dir, file, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, g.prefix, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// enter puts a process in, and with it all that it will begin.
func (g *group) enter(pid int) error {
	g.first = pid
	for _, dir := range g.dirs() {
		// One that has ended says why by itself.
		if err := g.write(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fault.Wrap(fault.Unavailable, err, "put the sandbox into its control group")
		}
	}
	return nil
}

// over is the limit that was met, or nil.
func (g *group) over() error {
	events := "memory.oom_control"
	if g.v2 {
		events = "memory.events"
	}
	var seen takes
	if g.memory == "" || g.processes == "" {
		seen = takesOf("/proc", g.first)
	}
	switch {
	case g.memory != "" && g.count(g.memory, events, "oom_kill") > 0, g.memory == "" && seen.memory > g.limits.Memory:
		return &limit{says: "memory limit: the build takes more than " + sizeWords(g.limits.Memory) + " of memory"}
	case g.processes != "" && g.count(g.processes, "pids.events", "max") > 0, g.processes == "" && seen.processes >= g.limits.Processes:
		return &limit{says: fmt.Sprintf("process limit: the build has more than %d processes and threads at one time", g.limits.Processes)}
	}
	return nil
}

// count is the number after a word in a file of events; one that cannot be read
// has counted nothing.
func (g *group) count(dir, file, word string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, g.prefix, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == word {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// close removes the group. The kernel may need a moment until the last process
// has left it.
func (g *group) close() error {
	err := effect.Do("builder.group.drop", func() error {
		for _, dir := range g.dirs() {
			path := filepath.Join(dir, g.prefix)
			err := os.Remove(path)
			for over := time.Now().Add(settleTime); err != nil && !errors.Is(err, fs.ErrNotExist) && time.Now().Before(over); err = os.Remove(path) {
				<-time.After(5 * time.Millisecond)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "remove the control group %q", g.prefix)
	}
	return nil
}

// ownLeaf is the group that the builder itself goes into where it is alone in
// one that was delegated to it: the kernel wants processes in leaves only.
const ownLeaf = "mesh-builder.self"

// delegated is a folder of the one hierarchy whose groups may be given memory and
// processes: the builder's own where it is the builder's, or as root the topmost.
func delegated(h hierarchy) string {
	gives := func(dir string) bool {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		f := strings.Fields(string(text))
		return err == nil && slices.Contains(f, "memory") && slices.Contains(f, "pids") && writable(dir, "mesh-builder.try") != ""
	}
	if gives(h.at) {
		return h.at
	}
	procs, err := os.ReadFile(filepath.Join(h.at, "cgroup.procs"))
	if err == nil && strings.TrimSpace(string(procs)) == strconv.Itoa(os.Getpid()) {
		leaf := filepath.Join(h.at, ownLeaf)
		err := os.Mkdir(leaf, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(h.at, "cgroup.subtree_control"), []byte("+memory +pids"), 0o644)
		}
		if err == nil && gives(h.at) {
			return h.at
		}
	}
	if up := filepath.Dir(h.at); filepath.Base(h.at) == ownLeaf && gives(up) {
		return up
	}
	if gives(h.top) {
		return h.top
	}
	return ""
}

// writable is dir where a group can be made in it, or else empty.
func writable(dir, prefix string) string {
	try := filepath.Join(dir, prefix+"try")
	if err := os.Mkdir(try, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return ""
	}
	if err := os.Remove(try); err != nil {
		return ""
	}
	return dir
}

// hierarchies is every place where control groups are mounted.
func hierarchies(root string) ([]hierarchy, error) {
	mounts, err := os.Open(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "look for control groups")
	}
	defer mounts.Close()
	own, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	var out []hierarchy
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		f, kind := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(kind) < 3 || kind[0] != "cgroup" && kind[0] != "cgroup2" {
			continue
		}
		h := hierarchy{top: filepath.Join(root, f[4]), v2: kind[0] == "cgroup2", knows: strings.Split(kind[2], ",")}
		if h.v2 {
			text, err := os.ReadFile(filepath.Join(h.top, "cgroup.controllers"))
			if err != nil {
				continue
			}
			h.knows = strings.Fields(string(text))
		}
		h.at = filepath.Join(h.top, strings.TrimPrefix(ownGroup(string(own), h), strings.TrimSuffix(f[3], "/")))
		if _, err := os.Stat(h.at); err != nil {
			h.at = h.top // a container that sees nothing above itself
		}
		out = append(out, h)
	}
	if err := lines.Err(); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "look for control groups")
	}
	return out, nil
}

// ownGroup is this process's group in a hierarchy, from its top.
func ownGroup(own string, h hierarchy) string {
	for line := range strings.Lines(own) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		if h.v2 && f[0] == "0" && f[1] == "" || !h.v2 && f[1] != "" && slices.Contains(h.knows, strings.Split(f[1], ",")[0]) {
			return f[2]
		}
	}
	return "/"
}
