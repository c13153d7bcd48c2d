package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/loop"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/plan"
)

// outbox is what each node should be told, and when a push went out whose
// receipt has not come. It is memory only: a controller that starts again works
// it out again.
type outbox struct {
	mu    sync.Mutex // guards nodes
	nodes map[string]message
}

// message is one node's declaration, ready to send. Why says what stands
// against there being one.
type message struct {
	tuple    declaration.Tuple
	envelope *link.Envelope
	sent     time.Time
	why      string
}

func (o *outbox) of(node string) (message, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m, ok := o.nodes[node]
	return m, ok
}

// put keeps m, and the time of the push where it is still the same declaration.
// What is there and newer stays: m was worked out of an older look.
func (o *outbox) put(node string, m message) message {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch was := o.nodes[node]; {
	case was.tuple == m.tuple:
		m.sent = was.sent
	case m.tuple != declaration.Tuple{} && m.tuple.Before(was.tuple):
		return was
	}
	o.nodes[node] = m
	return m
}

func (o *outbox) pushed(node string, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m, ok := o.nodes[node]; ok {
		m.sent = at
		o.nodes[node] = m
	}
}

// received forgets the push: its receipt has come.
func (o *outbox) received(node string) { o.pushed(node, time.Time{}) }

func (o *outbox) forget(node string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.nodes, node)
}

// declareStep works out what one node should be and sends it where the node has
// accepted something else.
func (c *Controller) declareStep(ctx context.Context, id string) (loop.Result, error) {
	v, err := c.look(ctx)
	if err != nil {
		return loop.Result{}, err
	}
	n, err := v.node(id)
	if fault.KindOf(err) == fault.NotFound {
		c.outbox.forget(id)
		return loop.Result{}, nil
	}
	m, err := c.workOut(ctx, v, n)
	if errors.Is(err, errMoved) {
		return loop.Result{After: time.Millisecond}, nil
	}
	if err != nil {
		return loop.Result{}, err
	}
	now := clock.Now()
	switch {
	case !c.heard.has(id), n.HasRefused(m.tuple), now.Sub(n.LastSeen) > 2*c.cfg.Hello:
		return loop.Result{}, nil // a node that is away asks when it comes back
	case !inventory.Send(n, m.tuple, m.sent, now):
		return loop.Result{}, nil
	}
	if err := c.push(ctx, id, m); err != nil {
		return loop.Result{}, err
	}
	c.outbox.pushed(id, now)
	return loop.Result{After: inventory.Patience}, nil
}

// workOut is the node's declaration, issued in the ledger where it is new.
func (c *Controller) workOut(ctx context.Context, v *view, n inventory.Node) (message, error) {
	if why := v.recovering(); why != "" {
		return c.outbox.put(n.ID, message{tuple: n.Wanted, why: "nothing is declared: " + why}), nil
	}
	p := v.plan(n)
	if len(p.Held) > 0 {
		return c.outbox.put(n.ID, message{tuple: n.Wanted, why: p.Held[0].Module + " cannot be worked out: " + p.Held[0].Why}), nil
	}
	digest, err := wanted(n, p)
	if err != nil || digest == "" {
		return c.outbox.put(n.ID, message{}), err
	}
	tuple, err := c.issue(ctx, n, p, digest)
	if err != nil {
		return message{}, err
	}
	d := declaration.Declaration{
		Format: declaration.Format, Mesh: c.mesh, Node: n.ID, Name: n.Name,
		Epoch: tuple.Epoch, Generation: tuple.Generation, Body: p.Body, Where: p.Where,
	}
	envelope, err := link.Seal(c.keys.declare, link.TypeDeclaration, d)
	if err != nil {
		return message{}, err
	}
	return c.outbox.put(n.ID, message{tuple: tuple, envelope: &envelope}), nil
}

// errMoved is that a newer declaration was issued since the look that this one
// was worked out of: a place above it would take the node back to what was.
var errMoved = errors.New("a newer declaration has been issued meanwhile")

// issue gives the digest its place in the order, in the transaction that
// records it. What is already the newest keeps its place.
func (c *Controller) issue(ctx context.Context, n inventory.Node, p plan.Plan, digest document.Digest) (t declaration.Tuple, err error) {
	if n.Wanted.Digest == digest && n.Wanted.Epoch == c.db.Epoch() {
		return n.Wanted, nil
	}
	names := make([]string, 0, len(p.Body.Modules))
	for _, m := range p.Body.Modules {
		names = append(names, m.Module)
	}
	err = c.write(ctx, func(tx *db.Tx) error {
		is, err := inventorystore.Node(tx, n.ID)
		if err != nil {
			return err
		}
		if is.Wanted != n.Wanted {
			return errMoved
		}
		t, err = inventorystore.Issue(tx, inventorystore.Issuing{Node: n.ID, Digest: digest, Modules: names, At: clock.Now()})
		return err
	})
	return t, err
}

// push sends a declaration. That it arrived is known by the next hello alone.
func (c *Controller) push(ctx context.Context, node string, m message) error {
	if m.envelope == nil {
		return nil
	}
	subject, err := link.Subject(link.VerbDecl, node)
	if err != nil {
		return err
	}
	b, err := document.Canonical(m.envelope)
	if err != nil {
		return err
	}
	c.log.Info("declaration sent", "node", node, "epoch", m.tuple.Epoch, "generation", m.tuple.Generation)
	return c.bus.Publish(ctx, subject, b)
}
