package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"noxmesh/api"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
)

// A node is switched off by a file: whoever runs the mesh dev sees it, ends the
// host, and leaves it ended until the file is gone, also when started again.

func (d *dev) stop() *cobra.Command {
	return printing[api.Nothing](&cobra.Command{
		Use: "stop NODE", Short: "Switch a node of this mesh dev off",
		Long:    "Switch a node of this mesh dev off, as if its machine were. It stays off, also when\nmesh dev is started again, until mesh dev start NODE.",
		Example: "  mesh dev stop node2",
		Args:    arguments(1, 1), ValidArgsFunction: each(d.switchable()),
		RunE: func(c *cobra.Command, args []string) error {
			return d.switchNode(args[0], func(name string) error {
				if exists(d.path("off", name)) {
					d.show(api.Nothing{}, func() { d.out.Note("%s was off before", name) })
					return nil
				}
				if err := disk.Write(d.path("off", name), nil); err != nil {
					return fault.Add(err, "switch %s off", name)
				}
				if err := d.ended(c.Context(), name); err != nil {
					return err
				}
				d.show(api.Nothing{}, func() { d.out.Note("%s is off", name) })
				return nil
			})
		},
	})
}

func (d *dev) start() *cobra.Command {
	return printing[api.Nothing](&cobra.Command{
		Use: "start NODE", Short: "Switch a node of this mesh dev on again",
		Example: "  mesh dev start node2",
		Args:    arguments(1, 1), ValidArgsFunction: each(d.switchable()),
		RunE: func(_ *cobra.Command, args []string) error {
			return d.switchNode(args[0], func(name string) error {
				err := os.Remove(d.path("off", name))
				if err == nil {
					err = disk.Place(d.path("off")).Sync()
				}
				switch {
				case errors.Is(err, os.ErrNotExist):
					d.show(api.Nothing{}, func() { d.out.Note("%s was on before", name) })
					return nil
				case err != nil:
					return fault.Wrap(fault.Unavailable, disk.Say(err, d.path("off")), "switch %s on", name)
				}
				d.show(api.Nothing{}, func() {
					if d.running() {
						d.out.Note("%s is on", name)
					} else {
						d.out.Note("%s will be on when mesh dev runs again", name)
					}
				})
				return nil
			})
		},
	})
}

func (d *dev) switchNode(name string, do func(string) error) error {
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "find the folder %q", d.dir)
	}
	d.dir = dir
	if name != filepath.Base(name) || !exists(d.path("nodes", name)) {
		return fault.New(fault.NotFound, "there is no node %q in %q", name, d.path("nodes")).With("mesh node list shows them; --dir says where the mesh dev is")
	}
	return do(name)
}

// ended waits until the host of a node that was switched off has ended: whoever
// types the next command means a machine that is off. Longer than it may take
// it is not waited for.
func (d *dev) ended(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit+restartMax)
	defer cancel()
	tick := time.NewTicker(offEvery)
	defer tick.Stop()
	for exists(d.pidPath(name)) && d.running() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fault.New(fault.Unavailable, "the host of %s does not end", name).With("its log is %s", d.path("log", name+".log"))
		}
	}
	return nil
}

// running reports whether some mesh dev holds the folder.
func (d *dev) running() bool {
	lock, err := os.OpenFile(d.path("lock"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer lock.Close()
	return errors.Is(unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// switchable offers the nodes of the folder.
func (d *dev) switchable() completer {
	return d.names(func(context.Context) ([]string, error) { return d.nodes() })
}
