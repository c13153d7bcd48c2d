package bus

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// refusal is the header of an answer that is none: the text says why. It is
// not signed, so that it is shown and decides nothing.
const refusal = "Mesh-Refused"

// Message is what arrived. Verb and From are what its subject proves; Data has
// not been looked at.
type Message struct {
	Subject string
	Verb    link.Verb
	From    string // the id in the subject: for a push, the receiver's own
	Data    []byte
}

// Request sends data and waits for the answer, until the context's deadline and
// at most as long as the connection lives. Without an answer it is
// fault.Unavailable, and whether the request arrived is not known.
func (c *Conn) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	session := c.current()
	if !c.Connected() || session.Err() != nil {
		return nil, c.absent(subject)
	}
	ctx, cancel := bound(ctx)
	defer cancel()
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	defer context.AfterFunc(session, func() { lost(errLost) })() //nolint:contextcheck // two contexts end one wait
	var answer *nats.Msg
	err := effect.Do("bus.request.send", func() (err error) {
		answer, err = c.nc.RequestWithContext(ctx, subject, data)
		return err
	})
	if err != nil {
		return nil, c.wrap(ctx, err, subject, "ask")
	}
	if why := answer.Header.Get(refusal); why != "" {
		return nil, fault.New(fault.Unavailable, "ask on %q: the mesh answered: %s", subject, why)
	}
	return answer.Data, nil
}

// Publish sends data, and returns nil only when the broker has it. That says
// nothing of whether anybody listens.
func (c *Conn) Publish(ctx context.Context, subject string, data []byte) error {
	if !c.Connected() {
		return c.absent(subject)
	}
	ctx, cancel := bound(ctx)
	defer cancel()
	err := effect.Do("bus.message.publish", func() error {
		before := c.nc.Stats().Reconnects
		if err := c.nc.Publish(subject, data); err != nil {
			return err
		}
		if err := c.nc.FlushWithContext(ctx); err != nil {
			return err
		}
		// The answer to the flush may be another connection's than the one that the message went into.
		if c.nc.Stats().Reconnects != before {
			return errLost
		}
		return nil
	})
	if err != nil {
		return c.wrap(ctx, err, subject, "publish")
	}
	return nil
}

func read(m *nats.Msg) (Message, error) {
	verb, from, err := link.From(m.Subject)
	if err != nil {
		return Message{}, err
	}
	return Message{m.Subject, verb, from, m.Data}, nil
}

func (c *Conn) absent(subject string) error {
	why := c.Why()
	if why == nil {
		why = errLost
	}
	return fault.Wrap(fault.Unavailable, why, "send on %q: no connection to the broker", subject)
}

func (c *Conn) wrap(ctx context.Context, err error, subject, doing string) error {
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return fault.New(fault.Invalid, "%s on %q: larger than the %d bytes that the broker takes", doing, subject, c.nc.MaxPayload())
	case errors.Is(err, nats.ErrBadSubject):
		return fault.Wrap(fault.Broken, err, "%s on %q", doing, subject)
	case errors.Is(err, nats.ErrNoResponders):
		return fault.New(fault.Unavailable, "%s on %q: nobody answers there", doing, subject)
	case ctx.Err() != nil:
		return fault.Wrap(fault.Unavailable, context.Cause(ctx), "%s on %q", doing, subject)
	}
	return fault.Wrap(fault.Unavailable, err, "%s on %q", doing, subject)
}

func bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, answerLimit)
}

// line is text as a header can carry it.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if len(text) > 1024 {
		text = text[:1024]
	}
	return strings.ToValidUTF8(text, "")
}
