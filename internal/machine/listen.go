package machine

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// Listen is a port on the bridge, where the machines reach it at Gateway, of a
// program that is itself not in the namespace.
func (n *Net) Listen(ctx context.Context) (net.Listener, error) {
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "listen on the bridge %q", n.Name)
	}
	defer own.Close()
	there, err := os.Open(filepath.Join("/run/netns", n.Name))
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "listen on the bridge %q", n.Name)
	}
	defer there.Close()
	// A socket is of the namespace that its thread is in when it is made.
	runtime.LockOSThread()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, fault.Wrap(fault.Broken, err, "enter the bridge %q", n.Name)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(Gateway, "0"))
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		return listener, fault.Wrap(fault.Broken, back, "leave the bridge %q", n.Name) // the thread ends with its goroutine
	}
	runtime.UnlockOSThread()
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "listen on the bridge %q", n.Name)
	}
	return listener, nil
}
