package broker

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"

	"noxmesh/internal/bus"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// LameDuck is how long a broker with a fleet takes to let its clients go: ten
// thousand come back at about a thousand handshakes a second.
const LameDuck = 30 * time.Second

const (
	startLimit = 10 * time.Second
	startLook  = 100 * time.Millisecond
	// In a storm a handshake waits for those before it.
	handshakeLimit = 15 * time.Second
	loginLimit     = 30 * time.Second
	// A client that does not read is cut when this much waits for it.
	pendingLimit    = 4 * payloadLimit
	connectionLimit = 20_000
	pingEvery       = 30 * time.Second
)

// Config is how a broker is started.
type Config struct {
	Listen   string          // address:port; port 0 for any
	Host     string          // the name or address that clients dial; empty for Listen's
	TLS      tls.Certificate // of the mesh's CA, for Host
	Keys     Keys            // see NewKeys
	Revoked  []Revoked       // every key that was ever revoked: the broker remembers nothing
	LameDuck time.Duration   // how long Close lets clients go; zero to cut them at once
	Logger   *slog.Logger    // nil for none
}

// Revoked is a user's key that never gets in again.
type Revoked struct {
	Side   link.Side
	Public string
}

// Broker is a running broker.
type Broker struct {
	config  Config
	server  *server.Server
	resolve *server.MemAccResolver

	mu      sync.Mutex // guards revoked
	revoked map[link.Side]map[string]bool
}

// Start runs a broker, and returns when clients can dial it.
func Start(c Config) (*Broker, error) {
	host, port, err := listen(c.Listen)
	if err != nil {
		return nil, err
	}
	if c.Keys.Zero() {
		return nil, fault.New(fault.Invalid, "start the broker: no keys are given")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Broker{config: c, resolve: &server.MemAccResolver{}, revoked: map[link.Side]map[string]bool{}}
	for _, r := range c.Revoked {
		if err := b.note(r.Side, r.Public); err != nil {
			return nil, err
		}
	}
	for _, side := range accounts() {
		if _, err := b.store(side); err != nil {
			return nil, err
		}
	}
	o, err := b.options(host, port)
	if err != nil {
		return nil, err
	}
	if b.server, err = server.NewServer(o); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "start the broker")
	}
	err = effect.Do("broker.server.start", b.start)
	if err != nil {
		b.stop()
		return nil, fault.Wrap(cmp.Or(fault.KindOf(err), fault.Unavailable), err, "start the broker at %q", c.Listen)
	}
	return b, nil
}

func (b *Broker) start() error {
	fatal := make(chan string, 1)
	b.server.SetLoggerV2(&logger{b.config.Logger, fatal}, false, false, false)
	b.server.Start()
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); {
		if b.server.ReadyForConnections(startLook) {
			return nil
		}
		select {
		case why := <-fatal:
			return fault.New(fault.Unavailable, "%s", why)
		default:
		}
	}
	return fault.New(fault.Unavailable, "not ready within %s", startLimit)
}

// options are everything that is open, and everything that is not.
func (b *Broker) options(host string, port int) (*server.Options, error) {
	operator, err := b.config.Keys.operator()
	if err != nil {
		return nil, err
	}
	return &server.Options{
		ServerName:             "mesh",
		Host:                   host,
		Port:                   port,
		NoSigs:                 true, // the program's signals are the program's
		TLS:                    true,
		TLSConfig:              &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{b.config.TLS}},
		TLSHandshakeFirst:      true,
		TLSTimeout:             handshakeLimit.Seconds(),
		AuthTimeout:            loginLimit.Seconds(),
		TrustedOperators:       []*jwt.OperatorClaims{operator},
		SystemAccount:          operator.SystemAccount,
		AccountResolver:        b.resolve,
		MaxPayload:             payloadLimit,
		MaxPending:             pendingLimit,
		MaxConn:                connectionLimit,
		PingInterval:           pingEvery,
		LameDuckDuration:       b.config.LameDuck,
		DisableJetStreamBanner: true,
	}, nil
}

// UserJWT is Keys.UserJWT with this broker's keys.
func (b *Broker) UserJWT(side link.Side, id, public string) (string, error) {
	return b.config.Keys.UserJWT(side, id, public)
}

// Revoke cuts the user with this key, at once, and never lets it in again. The
// record must have it before: a broker that starts anew knows only what it is
// given.
func (b *Broker) Revoke(side link.Side, public string) error {
	if err := b.note(side, public); err != nil {
		return err
	}
	err := effect.Do("broker.user.revoke", func() error {
		claims, err := b.store(side)
		if err != nil {
			return err
		}
		account, err := b.server.LookupAccount(claims.Subject)
		if err != nil {
			return err
		}
		b.server.UpdateAccountClaims(account, claims)
		return nil
	})
	if err != nil {
		return fault.Wrap(fault.Broken, err, "revoke the broker user %q", public)
	}
	return nil
}

// InProcess is the controller's own connection: the mesh's one user, with a key
// that lives as long as this call's result.
func (b *Broker) InProcess(ctx context.Context) (*bus.Conn, error) {
	seed, public, err := bus.NewUserSeed()
	if err != nil {
		return nil, err
	}
	token, err := b.config.Keys.userJWT(link.Mesh, controllerID, public)
	if err != nil {
		return nil, err
	}
	return bus.Dial(ctx, bus.Config{
		NatsSeed: seed, JWT: token, ID: controllerID, Name: controllerID,
		InProcess: b.server, Logger: b.config.Logger,
	})
}

// Addr is the address that the broker listens on.
func (b *Broker) Addr() string { return b.server.Addr().String() }

// URL is what clients dial.
func (b *Broker) URL() string {
	host, port, err := net.SplitHostPort(b.Addr())
	if err != nil {
		return ""
	}
	if b.config.Host != "" {
		host = b.config.Host
	}
	return "tls://" + net.JoinHostPort(host, port)
}

// Close lets the clients go, spread over the configured time, and stops. When
// ctx ends first they are cut.
func (b *Broker) Close(ctx context.Context) {
	if b.config.LameDuck > 0 {
		stop := context.AfterFunc(ctx, b.server.Shutdown)
		b.server.LameDuckShutdown()
		stop()
	}
	b.stop()
}

func (b *Broker) stop() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

func (b *Broker) note(side link.Side, public string) error {
	if side != link.Nodes && side != link.Builders {
		return fault.New(fault.Invalid, "no user of the broker's account %q can be revoked", string(side))
	}
	if !bus.ValidPublic(public) {
		return fault.New(fault.Invalid, "%q is not the public half of a broker user's key", public)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.revoked[side] == nil {
		b.revoked[side] = map[string]bool{}
	}
	b.revoked[side][public] = true
	return nil
}

// store makes the account anew, signs it and keeps it where the server looks it up.
func (b *Broker) store(side link.Side) (*jwt.AccountClaims, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	claims, err := b.config.Keys.account(side, b.revoked[side])
	if err != nil {
		return nil, err
	}
	token, err := b.config.Keys.sign(claims)
	if err != nil {
		return nil, err
	}
	if err := b.resolve.Store(claims.Subject, token); err != nil {
		return nil, fault.Wrap(fault.Broken, err, "keep the broker's account %q", string(side))
	}
	return claims, nil
}

func listen(address string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fault.Wrap(fault.Invalid, err, "start the broker: %q is not an address with a port", address)
	}
	port, err = strconv.Atoi(p)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fault.New(fault.Invalid, "start the broker: %q has no port", address)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}
