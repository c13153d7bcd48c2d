package bus

import (
	"context"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// servedAtOnce is how many requests of one subject are answered side by side.
// Most wait for something (a commit, a build to hand out), so that it is more
// than cores and less than what memory is there for.
const servedAtOnce = 1024

// Waiting requests beyond these are dropped, and asked again by whoever needs
// the answer.
const (
	waitingMessages = 64 << 10
	waitingBytes    = 256 << 20
)

// Handler answers one request. Many run side by side; the context ends with the
// connection. An error is told to the other side, as text that decides nothing.
type Handler func(ctx context.Context, m Message) ([]byte, error)

// listener is a subscription and what runs because of it.
type listener struct {
	ended   chan struct{} // closed when no further message is handed out
	running errgroup.Group
}

// Serve answers the requests on subject, for as long as the connection lives;
// it outlives a reconnect.
func (c *Conn) Serve(subject string, handle Handler) error {
	return c.listen(subject, func(l *listener, m *nats.Msg) {
		l.running.Go(func() error {
			c.answer(m, handle)
			return nil
		})
	})
}

// Subscribe calls handle with each message on subject, one after another, for
// as long as the connection lives; it outlives a reconnect. The handler must
// not close the connection, which waits for it.
func (c *Conn) Subscribe(subject string, handle func(Message)) error {
	return c.listen(subject, func(_ *listener, m *nats.Msg) {
		message, err := read(m)
		if err != nil {
			c.logger.Warn("ignored a message", "why", err)
			return
		}
		handle(message)
	})
}

func (c *Conn) listen(subject string, handle func(*listener, *nats.Msg)) error {
	l := &listener{ended: make(chan struct{})}
	l.running.SetLimit(servedAtOnce)
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) {
		if c.life.Err() == nil {
			handle(l, m)
		}
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "listen on %q", subject)
	}
	sub.SetClosedHandler(func(string) { close(l.ended) })
	if err := sub.SetPendingLimits(waitingMessages, waitingBytes); err != nil {
		return fault.Wrap(fault.Unavailable, err, "listen on %q", subject)
	}
	c.mu.Lock()
	c.listening = append(c.listening, l)
	c.mu.Unlock()
	return nil
}

// wait ends when nothing of the listener runs any more. The connection is closed by then.
func (l *listener) wait() {
	<-l.ended
	_ = l.running.Wait() // no handler's failure comes this way
}

// answer handles one request. An answer that does not leave is not repaired
// here: whoever misses it asks again.
func (c *Conn) answer(m *nats.Msg, handle Handler) {
	reply := &nats.Msg{Subject: m.Reply}
	message, err := read(m)
	if err == nil {
		reply.Data, err = handle(c.life, message)
	}
	if err != nil {
		reply.Header = nats.Header{refusal: []string{line(err.Error())}}
		c.logger.Warn("refused a request", "subject", m.Subject, "why", err)
	}
	if m.Reply == "" {
		return
	}
	err = effect.Do("bus.answer.send", func() error { return c.nc.PublishMsg(reply) })
	if err != nil && c.life.Err() == nil {
		c.logger.Warn("an answer did not leave", "subject", m.Subject, "why", err)
	}
}
