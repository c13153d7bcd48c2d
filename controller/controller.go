package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/api"
	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/bus/broker"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/internal/loop"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/registry"
	"noxmesh/link"
)

// Controller is one running controller. Everything that it remembers besides
// the record may be lost at any moment.
type Controller struct {
	cfg  Config
	log  *slog.Logger
	mesh string
	keys keys

	db       *db.DB
	broker   *broker.Broker
	bus      *bus.Conn
	git      *git.Git
	registry *registry.Registry
	pull     *oci.Client
	own      identity.Secret // for pull, and nobody else

	sources, builds, declares, leases *loop.Loop

	outbox   outbox
	heard    heard
	looked   sync.Map // module: time of the last look
	hooked   sync.Map // module: a hook's look is to begin
	unwell   unwell
	troubles sync.Map // key: the loops' troubles as of now, which the record may not have
	work     *bell    // there may be work to give
	receipts *bell    // something has been heard

	listener net.Listener // the API, the registry and joining, over TLS
	socket   net.Listener // the API, for people on this machine
}

// Run is a controller from start to end. It returns when ctx ends, with nil
// where everything was put down in order.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	c, err := start(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.close(ctx)
	return c.run(ctx)
}

// start opens everything, in the order in which one thing needs another.
func start(ctx context.Context, cfg Config) (c *Controller, err error) {
	c = &Controller{
		cfg: cfg, log: cfg.Log, work: newBell(), receipts: newBell(),
		outbox: outbox{nodes: map[string]message{}}, heard: heard{nodes: map[string]bool{}},
	}
	defer func() {
		if err != nil {
			c.close(ctx)
		}
	}()
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return c, fault.Wrap(fault.Unavailable, err, "make the data folder")
	}
	// The record before the keys: from the moment that there are keys, a record
	// that is not there has been lost.
	if c.db, err = openRecord(ctx, cfg); err != nil {
		return c, err
	}
	if c.keys, err = openKeys(cfg.Dir, clock.Now()); err != nil {
		return c, err
	}
	c.mesh = c.keys.mesh
	if _, err := c.db.Resume(ctx, c.keys.holder); err != nil {
		return c, err
	}
	if err := c.openRim(ctx); err != nil {
		return c, err
	}
	c.makeLoops()
	return c, c.listen(ctx)
}

// openRecord opens the record. Where this controller has run before and its
// record is gone, an empty one would only look like a new mesh.
func openRecord(ctx context.Context, cfg Config) (*db.DB, error) {
	_, noKeys := os.Stat(filepath.Join(cfg.Dir, keysFile))
	_, noRecord := os.Stat(filepath.Join(cfg.Dir, recordFile))
	if cfg.Record == "" && noKeys == nil && errors.Is(noRecord, os.ErrNotExist) {
		return nil, fault.New(fault.Broken, "the record %q is gone, and the keys beside it are not", filepath.Join(cfg.Dir, recordFile)).
			With("is its disk mounted? Put a backup there and start again; mesh-controller recover says what to do with an older one")
	}
	return db.Open(ctx, cfg.dsn())
}

// openRim opens git, the registry and the broker.
func (c *Controller) openRim(ctx context.Context) (err error) {
	if c.git, err = git.New(git.Config{
		Home: filepath.Join(c.cfg.Dir, "git"), Allow: c.allow(), SSH: git.SSH{Key: c.cfg.SSHKey, KnownHosts: c.cfg.KnownHosts},
	}); err != nil {
		return err
	}
	certificate, err := c.keys.certificate(c.cfg.Names, clock.Now())
	if err != nil {
		return err
	}
	if c.listener, err = tls.Listen("tcp", c.cfg.Listen, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}); err != nil {
		return fault.Wrap(fault.Unavailable, err, "listen for the API").With("is another program, or another controller, there?")
	}
	if c.registry, err = registry.New(registry.Config{ //nolint:contextcheck // it lives until close, not until ctx ends
		Dir: filepath.Join(c.cfg.Dir, "registry"), Secret: c.keys.declare.Seed(), Authorize: c.authorize,
	}); err != nil {
		return err
	}
	revoked, err := c.revoked(ctx)
	if err != nil {
		return err
	}
	c.broker, err = broker.Start(broker.Config{
		Listen: c.cfg.Broker, Host: c.cfg.Names[0], TLS: certificate, Keys: c.keys.broker, Revoked: revoked,
		LameDuck: c.cfg.LameDuck, Logger: c.log,
	})
	if err != nil {
		return err
	}
	if c.bus, err = c.broker.InProcess(ctx); err != nil {
		return err
	}
	c.pull, err = c.ownRegistry()
	return err
}

// ownRegistry reads the registry as everybody does, with a credential that
// lives as long as this process.
func (c *Controller) ownRegistry() (*oci.Client, error) {
	config, err := identity.ClientTLS(c.keys.ca.PEM())
	if err != nil {
		return nil, err
	}
	c.own = identity.NewSecret()
	return oci.New(oci.Config{Base: c.registryURL(), TLS: config, User: ownUser, Secret: oci.Secret(c.own.Reveal())})
}

// ownUser is the controller's name in its registry; no id has this form.
const ownUser = "controller"

func (c *Controller) makeLoops() {
	c.sources = c.loop("source", c.moduleNames, c.sourceStep, c.cfg.Every)
	c.builds = c.loop("build", c.moduleNames, c.buildStep, c.cfg.Every)
	c.declares = c.loop("declare", c.nodeIDs, c.declareStep, c.cfg.Hello)
	c.leases = c.loop("lease", func(context.Context) ([]string, error) { return []string{"leases"}, nil }, c.leaseStep, c.cfg.Lease/4)
}

func (c *Controller) loop(name string, keys func(context.Context) ([]string, error), step func(context.Context, string) (loop.Result, error), every time.Duration) *loop.Loop {
	return loop.New(loop.Spec{
		Name: name, Keys: keys, Step: step, Every: every, Jitter: every / 4, Workers: loopWorkers,
		Recall: c.recallTrouble(name), Trouble: c.recordTrouble, Cleared: c.clearTrouble(name), Log: c.log,
	})
}

// loopWorkers is how many keys of one loop are looked at side by side: enough
// that one slow forge does not hold up the others.
const loopWorkers = 4

// run serves until ctx ends or something cannot go on.
func (c *Controller) run(ctx context.Context) error {
	if err := c.serveBus(); err != nil {
		return err
	}
	server := c.handlers()
	if missing := server.Missing(); len(missing) > 0 {
		return fault.New(fault.Broken, "calls that nobody answers: %s", strings.Join(missing, ", "))
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range []*loop.Loop{c.sources, c.builds, c.declares, c.leases} {
		group.Go(func() error { return l.Run(ctx) })
	}
	group.Go(func() error { return c.serve(ctx, c.listener, c.front(server)) })
	group.Go(func() error { return c.serve(ctx, c.socket, asOperator(server)) })
	c.log.Info("controller is ready", "mesh", c.mesh, "epoch", c.db.Epoch(), "api", c.apiURL(), "broker", c.brokerURL(), "socket", c.cfg.SocketPath())
	err := group.Wait()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

func (c *Controller) serveBus() error {
	for verb, handle := range map[link.Verb]bus.Handler{
		link.VerbHello: c.hello, link.VerbReport: c.report,
		link.VerbWork: c.giveWork, link.VerbWorking: c.working, link.VerbAnswer: c.answer,
	} {
		subject, err := link.Every(verb)
		if err != nil {
			return err
		}
		if err := c.bus.Serve(subject, handle); err != nil {
			return err
		}
	}
	return nil
}

// serve answers on one listener until ctx ends, and lets the answers under way finish.
func (c *Controller) serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if s.Shutdown(grace) != nil {
			_ = s.Close() // whoever still reads is cut
		}
	})
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fault.Wrap(fault.Unavailable, err, "serve on %s", l.Addr())
	}
	return nil
}

// close puts everything down, in the order in which nothing is missed: clients
// of the broker are let go before what answers them is closed.
func (c *Controller) close(ctx context.Context) {
	for _, l := range []net.Listener{c.listener, c.socket} {
		if l != nil {
			_ = l.Close() // it may be closed already
		}
	}
	if c.broker != nil {
		c.broker.Close(context.WithoutCancel(ctx))
	}
	if c.bus != nil {
		c.bus.Close()
	}
	if c.registry != nil {
		if err := c.registry.Close(); err != nil {
			c.log.Error("the registry was not closed", "error", err)
		}
	}
	if c.db != nil {
		if err := c.db.Close(); err != nil {
			c.log.Error("the record was not closed", "error", err)
		}
	}
}

func (c *Controller) allow() git.Allow {
	return git.Allow{Hosts: c.cfg.HTTPHosts, Folders: c.cfg.Folders}
}

// apiURL is where nodes and people reach the API and the registry.
func (c *Controller) apiURL() string {
	_, port, err := net.SplitHostPort(c.listener.Addr().String())
	if err != nil {
		return ""
	}
	u := url.URL{Scheme: "https", Host: net.JoinHostPort(c.cfg.Names[0], port)}
	return u.String()
}

func (c *Controller) registryURL() string { return c.apiURL() }

func (c *Controller) brokerURL() string { return c.broker.URL() }

// front is what stands on the TLS port: the registry under /v2/, the API elsewhere.
func (c *Controller) front(server *api.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v2/", c.registry)
	mux.Handle("/", server)
	return mux
}
