package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"noxmesh/api"
	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
)

const (
	// devFolder is where mesh dev keeps everything, in the folder that it is started in.
	devFolder = "mesh-dev"
	// loopback is the only address that a mesh dev is reached by.
	loopback = "127.0.0.1"
	// The kernel takes no longer path for a unix socket.
	longestSocket = 107
	// More hosts than this is no trial on one machine.
	mostHosts = 100
	// So many nodes has a mesh dev that is told nothing.
	usualHosts = 3

	controllerName = "controller"
)

// dev is a whole mesh on this machine, as child processes.
type dev struct {
	*shell
	dir                string
	hosts              int
	every              time.Duration
	drift              time.Duration
	folders            []string
	sshKey, knownHosts string
	ports              devPorts
	client             *api.Client
	up                 atomic.Bool // the controller has answered
}

// devPorts are chosen once and kept: hosts have pinned them when they joined.
type devPorts struct {
	API    int `json:"api"`
	Broker int `json:"broker"`
}

func (s *shell) dev() *cobra.Command {
	d := &dev{shell: s}
	c := &cobra.Command{
		Use:   "dev",
		Short: "A whole mesh on this machine, to try it",
		Long: `Start a controller, a builder and some hosts on this machine, with all their data
in one folder. Each host is confined to a folder of its own, nodes/node1 and so
on, as if that were its machine. Stop it with ctrl-C; started again in the same
folder, it goes on where it left off.

While it runs, mesh talks to it from the folder that it was started in.`,
		Example: `  mesh dev
  mesh dev --hosts 5 --dir /tmp/try
  mesh dev stop node2       switch a node off
  mesh dev start node2      and on again`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(c, args[0])
			}
			return d.run(c.Context(), c.Flags().Changed("hosts"))
		},
	}
	c.PersistentFlags().StringVar(&d.dir, "dir", devFolder, "the `folder` that everything is kept in")
	c.Flags().IntVar(&d.hosts, "hosts", usualHosts, "how many nodes; as many as before where it is not given")
	c.Flags().DurationVar(&d.every, "every", 2*time.Second, "how often each source is looked at")
	c.Flags().DurationVar(&d.drift, "drift", 10*time.Second, "how often each host looks for drift")
	c.Flags().StringSliceVar(&d.folders, "file-folder", nil, "a `folder` of this machine that repositories may be read from")
	c.Flags().StringVar(&d.sshKey, "ssh-key", "", "the private key that repositories over ssh are read with, a `file`")
	c.Flags().StringVar(&d.knownHosts, "known-hosts", "", "the host keys of the forges that are read over ssh, a `file`")
	c.AddCommand(d.stop(), d.start())
	return printing[devUp](c)
}

func (d *dev) path(parts ...string) string {
	return filepath.Join(append([]string{d.dir}, parts...)...)
}

// run starts everything in the order in which one thing needs another, and
// keeps it running until ctx ends.
func (d *dev) run(ctx context.Context, hostsGiven bool) error {
	if d.hosts < 0 || d.hosts > mostHosts {
		return fault.New(fault.Invalid, "--hosts is %d, want 0 to %d", d.hosts, mostHosts)
	}
	lock, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if !hostsGiven {
		before, err := d.nodes()
		if err != nil {
			return err
		}
		if len(before) > 0 {
			d.hosts = min(len(before), mostHosts)
		}
	}
	group, all := errgroup.WithContext(ctx)
	group.Go(func() error { return d.keep(all, d.controllerChild()) })
	group.Go(func() error { return d.bringUp(all, group) })
	err = group.Wait()
	d.out.Done()
	if ctx.Err() != nil {
		d.out.Note("stopped; \"mesh dev\" goes on from %s", d.dir)
		return nil
	}
	return err
}

// prepare makes the folder, takes its lock and chooses the ports.
func (d *dev) prepare(ctx context.Context) (*os.File, error) {
	if err := d.findFolders(); err != nil {
		return nil, err
	}
	for _, p := range []string{d.path("log"), d.path("nodes"), d.path("off")} {
		if err := os.MkdirAll(p, 0o700); err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "make the folder %q", p)
		}
	}
	lock, err := os.OpenFile(d.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "lock the folder %q", d.dir)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fault.New(fault.Conflict, "another mesh dev uses %q", d.dir).With("stop it, or give this one a folder of its own with --dir")
	}
	if err := d.choosePorts(ctx); err != nil {
		lock.Close()
		return nil, err
	}
	d.client = api.OverSocket(d.socket())
	return lock, nil
}

// findFolders makes every path that was given absolute: the children are told of them.
func (d *dev) findFolders() error {
	paths := []*string{&d.dir, &d.sshKey, &d.knownHosts}
	for i := range d.folders {
		paths = append(paths, &d.folders[i])
	}
	for _, p := range paths {
		if *p == "" {
			continue
		}
		whole, err := filepath.Abs(*p)
		if err != nil {
			return fault.Wrap(fault.Invalid, err, "find %q", *p)
		}
		*p = whole
	}
	if s := d.socket(); len(s) > longestSocket {
		return fault.New(fault.Invalid, "%q is %d characters long, and the path of a socket has at most %d", s, len(s), longestSocket).
			With("give mesh dev a folder with a shorter path: --dir")
	}
	return nil
}

func (d *dev) socket() string { return d.path("controller", "controller.sock") }

func (d *dev) choosePorts(ctx context.Context) error {
	data, err := os.ReadFile(d.path("ports.json"))
	switch {
	case err == nil:
		d.ports, err = document.Decode[devPorts](d.path("ports.json"), data, document.Limits{Bytes: 1 << 10, Depth: 2})
		if err != nil {
			return err
		}
		return errors.Join(d.portIsFree(ctx, d.ports.API), d.portIsFree(ctx, d.ports.Broker))
	case !errors.Is(err, os.ErrNotExist):
		return fault.Wrap(fault.Unavailable, err, "read the kept ports")
	}
	var listeners [2]net.Listener // both at once, or they might be one
	for i := range listeners {
		if listeners[i], err = listen(ctx, 0); err != nil {
			return fault.Wrap(fault.Unavailable, err, "find a free port")
		}
		defer listeners[i].Close()
	}
	d.ports = devPorts{portOf(listeners[0]), portOf(listeners[1])}
	b, err := document.Canonical(d.ports)
	if err != nil {
		return err
	}
	return disk.Write(d.path("ports.json"), b)
}

// portIsFree makes sure that a port of this mesh dev is free. Where the programs
// of one that was killed are still ending, it waits for them.
func (d *dev) portIsFree(ctx context.Context, port int) error {
	tick := time.NewTicker(offEvery)
	defer tick.Stop()
	deadline := time.Now().Add(endLimit + restartMax)
	for {
		l, err := listen(ctx, port)
		switch {
		case err == nil:
			return l.Close()
		case !errors.Is(err, syscall.EADDRINUSE):
			return fault.Wrap(fault.Unavailable, err, "try port %d", port)
		case !d.leftovers() || time.Now().After(deadline):
			return fault.New(fault.Conflict, "port %d, which this mesh dev's nodes know it by, is used by another program", port).
				With("end that program (ss -ltnp 'sport = :%d' names it), or start afresh in another folder with --dir", port)
		}
		d.out.Progress("waiting for port %d", port)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leftovers reports whether a program of an earlier mesh dev in this folder runs.
func (d *dev) leftovers() bool {
	for _, name := range []string{controllerName, "builder"} {
		pid, err := os.ReadFile(d.pidPath(name))
		if err != nil {
			continue
		}
		program, err := os.ReadFile(filepath.Join("/proc", string(pid), "comm"))
		if err == nil && strings.HasPrefix(string(program), "mesh-") { // and not another that has got the number
			return true
		}
	}
	return false
}

func listen(ctx context.Context, port int) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", at(port))
}

func portOf(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

func at(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func nodeName(i int) string { return fmt.Sprintf("node%d", i+1) }

// nodes is the nodes that the folder has, in their order.
func (d *dev) nodes() ([]string, error) {
	entries, err := os.ReadDir(d.path("nodes"))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "look for nodes")
	}
	var names []string
	for i := range mostHosts {
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == nodeName(i) }) {
			names = append(names, nodeName(i))
		}
	}
	return names, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
