package host

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/errgroup"

	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/link"
)

// Rim is everything outside its machine that a host uses while it runs.
type Rim struct {
	Link   Link
	Listen func(push func([]byte)) error // hands on each declaration that is pushed; called once, before anything is said
	Depots Depots
	Watch  Watch               // hears of what changes; nil where only the timer looks
	Random func(n int64) int64 // spreads what is waited for, from 0 to below n; nil for the system's
	Hold   func(things int)    // says how much is about to be held; nil where nobody asks
	Rest   func()              // gives back what much work has taken, when the next is far; nil where nobody else wants it
}

// Run keeps this node until ctx ends: it applies what it accepted, hears what is
// declared, and reports. It needs no link to go on; it returns an error only
// where it cannot begin or its state cannot be trusted.
func Run(ctx context.Context, cfg Config) error {
	return live(ctx, cfg, func(m *member) (Rim, func(), error) {
		subject, err := link.Subject(link.VerbDecl, m.joined.Node)
		if err != nil {
			return Rim{}, nil, err
		}
		conn, err := bus.Dial(ctx, bus.Config{
			URL: m.joined.Broker, CAPEM: []byte(m.joined.CA), NatsSeed: m.keys.nats, JWT: m.joined.JWT,
			ID: m.joined.Node, Name: "mesh-host " + m.joined.Name, Logger: cfg.Log,
		})
		if err != nil {
			return Rim{}, nil, err
		}
		listen := func(push func([]byte)) error {
			return conn.Subscribe(subject, func(msg bus.Message) { push(msg.Data) })
		}
		rim := Rim{Link: conn, Listen: listen, Depots: &registries{joined: m.joined}}
		if cfg.alone {
			rim.Hold, rim.Rest = hold, debug.FreeOSMemory
		}
		watch, err := system.NewWatch()
		if err != nil {
			cfg.Log.Warn("what changes is found by the drift timer alone", "why", err)
			return rim, conn.Close, nil
		}
		rim.Watch = watch
		return rim, func() { _ = watch.Close(); conn.Close() }, nil // nothing is written through it
	})
}

// hold sets from where on this process looks harder for memory that it can use
// again, for a host that holds so many resources and things. It is no limit: what
// is needed is taken.
func hold(things int) {
	const alone, thing = 8 << 20, 1 << 10
	debug.SetMemoryLimit(alone + thing*int64(things))
}

// On is Run on this rim, which is the caller's to close.
func On(ctx context.Context, cfg Config, rim Rim) error {
	return live(ctx, cfg, func(*member) (Rim, func(), error) { return rim, func() {}, nil })
}

// live keeps the node on the rim that it is given once it is known who it is.
func live(ctx context.Context, cfg Config, stand func(*member) (Rim, func(), error)) (err error) {
	n, err := open(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	m, err := newMember(n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.gate.Close()) }()
	rim, leave, err := stand(m)
	if err != nil {
		return err
	}
	defer leave()
	r := newRunner(n, m, rim.Link, rim.Depots)
	r.watch = rim.Watch
	if rim.Random != nil {
		r.random = rim.Random
	}
	if rim.Hold != nil {
		r.hold = rim.Hold
	}
	if rim.Rest != nil {
		r.rest = rim.Rest
	}
	if err := rim.Listen(r.push); err != nil {
		return err
	}
	cfg.Log.Info("this node", "mesh", m.joined.Mesh, "node", m.joined.Node, "name", m.joined.Name, "root", cfg.Root,
		"accepted", m.accepted.Generation, "applied", n.state.Applied.Generation)
	return r.run(ctx)
}

// run is the loops, until ctx ends.
func (r *runner) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.speak(ctx) })
	group.Go(func() error { return r.hear(ctx) })
	group.Go(func() error { return r.apply(ctx) })
	group.Go(func() error { return r.tell(ctx) })
	group.Go(func() error { return r.listen(ctx) })
	return group.Wait()
}

// registries is the registry that a declaration names, read with this node's credential.
type registries struct {
	joined keep.Joined

	mu     sync.Mutex // guards what follows
	base   string
	client *oci.Client
}

// At is the blobs of the registry with this address, or of the one that the
// mesh named when the node joined.
func (r *registries) At(base string) (Blobs, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if base == "" {
		base = r.joined.Registry
	}
	if r.client != nil && r.base == base {
		return registry{r.client}, nil
	}
	tls, err := identity.ClientTLS([]byte(r.joined.CA))
	if err != nil {
		return nil, err
	}
	client, err := oci.New(oci.Config{Base: base, TLS: tls, User: r.joined.Node, Secret: oci.Secret(r.joined.Secret)})
	if err != nil {
		return nil, err
	}
	if r.client != nil {
		r.client.Close()
	}
	r.base, r.client = base, client
	return registry{client}, nil
}

// registry is blobs of an OCI registry.
type registry struct{ client *oci.Client }

func (r registry) Pull(ctx context.Context, b Blob, w io.Writer) error {
	if b.Repository == "" {
		return fault.New(fault.Invalid, "the declaration does not say where the bytes %s are", b.Digest.Short())
	}
	return r.client.PullBlob(ctx, oci.Blob{Repository: b.Repository, Digest: b.Digest, Size: b.Size}, w)
}

func (r registry) Read(ctx context.Context, b Blob, off, n int64) (io.ReadCloser, error) {
	return r.client.ReadRange(ctx, oci.Blob{Repository: b.Repository, Digest: b.Digest, Size: b.Size}, off, n)
}
