package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

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
	// How often a switched-off node is looked at.
	offEvery = 100 * time.Millisecond
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
		return said(program, string(out), err)
	}
	return nil
}

// said is a program's own words for why it ended, as an error of ours.
func said(program, out string, err error) error {
	e := fault.Wrap(fault.Unavailable, err, "%s", program)
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		words := strings.TrimPrefix(line, program+": ")
		if hint, ok := strings.CutPrefix(words, "hint: "); ok {
			e.Hint = hint
		} else if words != "" {
			e.Err = errors.New(words)
		}
	}
	return e
}

// keep runs the child, and again when it ends, until ctx does.
func (d *dev) keep(ctx context.Context, c child) error {
	wait := restartMin
	for {
		if err := d.whileOff(ctx, c); err != nil {
			return err
		}
		began := time.Now()
		err := d.runOnce(ctx, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fault.KindOf(err) == fault.NotFound {
			return err
		}
		if c.off != "" && exists(c.off) {
			d.out.Note("%s is switched off", c.name)
			continue
		}
		if time.Since(began) > restartMax {
			wait = restartMin
		}
		d.out.Note("%s ended (%v) and is started again; its log is %s", c.name, err, d.path("log", c.name+".log"))
		select {
		case <-time.After(wait):
			wait = min(2*wait, restartMax)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *dev) whileOff(ctx context.Context, c child) error {
	if c.off == "" {
		return nil
	}
	tick := time.NewTicker(offEvery)
	defer tick.Stop()
	for exists(c.off) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// runOnce runs the child once. It ends with this program, also where that is
// killed: the kernel sends the signal when the thread that started it ends.
func (d *dev) runOnce(ctx context.Context, c child) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	path, err := d.program(c.program)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(d.path("log", c.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open the log of %s", c.name)
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, path, c.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true} // ctrl-C is ours to pass on
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endLimit
	if err := effect.Do("cli.dev.start", cmd.Start); err != nil {
		return fault.Wrap(fault.Unavailable, err, "start %s", c.name)
	}
	pid := []byte(strconv.Itoa(cmd.Process.Pid))
	if err := os.WriteFile(d.path("log", c.name+".pid"), pid, 0o600); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return cmd.Wait()
}

func (d *dev) stop() *cobra.Command {
	return &cobra.Command{
		Use: "stop NODE", Short: "Switch a node of this mesh dev off", Long: "Switch a node of this mesh dev off, as if its machine were.", Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return d.switchNode(args[0], d.switchOff) },
	}
}

func (d *dev) start() *cobra.Command {
	return &cobra.Command{
		Use: "start NODE", Short: "Switch a node of this mesh dev on again", Long: "Switch a node of this mesh dev on again.", Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return d.switchNode(args[0], func(name string) error {
				err := os.Remove(d.path("off", name))
				if errors.Is(err, os.ErrNotExist) {
					return fault.New(fault.Conflict, "%s is not switched off", name)
				}
				return err
			})
		},
	}
}

func (d *dev) switchNode(name string, do func(string) error) error {
	if name != filepath.Base(name) || !exists(d.path("nodes", name)) {
		return fault.New(fault.NotFound, "no node %q in %q", name, d.path("nodes")).With("mesh node list shows them; --dir says where the mesh dev is")
	}
	return do(name)
}

func (d *dev) switchOff(name string) error {
	if err := os.WriteFile(d.path("off", name), nil, 0o600); err != nil {
		return fault.Wrap(fault.Unavailable, err, "switch %s off", name)
	}
	text, err := os.ReadFile(d.path("log", name+".pid"))
	if err != nil {
		return fault.Wrap(fault.NotFound, err, "find the host of %s", name).With("is mesh dev running?")
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil || !isHost(pid) {
		return nil //nolint:nilerr // no host of ours runs, which is what was asked for
	}
	return syscall.Kill(pid, syscall.SIGTERM)
}

// isHost reports whether the process is a mesh-host: a number may have gone to another.
func isHost(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.TrimSpace(string(text)) == "mesh-host"
}
