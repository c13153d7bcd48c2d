package builder

import (
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"noxmesh/builder/depot"
	"noxmesh/builder/lock"
	"noxmesh/builder/supply"
	"noxmesh/internal/fault"
)

// outsideBeside is how the folder of what came from outside is called beside a workshop.
const outsideBeside = "-outside"

// openSupply is what the builder with this workshop gives its builds of what their
// lock files name, or nil where its operator has nothing fetched.
func openSupply(c Config, w *workshop) (*supply.Supply, error) {
	if c.Dependencies == (supply.Upstreams{}) {
		return nil, nil //nolint:nilnil // none
	}
	dir := w.dir + outsideBeside
	d, err := depot.Open(depot.Config{Dir: dir, Most: c.Limits.Outside, Free: c.Limits.Free})
	if err != nil {
		return nil, err
	}
	if err := w.owns(dir); err != nil {
		return nil, err
	}
	return supply.New(d, c.Dependencies)
}

// mostFaults is how many are said of what lock files name and cannot be fetched.
const mostFaults = 10

// readLocks finds out what the commands may take from outside: what the lock files
// of the tree name, as it was committed. A module that has the network asks for
// itself.
func (o *order) readLocks() error {
	if !o.hasCommands() || o.gateway != nil {
		return nil
	}
	tree, err := os.OpenRoot(o.bench.tree())
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open the tree")
	}
	defer tree.Close()
	locks, err := lock.Read(tree.FS())
	if err != nil {
		return err
	}
	if locks.Empty() {
		return nil
	}
	if o.supply == nil {
		o.log.Note("dependencies: the lock files name %s, and this builder fetches none: its operator lets it with --dependencies", locks.Says())
		return nil
	}
	o.log.Note("dependencies: %s, by %s", locks.Says(), insideAddress())
	for i, f := range locks.Faults {
		if i == mostFaults {
			o.log.Note("dependencies: and %d others that cannot be fetched", len(locks.Faults)-i)
			break
		}
		o.log.Note("dependencies: not fetched: %s", said(f))
	}
	o.depends = o.supply.Open(supply.Order{Locks: locks, At: insideAddress(), Fresh: o.fresh, Note: o.noted, Outside: o.outside})
	return nil
}

// show puts the files that a command's tools find at a path into the sandbox.
// Beside is the names below the root that they are in.
func (p *pipes) show(c *command) (beside []string, err error) {
	if c.network != nil {
		return nil, nil
	}
	files := c.depends.Files()
	for _, at := range slices.Sorted(maps.Keys(files)) {
		fd, err := p.memory(files[at])
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "show %q to a sandbox", at)
		}
		c.files = append(c.files, "--perms", "0644", "--ro-bind-data", strconv.Itoa(fd), at)
		top, _, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
		beside = append(beside, top)
	}
	return beside, nil
}

// memory adds a file in memory that goes into the sandbox, and says under which number.
func (p *pipes) memory(text string) (int, error) {
	fd, err := unix.MemfdCreate("shown", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, err
	}
	f := os.NewFile(uintptr(fd), "shown")
	p.theirs = append(p.theirs, f)
	if _, err := f.WriteString(text); err != nil {
		return 0, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return 2 + len(p.theirs), err
}

// noted puts a line into the log, where there is anything to say.
func (o *order) noted(line string) {
	if line != "" {
		o.log.Note("%s", line)
	}
}
