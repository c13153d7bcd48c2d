package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"noxmesh/internal/fault"
)

// Config is what a gateway is made of.
type Config struct {
	Mesh    []string                                                       // names and addresses of the mesh's own: never reached
	Note    func(line string)                                              // takes one line about each host
	Bounds  Bounds                                                         // zero fields are the defaults
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)   // nil: as this machine does
	Dial    func(ctx context.Context, to netip.AddrPort) (net.Conn, error) // nil: likewise
}

// Bounds are what one build may take of the network.
type Bounds struct {
	Connections int           // at one time
	Bytes       int64         // both ways together
	Idle        time.Duration // of one connection
}

func (b Bounds) orDefault() Bounds {
	return Bounds{cmp.Or(b.Connections, 64), cmp.Or(b.Bytes, 16<<30), cmp.Or(b.Idle, 5*time.Minute)}
}

// dialTime is how long it may take until a host is reached.
const dialTime = 30 * time.Second

// mostNoted is how many hosts are named; of more, only that there are more.
const mostNoted = 500

// Gateway is the way out of one build. Its bounds are for all that it serves together.
type Gateway struct {
	config Config
	left   atomic.Int64 // bytes

	mu    sync.Mutex // guards noted
	noted map[string]bool
}

// New is a gateway that nobody goes through yet.
func New(c Config) *Gateway {
	c.Bounds = c.Bounds.orDefault()
	if c.Resolve == nil {
		c.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if c.Dial == nil {
		dialer := net.Dialer{Timeout: dialTime}
		c.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", to.String())
		}
	}
	g := &Gateway{config: c, noted: map[string]bool{}}
	g.left.Store(c.Bounds.Bytes)
	return g
}

// note says something once.
func (g *Gateway) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch n := len(g.noted); {
	case g.noted[line] || n > mostNoted:
		return
	case n == mostNoted:
		line = "network: more hosts than are named here"
	}
	g.noted[line] = true
	g.config.Note(line)
}

// Reach is a connection to a host that may be reached, or why there is none: an
// error of kind Denied where it may not.
func (g *Gateway) Reach(ctx context.Context, target string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	to, err := g.allowed(ctx, target)
	if err != nil {
		g.note("network: %s", err)
		return nil, err
	}
	for _, a := range to {
		var conn net.Conn
		if conn, err = g.config.Dial(ctx, a); err == nil {
			g.note("network: %s", target)
			return g.bounded(conn), nil
		}
	}
	err = fault.Wrap(fault.Unavailable, err, "reach %q", target)
	g.note("network: %s", err)
	return nil, err
}

// allowed is the addresses of a host that may be dialled.
func (g *Gateway) allowed(ctx context.Context, target string) ([]netip.AddrPort, error) {
	host, port, err := splitTarget(target)
	if err != nil {
		return nil, err
	}
	if slices.Contains([]uint16{25, 465, 587}, port) {
		return nil, fault.New(fault.Denied, "%q is refused: a build sends no mail", target)
	}
	if slices.ContainsFunc(g.config.Mesh, func(s string) bool { return name(s) == host }) {
		return nil, fault.New(fault.Denied, "%q is refused: it is the mesh's own", target)
	}
	never, err := g.never(ctx)
	if err != nil {
		return nil, err
	}
	all, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var to []netip.AddrPort
	for _, a := range all {
		if a = a.Unmap(); Public(a) && !slices.Contains(never, a) {
			to = append(to, netip.AddrPortFrom(a, port))
		}
	}
	if len(to) == 0 {
		return nil, fault.New(fault.Denied, "%q is refused: it is %s, and only public addresses are reached, none of this machine and none of the mesh", target, words(all))
	}
	// Of IPv6 many machines have an address and no way out.
	slices.SortStableFunc(to, func(a, b netip.AddrPort) int { return cmp.Compare(a.Addr().BitLen(), b.Addr().BitLen()) })
	return to, nil
}

// never is the addresses that are not reached though they are public: this
// machine's and the mesh's.
func (g *Gateway) never(ctx context.Context) ([]netip.Addr, error) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "look which addresses this machine has")
	}
	var all []netip.Addr
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p.Addr().Unmap())
		}
	}
	for _, s := range g.config.Mesh {
		of, err := g.resolve(ctx, name(s))
		if err != nil {
			return nil, fault.Add(err, "look which addresses the mesh has")
		}
		for _, a := range of {
			all = append(all, a.Unmap())
		}
	}
	return all, nil
}

func (g *Gateway) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	all, err := g.config.Resolve(ctx, host)
	if err == nil && len(all) == 0 {
		err = errors.New("it has no address")
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "resolve %q", host)
	}
	return all, nil
}

// splitTarget is the host and the port of what a client names.
func splitTarget(target string) (host string, port uint16, err error) {
	host, p, err := net.SplitHostPort(target)
	var n uint64
	if err == nil {
		n, err = strconv.ParseUint(p, 10, 16)
	}
	if host = name(host); err != nil || host == "" || n == 0 {
		return "", 0, fault.New(fault.Invalid, "%q is no host and port", target)
	}
	return host, uint16(n), nil
}

// name is a host as names are compared.
func name(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func words(all []netip.Addr) string {
	var s []string
	for _, a := range all {
		s = append(s, a.String())
	}
	return strings.Join(s, ", ")
}
