package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// call is one run of git. Where out is nil, up to max bytes of its output are kept.
type call struct {
	protocol string // the one it may speak; "none" for a call that stays here
	gitDir   string
	workTree string
	args     []string
	in       io.Reader             // what git reads; nothing where it is nil
	out      func(io.Reader) error // reads the output while git runs
	trace    bool                  // refuse what answers without one line in git's protocol
	most     int64                 // bytes of one file that it may write; Config.MaxSize where zero
}

const (
	local     = "none"
	maxOutput = 8 << 20
	maxStderr = 64 << 10
)

// run is git's output, or an error with its kind. Git and all that it started
// have ended when run returns.
func (g *Git) run(ctx context.Context, c call) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.cfg.Limit, errLimit)
	defer cancel()
	args := g.settings(c.protocol)
	if c.gitDir != "" {
		args = append(args, "--git-dir="+c.gitDir)
	}
	if c.workTree != "" {
		args = append(args, "--work-tree="+c.workTree)
	}
	cmd := exec.CommandContext(ctx, g.cfg.Binary, append(args, c.args...)...)
	cmd.Env = g.environment(c.protocol)
	if c.trace {
		cmd.Env = append(cmd.Env, "GIT_TRACE_PACKET=2")
	}
	cmd.Dir, cmd.Stdin = g.tmp, c.in
	if c.workTree != "" {
		cmd.Dir = c.workTree
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = 2 * time.Second
	stderr := &tail{max: maxStderr}
	cmd.Stderr = stderr

	var kept bytes.Buffer
	read := c.out
	if read == nil {
		read = func(r io.Reader) error { return keep(&kept, r, maxOutput) }
	}
	if err := g.start(cmd, cmp.Or(c.most, g.cfg.MaxSize), read); err != nil {
		if errors.Is(err, errRead) {
			return nil, err
		}
		return nil, classify(ctx, err, stderr.bytes(), g.cfg.Limit)
	}
	if c.trace && !bytes.Contains(stderr.bytes(), []byte("packet:")) {
		return nil, fault.New(fault.Unavailable, "what answers does not speak git's protocol")
	}
	return kept.Bytes(), nil
}

// errRead marks an error of whoever reads git's output.
var errRead = errors.New("what git wrote is refused")

// tooMuch is TooBig as whoever reads git's output says it.
type tooMuch struct{ Cause }

// Unwrap is the cause.
func (t tooMuch) Unwrap() error { return t.Cause }

// Is lets it be an errRead too.
func (tooMuch) Is(target error) bool { return target == errRead }

// start runs cmd, lets read have its output, and ends the whole group.
func (g *Git) start(cmd *exec.Cmd, most int64, read func(io.Reader) error) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer killGroup(cmd.Process) //nolint:errcheck // whatever it left running; mostly nothing
	limit := unix.Rlimit{Cur: uint64(most), Max: uint64(most)}
	limitErr := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil)
	if errors.Is(limitErr, unix.ESRCH) {
		limitErr = nil // it has ended already
	}
	readErr := read(out)
	if readErr != nil || limitErr != nil {
		_ = killGroup(cmd.Process)
	}
	waitErr := cmd.Wait()
	if errors.Is(waitErr, exec.ErrWaitDelay) {
		waitErr = nil // it has ended well, and somebody else still holds what it says its errors to
	}
	switch {
	case limitErr != nil:
		return limitErr
	case readErr != nil && !errors.Is(readErr, os.ErrClosed):
		return readErr
	}
	return waitErr
}

func killGroup(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// keep reads r to its end, and refuses more than limit bytes.
func keep(to *bytes.Buffer, r io.Reader, limit int64) error {
	n, err := io.Copy(to, io.LimitReader(r, limit+1))
	if err != nil {
		return err
	}
	if n > limit {
		return fault.Wrap(fault.Invalid, tooMuch{TooBig}, "git wrote more than %d bytes", limit)
	}
	return nil
}

// tail keeps the last bytes that are written to it.
type tail struct {
	max int
	buf []byte
}

// Write keeps the end of p.
func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.max {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.max:]...)
	}
	return len(p), nil
}

func (t *tail) bytes() []byte { return t.buf }
