package machine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"noxmesh/internal/fault"
)

// Cut pulls the machine's cable.
func (m *Machine) Cut(ctx context.Context) error {
	return run(ctx, "ip", "-n", m.net.Name, "link", "set", m.cable, "down")
}

// Heal plugs the cable in again.
func (m *Machine) Heal(ctx context.Context) error {
	return run(ctx, "ip", "-n", m.net.Name, "link", "set", m.cable, "up")
}

// PowerCut ends every process of the machine at once, as a power cut would. Its
// disk keeps what had reached the page cache: what a cut does to a file system is
// tested elsewhere. Boot starts it again.
func (m *Machine) PowerCut(ctx context.Context) error {
	if err := syscall.Kill(m.boot.leader, syscall.SIGKILL); err != nil {
		return fault.Wrap(fault.Broken, err, "cut the power of machine %q", m.Name)
	}
	if err := m.ended(ctx); err != nil {
		return err
	}
	// What it had set of its network goes with it: the namespace would keep that.
	for _, args := range [][]string{{"-n", m.net.Name, "link", "del", m.cable}, {"netns", "del", m.netns}} {
		if err := run(ctx, "ip", args...); err != nil {
			return err
		}
	}
	return m.lay(ctx)
}

// Halt shuts the machine down in order. Boot starts it again.
func (m *Machine) Halt(ctx context.Context) error {
	if m.boot == nil {
		return nil
	}
	// nspawn passes it on as systemd's signal to halt.
	if err := m.boot.nspawn.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fault.Wrap(fault.Broken, err, "halt machine %q", m.Name)
	}
	return m.ended(ctx)
}

// ended waits for the machine's end, and ends it where it will not end by itself.
func (m *Machine) ended(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	b := m.boot
	m.boot = nil
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
	}
	killed := b.nspawn.Process.Kill()
	if b.leader != 0 {
		killed = errors.Join(killed, syscall.Kill(b.leader, syscall.SIGKILL))
	}
	<-b.ended
	return errors.Join(fault.New(fault.Unavailable, "machine %q did not end by itself: %s", m.Name, m.Console()), killed)
}

// Remove takes the machine away: halted where it is on, its cable, its layers
// and its control groups.
func (m *Machine) Remove(ctx context.Context) error {
	errs := []error{m.Halt(ctx), m.Unmount()}
	if _, err := os.Stat("/run/netns/" + m.netns); err == nil {
		errs = append(errs, run(ctx, "ip", "netns", "del", m.netns))
	}
	for _, group := range m.groups() {
		errs = append(errs, removeGroup(group))
	}
	if errs[1] == nil { // never below a root that is still mounted
		errs = append(errs, os.RemoveAll(m.dir))
	}
	return errors.Join(errs...)
}

// removeGroup removes a control group and those within it, the innermost first.
func removeGroup(group string) error {
	var folders []string
	err := filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, folder := range slices.Backward(folders) {
		if gone := syscall.Rmdir(folder); gone != nil {
			err = errors.Join(err, &fs.PathError{Op: "rmdir", Path: folder, Err: gone})
		}
	}
	return err
}

// leader is the machine's process 1 as it is seen from outside, or 0 while there
// is none: nspawn's child that has become systemd.
func leader(nspawn int) int {
	self := strconv.Itoa(nspawn)
	text, err := os.ReadFile("/proc/" + self + "/task/" + self + "/children")
	if err != nil {
		return 0
	}
	for child := range strings.FieldsSeq(string(text)) {
		name, err := os.ReadFile("/proc/" + child + "/comm")
		if pid, bad := strconv.Atoi(child); err == nil && bad == nil && strings.TrimSpace(string(name)) == "systemd" {
			return pid
		}
	}
	return 0
}

// until asks again and again whether something has come true.
func until(ctx context.Context, fact func() bool) error {
	const pause = 50 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !fact() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
