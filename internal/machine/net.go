package machine

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// Net is a bridge in a network namespace of its own, and the machines on it.
// What is to be reached by the machines (a controller under test) runs in that
// namespace: Command says how.
type Net struct {
	Name string // of the namespace
	dir  string // layers and logs of the machines
	base string
	next int // the last part of the next machine's address
}

// Gateway is the bridge's own address, where whatever runs in the namespace is reached.
const Gateway = "10.77.0.1"

// first is the last part of the first machine's address; below it is room for
// what a test puts on the bridge itself.
const first = 11

// NewNet makes the bridge. Machines on it start from base, and keep their layers
// below dir, which must not be on an overlay itself. A Net is used by one
// goroutine at a time.
func NewNet(ctx context.Context, base, dir string) (*Net, error) {
	n := &Net{Name: fmt.Sprintf("mesh-%d-%s", os.Getpid(), filepath.Base(dir)), dir: dir, base: base, next: first}
	for _, args := range [][]string{
		{"netns", "add", n.Name},
		{"-n", n.Name, "link", "set", "lo", "up"},
		{"-n", n.Name, "link", "add", "br0", "type", "bridge"},
		{"-n", n.Name, "addr", "add", Gateway + "/24", "dev", "br0"},
		{"-n", n.Name, "link", "set", "br0", "up"},
	} {
		if err := run(ctx, "ip", args...); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Command is a command that will run on the bridge, where the machines reach it
// at Gateway.
func (n *Net) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", n.Name, name}, args...)...)
}

// Inside does it where the machines are: what it listens on and whom it starts is
// on the bridge, though it is this process that does it. Only what f does itself
// is, and not what it lets other goroutines do.
func (n *Net) Inside(f func() error) error {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "go into %q", n.Name)
	}
	defer own.Close()
	there, err := os.Open("/run/netns/" + n.Name)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "go into %q", n.Name)
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return fault.Wrap(fault.Unavailable, err, "go into %q", n.Name)
	}
	did := f()
	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		return fault.Wrap(fault.Unavailable, err, "come back from %q", n.Name) // the thread ends with its goroutine
	}
	runtime.UnlockOSThread()
	return did
}

// Listen is a port at this address where the machines are, of a program that is
// itself not there: at Gateway they reach it.
func (n *Net) Listen(ctx context.Context, address string) (listener net.Listener, err error) {
	err = n.Inside(func() error {
		listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
		return err
	})
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "listen on the bridge %q", n.Name)
	}
	return listener, nil
}

// Close removes the bridge. Stop the machines first.
func (n *Net) Close(ctx context.Context) error { return run(ctx, "ip", "netns", "del", n.Name) }

// run runs a command of the machine that the tests run on.
func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fault.Wrap(fault.Unavailable, err, "%s %q: %s", name, args, tail(out))
	}
	return nil
}
