package registry

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	"github.com/sirupsen/logrus"

	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/elsewhere"
)

// Config is what a registry is made of.
type Config struct {
	Dir       string                              // where it keeps everything; made when missing
	Secret    []byte                              // signs the state of uploads; where it is empty, a restart breaks off those under way
	Authorize func(context.Context, Access) error // nil means yes; a fault.Denied means no
	MaxBlob   int64                               // bytes of one blob; 4 GiB where zero
	Elsewhere *elsewhere.Client                   // keeps what is published in place of Dir, where only what that is gets noted; nil: Dir keeps it
	Kept      func(error)                         // told why something could not be written, and where, and with nil of each blob that was; nil: nobody
}

// Registry serves /v2/….
type Registry struct {
	cfg    Config
	app    http.Handler // what keeps things
	end    func() error
	writes sync.RWMutex // held to read by every write and by whoever looks what need not be written, to write by Still
	fresh  fresh
	about  subjects
	short  *atomic.Int64
	behind *away // where Dir does not keep what is published
}

// New is the registry in cfg.Dir, with all that an earlier one stored there.
func New(cfg Config) (*Registry, error) {
	switch {
	case cfg.Dir == "":
		return nil, fault.New(fault.Invalid, "the registry has no folder")
	case len(cfg.Secret) > 0 && len(cfg.Secret) < 16:
		return nil, fault.New(fault.Invalid, "the registry's secret has %d bytes: want at least 16", len(cfg.Secret))
	case cfg.Authorize == nil:
		return nil, fault.New(fault.Broken, "a registry that nobody guards")
	}
	if cfg.Kept == nil {
		cfg.Kept = func(error) {}
	}
	if cfg.MaxBlob == 0 {
		cfg.MaxBlob = 4 << 30
	}
	if err := prepare(cfg.Dir); err != nil {
		return nil, fault.Wrap(fault.Unavailable, disk.Say(err, cfg.Dir), "making the registry's folder %q", cfg.Dir)
	}
	logrus.SetOutput(io.Discard) // it logs each 404; what matters comes back as an answer
	g := &Registry{cfg: cfg, short: new(atomic.Int64)}
	if cfg.Elsewhere != nil {
		g.behind = newAway(g)
		g.app, g.end = g.behind, func() error { return nil }
		return g, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	app := handlers.NewApp(ctx, settings(cfg, g.short))
	g.app, g.end = app, func() error { defer cancel(); return app.Shutdown() }
	return g, nil
}

// prepare makes the folder, and removes what a killed process was writing.
func prepare(dir string) error {
	return effect.Do("registry.staging.make", func() error {
		if err := os.RemoveAll(filepath.Join(dir, staging)); err != nil {
			return err
		}
		return os.MkdirAll(filepath.Join(dir, staging), 0o700)
	})
}

// settings is the configuration of the registry behind. There is no cache of
// what exists: what is gone from the disk is gone from the next answer.
func settings(cfg Config, short *atomic.Int64) *configuration.Configuration {
	c := &configuration.Configuration{
		Version: "0.1",
		Storage: configuration.Storage{
			driverName: configuration.Parameters{"rootdirectory": cfg.Dir, "kept": cfg.Kept, "short": short},
			"maintenance": configuration.Parameters{"uploadpurging": map[any]any{
				"enabled": true, "age": "24h", "interval": "1h", "dryrun": false,
			}},
			"delete":   configuration.Parameters{"enabled": false},
			"redirect": configuration.Parameters{"disable": true},
		},
	}
	c.HTTP.Secret = hex.EncodeToString(cfg.Secret) // empty: it makes one for this process
	c.HTTP.RelativeURLs = true                     // no answer depends on the Host header
	return c
}

// Close ends what runs in the background. Requests must have ended before.
func (g *Registry) Close() error {
	if err := g.end(); err != nil {
		return fault.Wrap(fault.Unknown, err, "closing the registry")
	}
	return nil
}

// Try is nil where the registry could keep, now, as much as the last upload that
// it could not: it takes that much room, writes a little, and gives both back.
// Whoever was told that something was not kept learns from it, without anybody
// publishing, that what stood against it is gone.
func (g *Registry) Try(ctx context.Context) error {
	if g.behind != nil {
		return g.behind.try(ctx)
	}
	dir := filepath.Join(g.cfg.Dir, staging)
	if err := try(dir, max(g.short.Load(), tried)); err != nil {
		return fault.Wrap(fault.Unavailable, disk.Why(err, dir), "write in %q", dir)
	}
	return nil
}

// tried is how much is tried at least: what a small module publishes.
const tried = 1 << 20

func try(dir string, size int64) error {
	f, err := os.CreateTemp(dir, "try-")
	if err != nil {
		return err
	}
	err = syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		err = nil // this file system says of no room beforehand that it is there
	}
	if err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// Still runs f while no write is under way, and holds new ones back until it is
// done: what is unreferenced then stays so.
func (g *Registry) Still(f func() error) error {
	g.writes.Lock()
	defer g.writes.Unlock()
	return f()
}

// ServeHTTP answers what is asked by somebody who may ask it.
func (g *Registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	access, err := route(r)
	if err == nil {
		var ok bool
		access.User, access.Password, ok = r.BasicAuth()
		access.RequestID = r.Header.Get(oci.RequestHeader)
		if !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="mesh"`)
			answer(w, http.StatusUnauthorized, "UNAUTHORIZED", "who asks?")
			return
		}
		err = g.cfg.Authorize(r.Context(), access)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	if access.Referrers != "" {
		g.listReferrers(w, r, access)
		return
	}
	if !access.Write {
		if r.Method == http.MethodHead && access.RequestID != "" { // what it is told is there will not be pushed
			g.writes.RLock()
			defer g.writes.RUnlock()
		}
		g.app.ServeHTTP(w, r)
		return
	}
	if g.behind == nil && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/blobs/uploads/") {
		s := &statusWriter{ResponseWriter: w}
		w = s
		defer g.endUpload(s, r, access.Repository)
	}
	if r.ContentLength > g.cfg.MaxBlob {
		answer(w, http.StatusRequestEntityTooLarge, "SIZE_INVALID", "the blob is too big")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, g.cfg.MaxBlob)
	if strings.Contains(r.URL.Path, "/manifests/") {
		if w, err = readSubject(w, r); err != nil {
			refuse(w, err)
			return
		}
	}
	g.writes.RLock()
	defer g.writes.RUnlock()
	g.fresh.add(r)
	g.app.ServeHTTP(w, r)
}
