package controller

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/api"
	"noxmesh/internal/bus"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/internal/loop"
	"noxmesh/link"
)

// Controller is one running controller. Everything that it remembers besides
// the record may be lost at any moment.
type Controller struct {
	cfg  Config
	log  *slog.Logger
	mesh string
	keys keys

	db     Record
	git    Forge
	bus    Bus
	pull   Registry
	broker Members
	names  Images
	at     Addresses
	random func() float64 // of the loops; nil for the system's
	edges  edges          // what start has opened

	sources, images, builds, declares, leases, rechecks, weeds, collects *loop.Loop

	book       *book
	small      *small
	conduct    *conduct
	outbox     outbox
	heard      heard
	steady     steady
	weeded     time.Time     // the last look at the registry's bytes; of the loop "registry" alone
	collecting chan struct{} // holds the token of whoever collects from the registry
	looked     sync.Map      // module: time of the last look
	turns      sync.Map      // module: the turn in which its builds are looked for in the registry next
	unlike     sync.Map      // module: a check of it has made something else, and its files are not compared yet
	hooks      *hooks
	unwell     unwell
	shelf      unwell   // of the registry
	asked      bool     // then: whether it was, where it is another's
	troubles   sync.Map // key: the loops' troubles as of now, which the record may not have
	work       *bell    // there may be work to give
	receipts   *bell    // something has been heard
}

// newController is a controller that stands on nothing yet.
func newController(cfg Config) *Controller {
	c := &Controller{
		cfg: cfg, log: cfg.Log, steady: newSteady(), book: newBook(), conduct: newConduct(clock.Now()), work: newBell(), receipts: newBell(),
		collecting: make(chan struct{}, 1), outbox: outbox{nodes: map[string]message{}}, heard: heard{nodes: map[string]said{}}, hooks: newHooks(),
	}
	c.small = newSmall(c.write)
	return c
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
	c = newController(cfg)
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
	record, err := openRecord(ctx, cfg)
	if err != nil {
		return c, err
	}
	c.edges.record, c.db = record, record
	if c.keys, err = openKeys(cfg.Dir, clock.Now()); err != nil {
		return c, err
	}
	if _, err := record.Resume(ctx, c.keys.holder); err != nil {
		return c, err
	}
	rim, err := c.openRim(ctx)
	if err != nil {
		return c, err
	}
	c.stand(rim)
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

func (c *Controller) makeLoops() {
	sources := c.spec("source", c.moduleNames, c.sourceStep, c.cfg.Every)
	sources.Workers, sources.Jitter, sources.Place = sourceWorkers, c.cfg.Every, placeOf
	c.sources = loop.New(sources)
	images := c.spec("image", c.imageKeys, c.imageStep, imagesEvery*c.cfg.Every)
	images.Jitter, images.Place = images.Every, placeOf
	c.images = loop.New(images)
	c.builds = c.loop("build", c.buildNames, c.buildStep, c.cfg.Every)
	c.declares = c.loop("declare", c.nodeIDs, c.declareStep, c.cfg.Hello)
	c.leases = c.loop("lease", func(context.Context) ([]string, error) { return []string{"leases"}, nil }, c.leaseStep, c.cfg.Lease/4)
	c.rechecks = c.loop("record", func(context.Context) ([]string, error) { return []string{recheckKey}, nil }, c.recheckStep, recheckEvery)
	c.weeds = c.loop("registry", func(context.Context) ([]string, error) { return []string{weedKey, mendKey}, nil }, c.registryStep, weedEvery)
	c.collects = c.loop("collect", func(context.Context) ([]string, error) { return []string{collectKey}, nil }, c.collectStep, collectEvery)
}

func (c *Controller) loop(name string, keys func(context.Context) ([]string, error), step func(context.Context, string) (loop.Result, error), every time.Duration) *loop.Loop {
	return loop.New(c.spec(name, keys, step, every))
}

func (c *Controller) spec(name string, keys func(context.Context) ([]string, error), step func(context.Context, string) (loop.Result, error), every time.Duration) loop.Spec {
	return loop.Spec{
		Name: name, Keys: keys, Step: step, Every: every, Jitter: every / 4, Workers: loopWorkers,
		Recall: c.recallTrouble(name), Trouble: c.recordTrouble, Cleared: c.clearTrouble(name), Log: c.log, Random: c.random,
	}
}

// loopWorkers is how many keys of one loop are looked at side by side, and
// sourceWorkers how many sources: more than one forge is asked for at once
// (Later), so that no slow one holds up the others.
const (
	loopWorkers   = 4
	sourceWorkers = 16
)

// placeOf spreads the looks at sources over all of the time from one to the
// next, each always at its own place.
func placeOf(key string) float64 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key))
	return float64(sum.Sum32()) / (1 << 32)
}

// run serves until ctx ends or something cannot go on.
func (c *Controller) run(ctx context.Context) error {
	server := c.handlers()
	if missing := server.Missing(); len(missing) > 0 {
		return fault.New(fault.Broken, "calls that nobody answers: %s", strings.Join(missing, ", "))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.Loops(ctx) })
	group.Go(func() error { return c.weeds.Run(ctx) })
	group.Go(func() error { return c.collects.Run(ctx) })
	group.Go(func() error { return c.serve(ctx, c.edges.listener, c.front(server)) })
	group.Go(func() error { return c.serve(ctx, c.edges.socket, asOperator(server)) })
	c.log.Info("controller is ready", "mesh", c.mesh, "epoch", c.db.Epoch(), "api", c.at.API, "broker", c.at.Broker, "socket", c.cfg.SocketPath())
	err := group.Wait()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// Loops hears what comes over the broker and runs the loops, until ctx ends.
func (c *Controller) Loops(ctx context.Context) error {
	if err := c.serveBus(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range []*loop.Loop{c.sources, c.images, c.builds, c.declares, c.leases, c.rechecks} {
		group.Go(func() error { return l.Run(ctx) })
	}
	return group.Wait()
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

func (c *Controller) allow() git.Allow {
	return git.Allow{Hosts: c.cfg.HTTPHosts, Folders: c.cfg.Folders}
}

// front is what stands on the TLS port: the registry under /v2/, the API elsewhere.
func (c *Controller) front(server *api.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v2/", c.edges.registry)
	mux.Handle("/", server)
	return mux
}
