package builder

import (
	"context"
	"sync"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// Link is the open connection to the mesh.
type Link interface {
	// Request sends data and gives the answer. Side by side from two goroutines.
	// Without an answer it is fault.Unavailable.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)
}

// How long a builder waits for each answer. Work is held open by the
// controller for about half a minute when there is none.
const (
	workWait    = 50 * time.Second
	receiptWait = 20 * time.Second
)

// messageLimits bound an envelope of the mesh: a build request, a key document
// and the answer around them, each in base64 inside the other.
func messageLimits() document.Limits { return document.Limits{Bytes: 6 << 20, Depth: 16} }

// caller speaks with the controller, and believes only what its declare keys signed.
type caller struct {
	link  Link
	me    identity
	state state

	mu   sync.Mutex // guards keys
	keys link.Keys
}

// grant is a request that this builder may work on, while its lease lasts.
type grant struct {
	request build.Request
	lease   time.Duration
}

// work asks for a request: nil where there is none at the moment.
func (c *caller) work(ctx context.Context, w link.Work) (*grant, error) {
	var answer link.WorkAnswer
	err := c.ask(ctx, question{link.VerbWork, link.TypeWork, w, link.TypeWorkAnswer, workWait}, &answer)
	if err != nil {
		return nil, err
	}
	switch {
	case answer.Format != link.Format:
		return nil, fault.New(fault.Invalid, "an answer to work of format %d, this program reads %d", answer.Format, link.Format)
	case answer.Mesh != c.me.Mesh || answer.Builder != c.me.Builder || answer.Counter != w.Counter:
		return nil, fault.New(fault.Denied, "an answer to work for builder %q of mesh %q and question %d, this is %q of %q and %d",
			answer.Builder, answer.Mesh, answer.Counter, c.me.Builder, c.me.Mesh, w.Counter)
	case answer.Request == nil:
		return nil, nil //nolint:nilnil // no work is no error
	}
	return c.grant(answer)
}

func (c *caller) grant(answer link.WorkAnswer) (*grant, error) {
	payload, err := answer.Request.Open(link.TypeBuildRequest, c.declare()...)
	if err != nil {
		return nil, fault.Add(err, "verify the build request")
	}
	request, err := decodeRequest(payload)
	if err != nil {
		return nil, err
	}
	if request.Mesh != c.me.Mesh {
		return nil, fault.New(fault.Denied, "a build request of mesh %q, this is %q", request.Mesh, c.me.Mesh)
	}
	if !requestPattern.MatchString(request.ID) { // it becomes a file's name here
		return nil, fault.New(fault.Invalid, "a build request with the id %q", request.ID)
	}
	if answer.Lease <= 0 {
		return nil, fault.New(fault.Invalid, "a build request with a lease of %d seconds", answer.Lease)
	}
	return &grant{request, time.Duration(answer.Lease) * time.Second}, nil
}

// working extends the lease and carries a part of the log.
func (c *caller) working(ctx context.Context, request string, offset int64, log string) (link.Receipt, error) {
	w := link.Working{Format: link.Format, Mesh: c.me.Mesh, Builder: c.me.Builder, Request: request, Offset: offset, Log: log}
	return c.receipt(ctx, request, question{link.VerbWorking, link.TypeWorking, w, link.TypeReceipt, receiptWait})
}

// answer sends an answer that is kept. The receipt means that it is committed.
func (c *caller) answer(ctx context.Context, k kept) error {
	return effect.Do("builder.answer.send", func() error {
		_, err := c.receipt(ctx, k.request, question{link.VerbAnswer, link.TypeBuildAnswer, k.answer, link.TypeReceipt, receiptWait})
		return err
	})
}

func (c *caller) receipt(ctx context.Context, request string, q question) (link.Receipt, error) {
	var r link.Receipt
	if err := c.ask(ctx, q, &r); err != nil {
		return r, err
	}
	switch {
	case r.Format != link.Format:
		return r, fault.New(fault.Invalid, "a receipt of format %d, this program reads %d", r.Format, link.Format)
	case r.Mesh != c.me.Mesh || r.To != c.me.Builder || r.For != request:
		return r, fault.New(fault.Denied, "a receipt for %q to %q of mesh %q, this is %q to %q of %q", r.For, r.To, r.Mesh, request, c.me.Builder, c.me.Mesh)
	}
	return r, nil
}

// question is one message and what its answer must be.
type question struct {
	verb   link.Verb
	sends  link.PayloadType
	what   any // an Envelope is sent as it is
	expect link.PayloadType
	wait   time.Duration
}

// ask sends a question and reads its signed answer into into.
func (c *caller) ask(ctx context.Context, q question, into any) error {
	envelope, ok := q.what.(link.Envelope)
	if !ok {
		var err error
		if envelope, err = link.Seal(c.me.key, q.sends, q.what); err != nil {
			return err
		}
	}
	data, err := document.Canonical(envelope)
	if err != nil {
		return err
	}
	subject, err := link.Subject(q.verb, c.me.Builder)
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(ctx, q.wait)
	defer done()
	reply, err := c.link.Request(ctx, subject, data)
	if err != nil {
		return err
	}
	payload, err := c.open(reply, q.expect)
	if err != nil {
		return fault.Add(err, "verify the answer to %q", q.verb)
	}
	return decodeInto(string(q.verb)+" answer", payload, into)
}

// decodeInto reads a payload strictly as one of the two answers that there are.
func decodeInto(name string, payload []byte, into any) (err error) {
	switch v := into.(type) {
	case *link.WorkAnswer:
		*v, err = document.Decode[link.WorkAnswer](name, payload, messageLimits())
	case *link.Receipt:
		*v, err = document.Decode[link.Receipt](name, payload, messageLimits())
	default:
		err = fault.New(fault.Broken, "no answer is a %T", into)
	}
	return err
}

// open verifies a reply. Where no key that is held signed it, it may bring the
// key document that names its own: the root decides.
func (c *caller) open(reply []byte, t link.PayloadType) ([]byte, error) {
	envelope, err := document.Decode[link.Envelope]("envelope", reply, messageLimits())
	if err != nil {
		return nil, err
	}
	payload, err := envelope.Open(t, c.declare()...)
	if err == nil {
		if t == link.TypeWorkAnswer {
			return payload, c.follow(payload)
		}
		return payload, nil
	}
	if t != link.TypeWorkAnswer || c.follow(envelope.Payload) != nil {
		return nil, err
	}
	return envelope.Open(t, c.declare()...)
}

// follow takes on the key document that a payload brings, if the root signed it
// and it is newer. The payload itself need not be believed for that.
func (c *caller) follow(payload []byte) error {
	answer, err := document.Decode[link.WorkAnswer]("work answer", payload, messageLimits())
	if err != nil || answer.Keys == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	keys, err := link.VerifyKeys(*answer.Keys, c.me.Root, c.keys)
	if err != nil || keys.Version == c.keys.Version {
		return err
	}
	if err := c.state.followKeys(*answer.Keys); err != nil {
		return err
	}
	c.keys = keys
	return nil
}

func (c *caller) declare() []link.PublicKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys.Declare
}
