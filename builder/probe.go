package builder

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// remedy is what makes a sandbox work on most machines.
const remedy = "apt-get install bubblewrap; user namespaces must be allowed: sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000, " +
	"on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0"

// probe finds out whether a sandbox really works here, by making one.
func probe(ctx context.Context, w *workshop, limits Limits) (made *sandbox, err error) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "there is no bwrap on this machine").With("%s", remedy)
	}
	s := &sandbox{program: program, etc: w.etc(), processors: runtime.NumCPU()}
	if err := endLeft("/proc", w.dir); err != nil {
		return nil, err
	}
	if s.groups, err = findGroups("/", w.ours()); err != nil {
		return nil, err
	}
	bench, err := w.fresh("probe")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bench.clear()) }()
	if err := bench.handOver(); err != nil {
		return nil, err
	}
	for _, s.noUserns = range []bool{true, false} {
		if err = s.try(ctx, bench, limits); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// try makes a sandbox, does nothing in it, and writes to the tree.
func (s *sandbox) try(ctx context.Context, b *bench, limits Limits) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	said := &lastBytes{w: io.Discard}
	code, err := s.run(ctx, command{argv: []string{"/bin/sh", "-c", "echo >probe && rm probe"}, tree: b.tree(), as: b.as, limits: limits, most: time.Minute, out: said})
	if err != nil {
		return err
	}
	if code != 0 {
		return fault.New(fault.Unavailable, "a sandbox cannot write to its tree: %s", said.lines()).With("%s", remedy)
	}
	return nil
}

// sandboxUsers is whom builds run as: nil where the builder is an ordinary user,
// since then they are that user.
func sandboxUsers(u Users) *Users {
	if os.Geteuid() != 0 {
		return nil
	}
	if u == (Users{}) {
		u = DefaultUsers()
	}
	return &u
}

// reachable reports whether any user may go through every folder down to path.
func reachable(path string) (bool, error) {
	for {
		info, err := os.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fault.Wrap(fault.Unavailable, err, "look at %q", path)
		}
		if err == nil && info.Mode().Perm()&0o001 == 0 {
			return false, nil
		}
		up := filepath.Dir(path)
		if up == path {
			return true, nil
		}
		path = up
	}
}

// machineMemory is how much memory there is, or as much as anybody asks for
// where that cannot be seen.
func machineMemory() int64 {
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		return 1 << 40
	}
	return int64(s.Totalram) * int64(s.Unit)
}
