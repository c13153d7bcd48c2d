package bus

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"

	mesh "noxmesh"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

const (
	// A broker that restarts meets everybody at once: they come back spread over this time.
	reconnectMin = 500 * time.Millisecond
	reconnectMax = 5 * time.Second
	// A thousand handshakes a second is what two cores do; in a storm one may wait this long.
	dialLimit = 15 * time.Second
	// Two pings without an answer and the connection is given up: a dead link is known within a minute.
	pingEvery = 20 * time.Second
	pingsLost = 2
	// What bounds a call whose context has no deadline.
	answerLimit = 30 * time.Second
)

// InProcess is a broker in this very process.
type InProcess interface {
	// InProcessConn is a new connection to it, once per login.
	InProcessConn() (net.Conn, error)
}

// Config is one user's way to the broker.
type Config struct {
	URL       string       // tls://host:port
	CAPEM     []byte       // the mesh's own CA; nothing else is trusted
	NatsSeed  Seed         // proves the user
	JWT       string       // what the mesh lets this user do
	ID        string       // the node's or builder's id: the name in the JWT
	Name      string       // of the connection, for whoever looks at the broker
	InProcess InProcess    // instead of URL and CAPEM
	Logger    *slog.Logger // nil for none
}

func (c Config) check() error {
	if !mesh.ValidID(c.ID) {
		return fault.New(fault.Invalid, "broker: %q is not an id", c.ID)
	}
	if _, err := c.NatsSeed.Public(); err != nil {
		return fault.Add(err, "broker")
	}
	if c.JWT == "" {
		return fault.New(fault.Invalid, "broker: no permission (JWT) is given")
	}
	if c.InProcess != nil {
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "tls" || u.Port() == "" || u.User != nil {
		return fault.New(fault.Invalid, "broker: %q is not an address: want tls://host:port", c.URL)
	}
	return nil
}

// address is what the client library dials; in process it would read a wish for
// TLS out of one.
func (c Config) address() string {
	if c.InProcess != nil {
		return nats.DefaultURL
	}
	return c.URL
}

// options are those of the client library, with everything on which this
// package's promises rest.
func (c Config) options(dial *dialer) ([]nats.Option, error) {
	o := []nats.Option{
		nats.Name(c.Name),
		nats.UserJWT(func() (string, error) { return c.JWT, nil }, c.NatsSeed.sign),
		nats.CustomInboxPrefix(link.Inbox(c.ID)),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(), // a refusal today is no reason to be deaf tomorrow
		nats.IgnoreDiscoveredServers(),
		nats.CustomReconnectDelay(func(int) time.Duration {
			return reconnectMin + rand.N(reconnectMax-reconnectMin)
		}),
		nats.ReconnectBufSize(-1), // nothing is kept to be sent later
		nats.Timeout(dialLimit),
		nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(pingsLost),
	}
	if c.InProcess != nil {
		return append(o, nats.InProcessServer(c.InProcess)), nil
	}
	config, err := link.ClientTLS(c.CAPEM)
	if err != nil {
		return nil, err
	}
	return append(o, nats.Secure(config), nats.TLSHandshakeFirst(), minimumTLS, nats.SetCustomDialer(dial)), nil
}

// minimumTLS stands after nats.Secure, which would keep any configuration: no
// caller can weaken it.
func minimumTLS(o *nats.Options) error {
	o.TLSConfig.MinVersion = tls.VersionTLS13
	return nil
}

// dialer ends its attempts with the connection's life.
type dialer struct{ life context.Context } //nolint:containedctx // the library's interface has no context

func (d *dialer) Dial(network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: dialLimit}).DialContext(d.life, network, address)
}
