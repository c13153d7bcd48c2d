package bus

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

var (
	errLost = errors.New("the connection to the broker was lost")
	errYet  = errors.New("not connected yet")
)

// Conn is one user's connection, for as long as the program runs.
type Conn struct {
	nc      *nats.Conn
	logger  *slog.Logger
	changed chan struct{} // capacity 1: one look is enough for any number of connects
	closed  chan struct{}
	life    context.Context //nolint:containedctx // what handlers run under
	end     context.CancelFunc

	mu        sync.Mutex         // guards what follows
	session   context.Context    //nolint:containedctx // ends when the broker is gone
	lose      context.CancelFunc // ends session: the broker is gone
	why       error              // why there is no connection, or nil
	listening []*listener
}

// Dial opens the connection. A broker that does not answer is no error: the
// connection comes when the broker does, and Changed says so. Only a
// configuration that can never work is refused. The context bounds Dial alone.
func Dial(ctx context.Context, c Config) (*Conn, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	conn := &Conn{logger: c.Logger, changed: make(chan struct{}, 1), closed: make(chan struct{}), why: errYet}
	conn.life, conn.end = context.WithCancel(context.WithoutCancel(ctx))
	conn.session, conn.lose = context.WithCancel(conn.life)
	conn.lose()
	stop := context.AfterFunc(ctx, conn.end)
	defer stop()
	options, err := c.options(&dialer{conn.life})
	if err != nil {
		conn.end()
		return nil, err
	}
	options = append(options,
		nats.ConnectHandler(conn.connected), nats.ReconnectHandler(conn.connected),
		nats.DisconnectErrHandler(conn.disconnected), nats.ReconnectErrHandler(conn.failed),
		nats.ErrorHandler(conn.complained), nats.ClosedHandler(func(*nats.Conn) { close(conn.closed) }))
	err = effect.Do("bus.connection.open", func() error {
		conn.nc, err = nats.Connect(c.address(), options...)
		return err
	})
	if err != nil {
		conn.end()
		return nil, fault.Wrap(fault.Unavailable, err, "connect to the broker at %q", c.address())
	}
	if err := ctx.Err(); err != nil {
		conn.Close()
		return nil, fault.Wrap(fault.Unavailable, err, "connect to the broker at %q", c.address())
	}
	return conn, nil
}

// Connected reports whether the broker is there.
func (c *Conn) Connected() bool { return c.nc.IsConnected() }

// Why is what stands against a connection, or nil while there is one.
func (c *Conn) Why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// Changed is sent to after every connect, the first included. It holds one: a
// reader that was busy looks once. There is one reader.
func (c *Conn) Changed() <-chan struct{} { return c.changed }

// Close ends the connection, waits for the handlers that still run and frees
// everything. It may be called again.
func (c *Conn) Close() {
	c.end()
	c.nc.Close()
	<-c.closed
	c.mu.Lock()
	listening := c.listening
	c.mu.Unlock()
	for _, l := range listening {
		l.wait()
	}
}

func (c *Conn) connected(nc *nats.Conn) {
	c.mu.Lock()
	c.lose()
	c.session, c.lose = context.WithCancel(c.life)
	c.why = nil
	c.mu.Unlock()
	c.logger.Info("connected to the broker", "broker", nc.ConnectedAddr())
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *Conn) disconnected(_ *nats.Conn, err error) {
	if err == nil {
		err = errLost
	}
	c.mu.Lock()
	c.lose()
	c.why = err
	c.mu.Unlock()
	if c.life.Err() == nil {
		c.logger.Warn("lost the broker", "why", err)
	}
}

func (c *Conn) failed(_ *nats.Conn, err error) {
	c.mu.Lock()
	before := c.why
	c.why = err
	c.mu.Unlock()
	level := slog.LevelDebug // the same reason again says nothing new
	if before == nil || before.Error() != err.Error() {
		level = slog.LevelWarn
	}
	c.logger.Log(c.life, level, "cannot reach the broker", "why", err)
}

// complained hears what the broker refuses and the library drops: nobody waits
// for these errors, so they are shown.
func (c *Conn) complained(_ *nats.Conn, sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	c.logger.Error("the broker complains", "why", err, "subject", subject)
}

// current is the session that stands, already done where there is none.
func (c *Conn) current() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}
