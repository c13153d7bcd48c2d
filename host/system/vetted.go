package system

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// Vetted is a program of the operator's own: nobody but root can have put it where it
// is, or can change it.
type Vetted struct {
	path string
	as   *syscall.Credential // nil: as this process is
}

// AsRoot reports whether it runs as root, since nobody else may execute it.
func (v Vetted) AsRoot() bool { return v.as == nil }

// nobody is the user, and the group, that owns nothing.
const nobody = 65534

const (
	others   = 0o022 // the modes that let others than the owner write
	everyone = 0o001 // and that lets everybody execute
)

// Vet is the program at this absolute path of the machine, or why it is not run: there
// is none, it is a link or no file, it cannot be executed, or others than root could
// have put it there.
func (r *Root) Vet(p string) (Vetted, error) {
	if err := r.works(p); err != nil {
		return Vetted{}, err
	}
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		info, err := os.Lstat(dir)
		if err == nil && !info.IsDir() {
			return Vetted{}, unvetted(dir, "is no folder", "put a folder there, and no link")
		}
		if err == nil {
			err = ofRoot(dir, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Vetted{}, err
		}
		if dir == "/" {
			break
		}
	}
	return vetFile(p)
}

func vetFile(p string) (Vetted, error) {
	const put = "put a program of root's there, with mode 0755; with 0700 it runs as root"
	info, err := os.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Vetted{}, fault.New(fault.Denied, "there is no %q", p).With(put)
	case err != nil:
		return Vetted{}, fault.Wrap(fault.Denied, err, "look at %q", p)
	case info.Mode()&fs.ModeSymlink != 0:
		return Vetted{}, unvetted(p, "is a link", "put the program itself there: what a link leads to may be another's")
	case !info.Mode().IsRegular():
		return Vetted{}, unvetted(p, "is no file", put)
	}
	if err := ofRoot(p, info); err != nil {
		return Vetted{}, err
	}
	switch mode := info.Mode().Perm(); {
	case mode&everyone != 0:
		return Vetted{p, &syscall.Credential{Uid: nobody, Gid: nobody}}, nil
	case mode&0o100 != 0:
		return Vetted{p, nil}, nil
	}
	return Vetted{}, unvetted(p, "is not executable", "chmod 0755 "+p+"; with 0700 it runs as root")
}

// ofRoot refuses what others than root own or may write.
func ofRoot(p string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fault.New(fault.Broken, "look at %q: it says not whose it is", p)
	case stat.Uid != 0:
		return unvetted(p, "belongs to user "+strconv.FormatUint(uint64(stat.Uid), 10)+", and not to root", "chown root "+p+", if root is to answer for it")
	case info.Mode().Perm()&others != 0:
		return unvetted(p, "can be written by others than root", "chmod go-w "+p)
	}
	return nil
}

func unvetted(p, why, todo string) error {
	return fault.New(fault.Denied, "%q %s", p, why).With("%s", todo)
}

// Ask runs such a program, which only looks. It has nothing to read, a path and a plain
// language for its environment, and is nobody, who gets no more by whatever it runs,
// where everybody may execute it. All that it has started and not let go of ends with
// it, or when ctx does. What it wrote is one text, the last of it.
func (r *Root) Ask(ctx context.Context, v Vetted) (Done, error) {
	r.Step()
	defer r.Step()
	began := time.Now()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), v.path)
	cmd.Env, cmd.Dir = plain(), "/"
	said := &last{most: saidMost}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: v.as}
	cmd.WaitDelay = letGo
	start := cmd.Start
	if v.as != nil {
		start = func() error { return bound(cmd.Start) }
	}
	if err := start(); err != nil {
		return Done{}, unstarted(v, err)
	}
	sweep(ctx, cmd.Process.Pid)
	err := cmd.Wait()
	done := Done{Said: strings.TrimSpace(said.kept.String())}
	if ctx.Err() != nil {
		return done, tooLong(v.path, began, said)
	}
	return over(done, v.path, err)
}

// bound does it where whatever is started can never get more than it has: no setuid
// program gives it any, sudo neither.
func bound(start func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread, which cannot take it back, ends with this
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = start()
		}
		done <- err
	}()
	return <-done
}

// sweep waits until the process has ended or ctx has, and ends all of its group. Until
// it is waited for by its own, nothing else can have come to its number.
func sweep(ctx context.Context, pid int) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL) // there may be nobody left
	<-ended
}

// unstarted is why a program that is there was not started.
func unstarted(v Vetted, err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return unvetted(v.path, "is no program of this machine", `begin a script with a line as #!/bin/sh`)
	case errors.Is(err, fs.ErrNotExist):
		return unvetted(v.path, "names a program after #! that is not there", "install that, or name another")
	case errors.Is(err, fs.ErrPermission) && !v.AsRoot():
		return unvetted(v.path, "cannot be reached by nobody, as whom it runs", "chmod 0755 its folders and the program after its #!, or give it mode 0700, with which it runs as root")
	}
	return fault.Wrap(fault.Conflict, Cause(err), "start %q", v.path)
}
