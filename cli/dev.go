package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"noxmesh/api"
	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

// devFolder is where mesh dev keeps everything, in the folder that it is started in.
const devFolder = "mesh-dev"

// loopback is the only address that a mesh dev is reached by.
const loopback = "127.0.0.1"

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
		Long: `Start a controller, a builder and some hosts on this machine, with all their data in one folder. Each host is confined to
a folder of its own, NODES/node1 and so on, as if that were its machine. Stop it with ctrl-C; started again in the same
folder, it goes on where it left off.

While it runs, "mesh" in this folder talks to it.

` + term.ExitHelp(),
		Example: "  mesh dev\n  mesh dev --hosts 5 --dir /tmp/try\n  mesh dev stop node2             switch a node off\n  mesh dev start node2            and on again",
		Args:    arguments(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return d.run(c.Context()) },
	}
	c.PersistentFlags().StringVar(&d.dir, "dir", devFolder, "the `folder` that everything is kept in")
	c.Flags().IntVar(&d.hosts, "hosts", 3, "how many nodes")
	c.Flags().DurationVar(&d.every, "every", 2*time.Second, "how often each source is looked at")
	c.Flags().DurationVar(&d.drift, "drift", 10*time.Second, "how often each host looks for drift")
	c.Flags().StringVar(&d.sshKey, "ssh-key", "", "the private key's `file` that repositories over ssh are read with")
	c.Flags().StringVar(&d.knownHosts, "known-hosts", "", "the `file` of the forges' host keys, for ssh")
	c.Flags().StringSliceVar(&d.folders, "file-folder", nil, "a `folder` of this machine that repositories may be read from")
	c.AddCommand(d.stop(), d.start())
	return c
}

func (d *dev) path(parts ...string) string {
	return filepath.Join(append([]string{d.dir}, parts...)...)
}

// run starts everything in the order in which one thing needs another, and
// keeps it running until ctx ends.
func (d *dev) run(ctx context.Context) error {
	if d.hosts < 0 || d.hosts > 100 {
		return fault.New(fault.Invalid, "--hosts is %d, want 0 to 100", d.hosts)
	}
	lock, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.keep(ctx, d.controllerChild()) })
	group.Go(func() error { return d.bringUp(ctx, group) })
	err = group.Wait()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		d.out.Note("stopped; \"mesh dev\" goes on from %s", d.dir)
		return nil
	}
	return err
}

// prepare makes the folder, takes its lock and chooses the ports.
func (d *dev) prepare(ctx context.Context) (*os.File, error) {
	var err error
	if d.dir, err = filepath.Abs(d.dir); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "find the folder %q", d.dir)
	}
	for i, f := range d.folders {
		if d.folders[i], err = filepath.Abs(f); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "find the folder %q", f)
		}
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
		return nil, fault.Wrap(fault.Conflict, err, "another mesh dev uses %q", d.dir).With("stop it, or give this one a folder of its own with --dir")
	}
	if err := d.choosePorts(ctx); err != nil {
		lock.Close()
		return nil, err
	}
	d.client = api.OverSocket(d.path("controller", "controller.sock"))
	return lock, nil
}

func (d *dev) choosePorts(ctx context.Context) error {
	data, err := os.ReadFile(d.path("ports.json"))
	if err == nil {
		d.ports, err = document.Decode[devPorts](d.path("ports.json"), data, document.Limits{Bytes: 1 << 10, Depth: 2})
		return err
	}
	var listeners [2]net.Listener // both at once, or they might be one
	for i := range listeners {
		var lc net.ListenConfig
		if listeners[i], err = lc.Listen(ctx, "tcp", net.JoinHostPort(loopback, "0")); err != nil {
			return fault.Wrap(fault.Unavailable, err, "find a free port")
		}
		defer listeners[i].Close()
	}
	d.ports = devPorts{portOf(listeners[0]), portOf(listeners[1])}
	b, err := document.Canonical(d.ports)
	if err != nil {
		return err
	}
	if err := effect.Do("cli.dev.ports", func() error { return os.WriteFile(d.path("ports.json"), b, 0o600) }); err != nil {
		return fault.Wrap(fault.Unavailable, err, "keep the ports")
	}
	return nil
}

func portOf(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

func at(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// bringUp lets the builder and the hosts join, where they have not, and starts them.
func (d *dev) bringUp(ctx context.Context, group *errgroup.Group) error {
	if err := d.controllerAnswers(ctx); err != nil {
		return err
	}
	if err := d.joinBuilder(ctx); err != nil {
		return err
	}
	group.Go(func() error { return d.keep(ctx, d.builderChild()) })
	for i := range d.hosts {
		name := fmt.Sprintf("node%d", i+1)
		if err := d.joinHost(ctx, name); err != nil {
			return err
		}
		group.Go(func() error { return d.keep(ctx, d.hostChild(name)) })
	}
	d.tell()
	return nil
}

// controllerAnswers waits until the controller does.
func (d *dev) controllerAnswers(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := api.Do(ctx, d.client, api.Version(), api.Nothing{}); err == nil {
			return nil
		}
		d.out.Progress("starting the controller")
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *dev) joinBuilder(ctx context.Context) error {
	if exists(d.path("builder", "joined.json")) {
		return nil
	}
	t, err := api.Do(ctx, d.client, api.BuilderAdd(), api.BuilderIn{Builder: "builder"})
	if err != nil {
		return err
	}
	return d.once(ctx, "mesh-builder", "join", "--state", d.path("builder"), t.Token)
}

// joinHost lets a host join. A host that was killed while it joined, so that
// only the controller knows of it, is another node now.
func (d *dev) joinHost(ctx context.Context, name string) error {
	root := d.path("nodes", name)
	if exists(filepath.Join(root, "var/lib/mesh-host/joined")) {
		return nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fault.Wrap(fault.Unavailable, err, "make the folder of %s", name)
	}
	known, err := api.Do(ctx, d.client, api.NodeShow(), api.NodeIn{Node: name})
	if err == nil && !known.JoinedAt.IsZero() {
		if _, err := api.Do(ctx, d.client, api.NodeRemove(), api.NodeIn{Node: name}); err != nil {
			return err
		}
	}
	t, err := api.Do(ctx, d.client, api.NodeAdd(), api.NodeAddIn{Node: name})
	if err != nil {
		return err
	}
	return d.once(ctx, "mesh-host", "join", "--root", root, t.Token)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tell says where everything is and what to type next.
func (d *dev) tell() {
	d.out.Done()
	d.line("a mesh runs on this machine: a controller, a builder, %d nodes", d.hosts)
	d.line("  nodes        %s", d.path("nodes"))
	d.line("  logs         %s", d.path("log"))
	d.line("  controller   %s", d.path("controller", "controller.sock"))
	d.line("in another terminal, in this folder:")
	d.line("  mesh module add NAME REPOSITORY    a repository with module.json at its root")
	d.line("  mesh assign NAME node1")
	d.line("  mesh policy NAME auto")
	d.line("  mesh status")
	d.line("ctrl-C stops it")
}
