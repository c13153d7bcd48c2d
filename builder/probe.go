package builder

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"noxmesh/internal/fault"
)

// remedy is what makes a sandbox work on most machines.
const remedy = "apt-get install bubblewrap; user namespaces must be allowed: sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000, " +
	"on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0"

// The users that a sandbox is outside when the builder is root. systemd and the
// distributions give none of these to anybody.
const (
	sandboxFirst = 65520
	sandboxUsers = 14
)

// sandboxUser is the user of the sandboxes of the builder with this state, or
// nil where the builder is an ordinary user: then they are that user.
func sandboxUser(state string) *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	h := fnv.New32a()
	h.Write([]byte(state))
	id := sandboxFirst + h.Sum32()%sandboxUsers
	return &syscall.Credential{Uid: id, Gid: id, Groups: []uint32{}}
}

// probe finds out whether a sandbox really works here, by making one.
func probe(ctx context.Context, w *workshop, limits Limits) (made *sandbox, err error) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "there is no bwrap on this machine").With("%s", remedy)
	}
	s := &sandbox{program: program, as: w.as, etc: w.etc(), limits: limits, processors: runtime.NumCPU()}
	bench, err := w.fresh("probe")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bench.clear()) }()
	if err := bench.handOver(); err != nil {
		return nil, err
	}
	for _, s.noUserns = range []bool{true, false} {
		if err = s.try(ctx, bench.tree()); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// try makes a sandbox, does nothing in it, and writes to the tree.
func (s *sandbox) try(ctx context.Context, tree string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	said := &lastBytes{w: io.Discard}
	code, err := s.run(ctx, command{argv: []string{"/bin/sh", "-c", "echo >probe && rm probe"}, tree: tree, most: time.Minute, out: said})
	if err != nil {
		return err
	}
	if code != 0 {
		return fault.New(fault.Unavailable, "a sandbox cannot write to its tree: %s", said.lines()).With("%s", remedy)
	}
	return nil
}

// reachable reports whether the user may go through every folder down to path.
func reachable(path string, as *syscall.Credential) (bool, error) {
	if as == nil {
		return true, nil
	}
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
