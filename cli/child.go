package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// child is one program of a mesh dev.
type child struct {
	name    string
	program string
	args    []string
	off     string // while this file exists, the program stays stopped
}

const (
	restartMin = 200 * time.Millisecond
	restartMax = 5 * time.Second
	// A program is asked to end, and ended after this long.
	endLimit = 10 * time.Second
	// How often it is looked whether a node is switched off or on.
	offEvery = 100 * time.Millisecond
	// A program that ends this often in a row, each time within restartMax, can't start.
	tooOften = 3
	// How much of a log is read for its last words.
	lastWords = 8 << 10
)

func (d *dev) controllerChild() child {
	args := []string{
		"run", "--dir", d.path("controller"), "--name", loopback, "--listen", at(d.ports.API), "--broker", at(d.ports.Broker),
		"--every", d.every.String(),
	}
	return child{name: "controller", program: "mesh-controller", args: append(args, d.sources()...)}
}

func (d *dev) builderChild() child {
	args := []string{"run", "--state", d.path("builder")}
	return child{name: "builder", program: "mesh-builder", args: append(args, d.sources()...)}
}

// sources is what both the controller and the builder are told of where
// repositories may be read from.
func (d *dev) sources() []string {
	var args []string
	for _, f := range d.folders {
		args = append(args, "--file-folder", f)
	}
	if d.sshKey != "" {
		args = append(args, "--ssh-key", d.sshKey)
	}
	if d.knownHosts != "" {
		args = append(args, "--known-hosts", d.knownHosts)
	}
	return args
}

func (d *dev) hostChild(name string) child {
	args := []string{"run", "--root", d.path("nodes", name), "--drift", d.drift.String(), "--heartbeat", "2s"}
	return child{name: name, program: "mesh-host", args: args, off: d.path("off", name)}
}

// program is the file of one of our programs: beside this one.
func (d *dev) program(name string) (string, error) {
	path := filepath.Join(d.Self, name)
	if !exists(path) {
		return "", fault.New(fault.NotFound, "%s is not beside mesh, in %q", name, d.Self).With("make build puts all four programs into bin/")
	}
	return path, nil
}

// once runs a program to its end. What it says is shown only if it fails.
func (d *dev) once(ctx context.Context, program string, args ...string) error {
	path, err := d.program(program)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		says, hint := wordsOf(program, string(out))
		if says == "" {
			says = err.Error()
		}
		return fault.New(fault.Unavailable, "%s %s: %s", program, args[0], says).With("%s", hint)
	}
	return nil
}

// wordsOf is the last thing that a program said, and its hint.
func wordsOf(program, log string) (says, hint string) {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for i := len(lines) - 1; i >= 0 && says == ""; i-- {
		line := strings.TrimPrefix(lines[i], program+": ")
		if h, ok := strings.CutPrefix(line, "hint: "); ok {
			hint = h
			continue
		}
		says = line
	}
	return says, hint
}

// keep runs the child, and again when it ends, until ctx does. It says why the
// child ended, and goes on trying: only a controller that could not be started
// at all ends the whole.
func (d *dev) keep(ctx context.Context, c child) error {
	wait, inRow := restartMin, 0
	for {
		if err := whileOff(ctx, c); err != nil {
			return err
		}
		began := time.Now()
		from := d.logSize(c)
		err := d.attempt(ctx, c)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case fault.KindOf(err) == fault.NotFound:
			return err
		case c.isOff():
			d.out.Note("%s is switched off", c.name)
			wait, inRow = restartMin, 0
			continue
		}
		inRow++
		if time.Since(began) > restartMax || killed(err) {
			wait, inRow = restartMin, 1
		}
		if err := d.explain(c, err, from, inRow); err != nil {
			return err
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, restartMax)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// explain says that a child ended: at first that it did, then why, and then
// nothing more until it has run for a while.
func (d *dev) explain(c child, ended error, from int64, inRow int) error {
	reason := "exit status 0"
	if ended != nil {
		reason = ended.Error()
	}
	if inRow == 1 {
		d.out.Note("%s ended (%s) and is started again; its log is %s", c.name, reason, d.logPath(c))
	}
	if inRow != tooOften {
		return nil
	}
	says, hint := wordsOf(c.program, d.logFrom(c, from))
	if says == "" {
		says = reason
	}
	why := fault.New(fault.Unavailable, "%s has ended %d times in a row as soon as it was started: %s", c.name, inRow, says).With("%s", hint)
	if hint == "" {
		why = why.With("its log is %s", d.logPath(c))
	}
	if c.name == controllerName && !d.up.Load() {
		return why
	}
	d.out.Note("%s", why)
	d.out.Hint("%s", why.Hint)
	return nil
}

// killed reports whether somebody else ended the process: that says nothing of
// whether it can start.
func killed(err error) bool {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return false
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

func (c child) isOff() bool { return c.off != "" && exists(c.off) }

func whileOff(ctx context.Context, c child) error {
	tick := time.NewTicker(offEvery)
	defer tick.Stop()
	for c.isOff() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// attempt runs the child once, and ends it when it is switched off.
func (d *dev) attempt(ctx context.Context, c child) error {
	ctx, end := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error {
		defer end()
		return d.process(ctx, c)
	})
	group.Go(func() error {
		tick := time.NewTicker(offEvery)
		defer tick.Stop()
		for !c.isOff() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
		}
		end()
		return nil
	})
	return group.Wait()
}

// process is the child from its start to its end. It ends with this program,
// also where that is killed: the kernel sends the signal when the thread that
// started it ends.
func (d *dev) process(ctx context.Context, c child) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	path, err := d.program(c.program)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(d.logPath(c), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open the log of %q", c.name)
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, path, c.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true} // ctrl-C is ours to pass on
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endLimit
	if err := effect.Do("cli.dev.start", cmd.Start); err != nil {
		return fault.Wrap(fault.Unavailable, err, "start %q", c.name)
	}
	pid := []byte(strconv.Itoa(cmd.Process.Pid))
	if err := os.WriteFile(d.pidPath(c.name), pid, 0o600); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	err = cmd.Wait()
	return errors.Join(err, os.Remove(d.pidPath(c.name)))
}

func (d *dev) logPath(c child) string { return d.path("log", c.name+".log") }

func (d *dev) pidPath(name string) string { return d.path("log", name+".pid") }

func (d *dev) logSize(c child) int64 {
	info, err := os.Stat(d.logPath(c))
	if err != nil {
		return 0
	}
	return info.Size()
}

// logFrom is what a child has written to its log since it was this long, or
// the end of it.
func (d *dev) logFrom(c child, from int64) string {
	f, err := os.Open(d.logPath(c))
	if err != nil {
		return ""
	}
	defer f.Close()
	from = max(from, d.logSize(c)-lastWords)
	text, err := io.ReadAll(io.NewSectionReader(f, from, lastWords))
	if err != nil {
		return ""
	}
	return string(text)
}
