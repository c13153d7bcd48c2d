package machine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/power"
)

// Machine is one Debian on the bridge. It is used by one goroutine at a time.
type Machine struct {
	Name    string
	Address string
	Root    string // its file system as seen from outside, writable while it is off

	net   *Net
	dir   string // its layers
	netns string
	cable string // the bridge's end
	boot  *boot  // nil while it is off
}

// boot is one life of a machine.
type boot struct {
	nspawn *exec.Cmd
	ended  chan struct{} // closed when nspawn has ended
	leader int           // its process 1, once it is up
}

// settle is how long anything that takes moments here may take on a machine that
// is busy with other tests.
const settle = 60 * time.Second

// Add makes a machine, off, with its root in place: what a test puts there is
// there when it boots.
func (n *Net) Add(ctx context.Context, name string) (*Machine, error) {
	m := &Machine{
		Name: name, Address: fmt.Sprintf("10.77.0.%d", n.next), net: n,
		dir: filepath.Join(n.dir, name), Root: filepath.Join(n.dir, name, "root"),
		netns: n.Name + "-" + name, cable: fmt.Sprintf("m%d", n.next),
	}
	n.next++
	for _, layer := range []string{"up", "work", "root", "containers"} {
		if err := os.MkdirAll(filepath.Join(m.dir, layer), 0o755); err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "make the layers of machine %q", name)
		}
	}
	if err := m.Mount(ctx); err != nil {
		return nil, err
	}
	if err := m.wire(ctx); err != nil {
		return nil, errors.Join(err, m.Remove(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// Mount puts the root of a machine in its place again that is off, after Unmount.
func (m *Machine) Mount(ctx context.Context) error {
	return m.MountLayers(ctx, m.dir, m.Root)
}

// MountLayers mounts at a folder what a machine is whose layers are these: a copy of Layers.
func (m *Machine) MountLayers(ctx context.Context, layers, at string) error {
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/up,workdir=%s/work", m.net.base, layers, layers)
	return run(ctx, "mount", "-t", "overlay", "overlay", "-o", options, at)
}

// Layers is the folder of all that the machine has written.
func (m *Machine) Layers() string { return m.dir }

// Unmount takes away the root of a machine that is off: what its layers lie on can then be
// changed for something else.
func (m *Machine) Unmount() error { return power.Unmount(m.Root) }

// wire lays the cable and writes what makes this machine another than the rest.
func (m *Machine) wire(ctx context.Context) error {
	if err := m.lay(ctx); err != nil {
		return err
	}
	return m.name()
}

// lay makes the machine's network, with nothing in it but the cable.
func (m *Machine) lay(ctx context.Context) error {
	for _, args := range [][]string{
		{"netns", "add", m.netns},
		{"link", "add", m.cable, "netns", m.net.Name, "type", "veth", "peer", "name", "host0", "netns", m.netns},
		{"-n", m.net.Name, "link", "set", m.cable, "master", "br0", "up"},
		{"-n", m.netns, "link", "set", "lo", "up"},
		{"-n", m.netns, "addr", "add", m.Address + "/24", "dev", "host0"},
		{"-n", m.netns, "link", "set", "host0", "up"},
		{"-n", m.netns, "route", "add", "default", "via", Gateway},
	} {
		if err := run(ctx, "ip", args...); err != nil {
			return err
		}
	}
	return nil
}

// name writes what makes this machine another than the rest.
func (m *Machine) name() error {
	id := make([]byte, 16)
	rand.Read(id)
	for name, text := range map[string]string{
		"hostname":   m.Name + "\n",
		"machine-id": hex.EncodeToString(id) + "\n", // an empty one comes out equal on all machines
		"hosts":      "127.0.0.1 localhost " + m.Name + "\n" + Gateway + " controller\n",
		// What runs in a machine may not raise its limits, and writes no journal of containers.
		"containers/containers.conf": "[containers]\ndefault_ulimits=[\"nofile=20000:20000\",\"nproc=4096:4096\"]\npids_limit=0\n[engine]\nruntime=\"runc\"\nevents_logger=\"file\"\n",
	} {
		path := filepath.Join(m.Root, "etc", name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Wrap(fault.Unavailable, err, "set up machine %q", m.Name)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fault.Wrap(fault.Unavailable, err, "set up machine %q", m.Name)
		}
	}
	return nil
}

// Boot starts the machine and returns when systemd says that it is up: "running",
// or "degraded" where a unit has failed.
func (m *Machine) Boot(ctx context.Context) (string, error) {
	if err := m.start(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	var state string
	err := until(ctx, func() bool {
		if m.boot.leader == 0 {
			m.boot.leader = leader(m.boot.nspawn.Process.Pid)
		}
		if m.boot.leader == 0 {
			return false
		}
		out, _ := m.Command(ctx, "systemctl", "is-system-running").Output() // anything but "running" is a failure of the command
		state = strings.TrimSpace(string(out))
		return state == "running" || state == "degraded"
	})
	if err != nil {
		return state, fault.Wrap(fault.Unavailable, err, "boot machine %q: systemd says %q: %s", m.Name, state, m.Console())
	}
	return state, nil
}

// start starts nspawn in a control group of the machine's own: with --keep-unit
// every machine's processes would otherwise stand in the caller's.
func (m *Machine) start() error {
	console, err := os.Create(filepath.Join(m.dir, "console.log"))
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "boot machine %q", m.Name)
	}
	defer console.Close()
	for _, group := range m.groups() {
		if err := os.MkdirAll(group, 0o755); err != nil {
			return fault.Wrap(fault.Unavailable, err, "make the control group of machine %q", m.Name)
		}
	}
	args := append([]string{"-c", `while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 1; shift; done; shift; exec "$@"`, "sh"}, m.groups()...)
	args = append(args, "--", "systemd-nspawn", "--quiet", "--boot", "--directory="+m.Root, "--machine="+m.netns,
		"--register=no", "--keep-unit", "--network-namespace-path=/run/netns/"+m.netns, "--resolv-conf=off", "--timezone=off", "--console=pipe",
		// A service gets what it would get on a machine: without these, keyctl, bpf and netlink are refused.
		"--capability=all", "--system-call-filter=@keyring", "--system-call-filter=bpf",
		"--bind="+filepath.Join(m.dir, "containers")+":/var/lib/containers") // which lie on an overlay of their own, and that on none
	cmd := exec.Command("sh", args...)                                                                              //nolint:noctx // it ends by Stop, in order; a context would kill it
	cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1", "SYSTEMD_NSPAWN_API_VFS_WRITABLE=network") // the network that it sets up is its own
	cmd.Stdout, cmd.Stderr = console, console
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fault.Wrap(fault.Unavailable, err, "boot machine %q", m.Name)
	}
	b := &boot{nspawn: cmd, ended: make(chan struct{})}
	m.boot = b
	go func() {
		_ = cmd.Wait() // how it ended is in the console; that it ended is what counts
		close(b.ended)
	}()
	return nil
}

// groups are the machine's control groups: one, or one in each hierarchy where
// the old and the new stand side by side.
func (m *Machine) groups() []string {
	if _, err := os.Stat(cgroups + "/cgroup.controllers"); err == nil {
		return []string{filepath.Join(cgroups, m.netns)}
	}
	return []string{filepath.Join(cgroups, "systemd", m.netns), filepath.Join(cgroups, "unified", m.netns)}
}

const cgroups = "/sys/fs/cgroup"

// Command is a command that will run inside the machine, which is on.
func (m *Machine) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	enter := []string{
		"-t", fmt.Sprint(m.boot.leader), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--",
		"env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", name,
	}
	return exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
}

// Inside is the machine's file systems as it sees them itself, while it is on.
func (m *Machine) Inside() string { return fmt.Sprintf("/proc/%d/root", m.boot.leader) }

// Exec runs a command inside the machine and is what it wrote to stdout.
func (m *Machine) Exec(ctx context.Context, name string, args ...string) (string, error) {
	var says strings.Builder
	cmd := m.Command(ctx, name, args...)
	cmd.Stderr, cmd.WaitDelay = &says, time.Second // whatever it has left behind holds its output
	out, err := cmd.Output()
	if err != nil {
		return string(out), fault.Wrap(fault.Unavailable, err, "on machine %q: %s %q: %s", m.Name, name, args, tail([]byte(says.String())))
	}
	return string(out), nil
}

// Console is the last lines that the machine wrote to its console.
func (m *Machine) Console() string {
	text, err := os.ReadFile(filepath.Join(m.dir, "console.log"))
	if err != nil {
		return err.Error()
	}
	return tail(text)
}
