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

// caller speaks with the controller, and believes only what its declare keys signed.
type caller struct {
	link  Link
	me    member
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
	payload, err := c.ask(ctx, question{link.VerbWork, link.TypeWork, w, link.TypeWorkAnswer, workWait})
	if err != nil {
		return nil, err
	}
	answer, err := link.DecodeWorkAnswer(payload)
	switch {
	case err != nil:
		return nil, err
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
	request, err := build.DecodeRequest(payload)
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

// working extends the lease, and carries a part of the log and where the build is.
func (c *caller) working(ctx context.Context, w link.Working) (link.Receipt, error) {
	w.Format, w.Mesh, w.Builder = link.Format, c.me.Mesh, c.me.Builder
	return c.receipt(ctx, w.Request, question{link.VerbWorking, link.TypeWorking, w, link.TypeReceipt, receiptWait})
}

// answer sends an answer that is kept. The receipt means that it is committed,
// or, where it says why, that it never will be.
func (c *caller) answer(ctx context.Context, k kept) (r link.Receipt, err error) {
	err = effect.Do("builder.answer.send", func() error {
		r, err = c.receipt(ctx, k.request, question{link.VerbAnswer, link.TypeBuildAnswer, k.answer, link.TypeReceipt, receiptWait})
		return err
	})
	if err != nil {
		return r, fault.Add(err, "bring the answer to request %q", k.request)
	}
	return r, nil
}

func (c *caller) receipt(ctx context.Context, request string, q question) (link.Receipt, error) {
	payload, err := c.ask(ctx, q)
	if err != nil {
		return link.Receipt{}, err
	}
	r, err := link.DecodeReceipt(payload)
	switch {
	case err != nil:
		return r, err
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

// ask sends a question and gives what the mesh signed in answer.
func (c *caller) ask(ctx context.Context, q question) ([]byte, error) {
	envelope, ok := q.what.(link.Envelope)
	if !ok {
		var err error
		if envelope, err = link.Seal(c.me.key, q.sends, q.what); err != nil {
			return nil, err
		}
	}
	data, err := document.Canonical(envelope)
	if err != nil {
		return nil, err
	}
	subject, err := link.Subject(q.verb, c.me.Builder)
	if err != nil {
		return nil, err
	}
	ctx, done := context.WithTimeout(ctx, q.wait)
	defer done()
	reply, err := c.link.Request(ctx, subject, data)
	if err != nil {
		return nil, err
	}
	payload, err := c.open(reply, q.expect)
	if err != nil {
		return nil, fault.Add(err, "verify the answer to %q", q.verb)
	}
	return payload, nil
}

// open verifies a reply. Where no key that is held signed it, it may bring the
// key document that names its own: the root decides.
func (c *caller) open(reply []byte, t link.PayloadType) ([]byte, error) {
	envelope, err := link.DecodeEnvelope(reply)
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
	answer, err := link.DecodeWorkAnswer(payload)
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
