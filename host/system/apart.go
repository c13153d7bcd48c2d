package system

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

const systemdBooted = "/run/systemd/system" // is there where systemd has booted the machine

// Apart is Run of a program that must come to its end: it goes on when ctx is
// cancelled, and when this process is killed or the service that it is of is stopped.
// Only where it takes longer than ctx has time it is ended, with all that it has
// started. It is asked nothing; what it writes, to stdout and to stderr, is one text in
// the order in which it was written.
func (r *Root) Apart(ctx context.Context, c Command) (Done, error) {
	if err := r.works(c.Name); err != nil {
		return Done{}, err
	}
	r.Step()
	defer r.Step()
	name, began := c.Name, time.Now()
	if _, err := os.Lstat(systemdBooted); err == nil {
		// In a scope of its own it is not of the service that this process is.
		c.Args = append([]string{"--scope", "--quiet", "--collect", "--", c.Name}, c.Args...)
		c.Name = "systemd-run"
	}
	// Whoever writes into a pipe that nobody reads any more is ended by that: this is
	// memory, and the program's own as well.
	fd, err := unix.MemfdCreate("output", unix.MFD_CLOEXEC)
	if err != nil {
		return Done{}, fault.Wrap(fault.Conflict, err, "run %q", name)
	}
	output := os.NewFile(uintptr(fd), "output")
	defer output.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Name, c.Args...)
	cmd.Env, cmd.Dir = environment(c), "/"
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return over(Done{}, name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it ends with the program, which this may not do
	select {
	case err = <-ended:
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Done{}, fault.Wrap(fault.Unavailable, ctx.Err(), "wait for %q, which goes on", name)
		}
		err = errors.Join(syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL), <-ended)
	}
	out, said := &first{most: outMost}, &last{most: saidMost}
	if _, bad := output.Seek(0, io.SeekStart); bad == nil {
		_, bad = io.Copy(io.MultiWriter(out, said), output)
		err = errors.Join(err, bad)
	}
	done := Done{Out: out.kept.String(), Said: strings.TrimSpace(said.kept.String())}
	if ctx.Err() != nil {
		return done, tooLong(name, began, said)
	}
	return over(done, name, err)
}
