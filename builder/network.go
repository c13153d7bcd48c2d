package builder

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/builder/gateway"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// A sandbox has a network of its own with nothing in it. Where a module may
// reach other machines, or takes anything from outside, the builder's program
// goes into the sandbox before the command, listens there, hands the listener
// out, and becomes the command: whoever connects to it inside is served outside,
// by the gateway or by what its lock files name.
const (
	insidePort   = 3128
	listenInside = "listen-inside" // the word for it; no verb of a person's
	listenWait   = 30 * time.Second
)

// insideAddress is how commands reach what is served to them.
func insideAddress() string { return "http://127.0.0.1:" + strconv.Itoa(insidePort) }

// proxies is how commands are told of the gateway.
func proxies() [][2]string {
	at := insideAddress()
	var all [][2]string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		all = append(all, [2]string{name, at})
	}
	return append(all, [2]string{"NO_PROXY", "localhost,127.0.0.1,::1"}, [2]string{"no_proxy", "localhost,127.0.0.1,::1"})
}

// server is what a sandbox reaches.
type server interface {
	// Serve answers whoever connects to the listener, until ctx ends.
	Serve(ctx context.Context, l net.Listener) error
}

// server is the one that a command has, or nil.
func (c command) server() server {
	switch {
	case c.network != nil:
		return c.network
	case c.depends != nil:
		return c.depends
	}
	return nil
}

// door is the builder's end of what hands a listener out of a sandbox.
type door struct {
	server
	ours   *net.UnixConn
	opened bool // the listener has come
}

// openDoor makes one, and adds what goes into the sandbox. The words are what
// comes before the command there.
func (p *pipes) openDoor(to server) (words []string, err error) {
	if to == nil {
		return nil, nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "make the network of a sandbox")
	}
	here := os.NewFile(uintptr(pair[0]), "network")
	defer here.Close()
	p.theirs = append(p.theirs, os.NewFile(uintptr(pair[1]), "network"))
	conn, err := net.FileConn(here)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "make the network of a sandbox")
	}
	p.door = &door{server: to, ours: conn.(*net.UnixConn)} //nolint:forcetypeassert // of a socket of this kind it is one
	own, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "open this program for a sandbox")
	}
	p.theirs = append(p.theirs, own)
	socket, program := strconv.Itoa(1+len(p.theirs)), strconv.Itoa(2+len(p.theirs))
	return []string{"/proc/self/fd/" + program, listenInside, socket, program}, nil
}

// serve lets the sandbox through until ctx ends.
func (d *door) serve(ctx context.Context) error {
	if d == nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = d.ours.Close() }) // then nobody waits for it
	defer stop()
	l, err := d.receive()
	if err != nil {
		return nil // opened says so, and is looked at once the sandbox has ended
	}
	defer l.Close()
	d.opened = true
	return d.Serve(ctx, l)
}

func (d *door) receive() (net.Listener, error) {
	if err := d.ours.SetReadDeadline(time.Now().Add(listenWait)); err != nil {
		return nil, err
	}
	word, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := d.ours.ReadMsgUnix(word, rights)
	if err != nil {
		return nil, err
	}
	all, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, errors.New("no listener in it")
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fds[0]), "listener")
	defer file.Close()
	return net.FileListener(file)
}

// shut closes the builder's end, and says whether the sandbox had its network.
func (d *door) shut() error {
	if d == nil {
		return nil
	}
	_ = d.ours.Close() // it was read, or nobody will
	if d.opened {
		return nil
	}
	return fault.New(fault.Unavailable, "the sandbox did not get its network").
		With("the builder's program must be readable and executable by everybody, and linked statically to go into an image")
}

// goInside is what the builder's program does in a sandbox. It returns only
// where it could not become the command.
func goInside(args []string) error {
	if len(args) < 3 {
		return fault.New(fault.Invalid, "%s is the builder's own", listenInside)
	}
	socket, errS := strconv.Atoi(args[0])
	program, errP := strconv.Atoi(args[1])
	if err := errors.Join(errS, errP); err != nil {
		return fault.Wrap(fault.Invalid, err, "listen in the sandbox")
	}
	unix.CloseOnExec(socket)
	unix.CloseOnExec(program)
	return fault.Wrap(fault.Unavailable, listenAndBecome(socket, args[2], args[2:]), "listen in the sandbox")
}

func listenAndBecome(socket int, program string, argv []string) error {
	if err := unix.Access(program, unix.X_OK); err != nil {
		return fmt.Errorf("%q: %w", program, err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: insidePort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 128); err != nil {
		return err
	}
	if err := unix.Sendmsg(socket, []byte{1}, unix.UnixRights(fd), nil, 0); err != nil {
		return err
	}
	return unix.Exec(program, argv, os.Environ())
}

// outside is how a build's public addresses are reached, and what of the mesh
// never is.
func (b *builder) outside(registry string) gateway.Config {
	c := b.config.outside
	for _, at := range []string{registry, b.caller.me.joined.Registry, b.caller.me.joined.Broker} {
		if u, err := url.Parse(at); err == nil && u.Hostname() != "" {
			c.Mesh = append(c.Mesh, u.Hostname())
		}
	}
	return c
}

// openGateway is the way out for a build whose module asks for one, where the
// builder's operator lets it.
func (b *builder) openGateway(registry string, log *logbook) *gateway.Gateway {
	if !b.config.Network {
		return nil
	}
	c := b.outside(registry)
	c.Note = func(line string) { log.Note("%s", line) }
	return gateway.New(c)
}

// network is whether the module asks for the network, or why it cannot have it here.
func (o *order) network(b *manifest.Build) error {
	switch {
	case !b.Network:
		o.gateway = nil
	case o.gateway == nil:
		return environment("the module asks for the network under build.network, and this builder gives a build none: its operator lets it with --network")
	case len(b.Run)+len(b.Test) > 0:
		o.log.Note("network: by the proxy %s, to public addresses only; what is made of it is not reproducible in general", insideAddress())
	}
	return nil
}
