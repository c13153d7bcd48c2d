package controller

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"path/filepath"

	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/bus/broker"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/elsewhere"
	"noxmesh/internal/oci/registry"
	"noxmesh/internal/oci/remote"
)

// edges is what a controller has opened itself, to be put down in order.
type edges struct {
	record   *db.DB
	broker   *broker.Broker
	bus      *bus.Conn
	registry *registry.Registry

	elsewhere *elsewhere.Client // what keeps what is published, where the registry's own folder does not
	images    *remote.Client    // other people's registries
	own       identity.Secret   // to read the registry with, and for nobody else
	listener  net.Listener      // the API, the registry and joining, over TLS
	socket    net.Listener      // the API, for people on this machine
}

// openRim opens git, the registry and the broker.
func (c *Controller) openRim(ctx context.Context) (rim Rim, err error) {
	forge, err := git.New(git.Config{
		Home: filepath.Join(c.cfg.Dir, "git"), Allow: c.allow(), SSH: git.SSH{Key: c.cfg.SSHKey, KnownHosts: c.cfg.KnownHosts},
	})
	if err != nil {
		return rim, err
	}
	certificate, err := c.keys.certificate(c.cfg.Names, clock.Now())
	if err != nil {
		return rim, err
	}
	e := &c.edges
	if e.listener, err = tls.Listen("tcp", c.cfg.Listen, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}); err != nil {
		return rim, fault.Wrap(fault.Unavailable, err, "listen for the API").With("is another program, or another controller, there?")
	}
	if err = c.openRegistry(); err != nil { //nolint:contextcheck // it lives until close, not until ctx ends
		return rim, err
	}
	revoked, err := c.revoked(ctx)
	if err != nil {
		return rim, err
	}
	e.broker, err = broker.Start(broker.Config{
		Listen: c.cfg.Broker, Host: c.cfg.Names[0], TLS: certificate, Keys: c.keys.broker, Revoked: revoked,
		LameDuck: c.cfg.LameDuck, Logger: c.log,
	})
	if err != nil {
		return rim, err
	}
	if e.bus, err = e.broker.InProcess(ctx); err != nil {
		return rim, err
	}
	e.images = remote.New(remote.Config{PlainHosts: c.cfg.HTTPHosts})
	api := c.apiURL()
	pull, err := c.ownRegistry(api)
	if err != nil {
		return rim, err
	}
	return Rim{
		Record: e.record, Forge: forge, Bus: e.bus, Registry: pull, Members: e.broker, Images: e.images,
		At: Addresses{API: api, Broker: e.broker.URL(), Registry: api},
	}, nil
}

// openRegistry opens the registry. Where another's keeps what is published, that is
// noted in a folder of its own, and it is asked once everything runs: it is no reason
// not to start that it does not answer.
func (c *Controller) openRegistry() (err error) {
	e := &c.edges
	config := registry.Config{Dir: filepath.Join(c.cfg.Dir, "registry"), Secret: c.keys.declare.Seed(), Authorize: c.authorize, Kept: c.shelve}
	if c.cfg.Registry != "" {
		if e.elsewhere, err = elsewhere.New(elsewhere.Config{URL: c.cfg.Registry, Login: c.cfg.Login}); err != nil {
			return err
		}
		config.Elsewhere = e.elsewhere
		config.Dir = filepath.Join(c.cfg.Dir, "registry-elsewhere", url.PathEscape(e.elsewhere.Name()))
	}
	e.registry, err = registry.New(config)
	return err
}

// ownRegistry reads the registry as everybody does, with a credential that
// lives as long as this process.
func (c *Controller) ownRegistry(base string) (*oci.Client, error) {
	config, err := identity.ClientTLS(c.keys.ca.PEM())
	if err != nil {
		return nil, err
	}
	c.edges.own = identity.NewSecret()
	return oci.New(oci.Config{Base: base, TLS: config, User: ownUser, Secret: oci.Secret(c.edges.own.Reveal())})
}

// ownUser is the controller's name in its registry; no id has this form.
const ownUser = "controller"

// apiURL is where nodes and people reach the API and the registry.
func (c *Controller) apiURL() string {
	_, port, err := net.SplitHostPort(c.edges.listener.Addr().String())
	if err != nil {
		return ""
	}
	u := url.URL{Scheme: "https", Host: net.JoinHostPort(c.cfg.Names[0], port)}
	return u.String()
}

// close puts everything down, in the order in which nothing is missed: clients
// of the broker are let go before what answers them is closed.
func (c *Controller) close(ctx context.Context) {
	e := c.edges
	for _, l := range []net.Listener{e.listener, e.socket} {
		if l != nil {
			_ = l.Close() // it may be closed already
		}
	}
	if e.broker != nil {
		e.broker.Close(context.WithoutCancel(ctx))
	}
	if e.bus != nil {
		e.bus.Close()
	}
	if e.images != nil {
		e.images.Close()
	}
	if e.registry != nil {
		if err := e.registry.Close(); err != nil {
			c.log.Error("the registry was not closed", "error", err)
		}
	}
	if e.elsewhere != nil {
		e.elsewhere.Close()
	}
	if e.record != nil {
		if err := e.record.Close(); err != nil {
			c.log.Error("the record was not closed", "error", err)
		}
	}
}
