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
	"noxmesh/internal/planted"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/plan"
	"noxmesh/status"
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
	envelope *link.Envelope // nil where the node has it, or there is none
	sent     time.Time
	why      string
	removal  *status.Removal // where that is how much it would remove
}

// answers reports whether the message is an answer to a node that has accepted this.
func (m message) answers(accepted declaration.Tuple) bool {
	return m.envelope != nil || m.why != "" || m.tuple == declaration.Tuple{} || m.tuple == accepted
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

// received forgets the push and what was pushed: its receipt has come.
func (o *outbox) received(node string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m, ok := o.nodes[node]; ok {
		m.sent, m.envelope = time.Time{}, nil
		o.nodes[node] = m
	}
}

func (o *outbox) forget(node string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.nodes, node)
}

// looked is one node as the record holds it, and what it should be.
type looked struct {
	node       inventory.Node
	recovering string     // why nothing is declared at all
	short      *workedOut // nil while recovering
	plan       plan.Plan  // where the node has to be told something
	notes      notes      // what to record of why something is not worked out
}

// lookAt looks at one node, whose id this is.
func (c *Controller) lookAt(ctx context.Context, id string) (l looked, err error) {
	err = c.with(ctx, func(v *view) error {
		n := v.nodes[id]
		if n == nil {
			return fault.New(fault.NotFound, "there is no node with the id %q", id)
		}
		l.node, l.recovering = n.Node, v.recovering()
		if l.recovering != "" {
			return nil
		}
		if l.short, err = v.inShort(n); err == nil && !c.has(l) {
			l.plan, l.short, err = v.inFull(n)
		}
		if err == nil {
			l.notes = notesOf(n, l.short)
		}
		return err
	})
	return l, err
}

// has reports whether the node has accepted just what would be declared to it,
// so that there is nothing to tell it.
func (c *Controller) has(l looked) bool {
	n := l.node
	return n.Accepted == n.Wanted && c.stands(l)
}

// stands reports whether what was issued last is what is wanted, in this epoch.
func (c *Controller) stands(l looked) bool {
	digest := l.short.of(l.node)
	return digest != "" && l.node.Wanted.Digest == digest && l.node.Wanted.Epoch == c.db.Epoch()
}

// declareStep works out what one node should be and sends it where the node has
// accepted something else.
func (c *Controller) declareStep(ctx context.Context, id string) (loop.Result, error) {
	l, err := c.lookAt(ctx, id)
	if fault.KindOf(err) == fault.NotFound {
		c.outbox.forget(id)
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, err
	}
	if err := c.keep(ctx, l.notes); err != nil {
		return loop.Result{}, err
	}
	m, err := c.workOut(ctx, l)
	if errors.Is(err, errMoved) {
		return loop.Result{After: time.Millisecond}, nil
	}
	if err != nil {
		return loop.Result{}, err
	}
	now := clock.Now()
	switch n := l.node; {
	case !c.heard.has(id), n.HasRefused(m.tuple), now.Sub(n.LastSeen) > 2*c.cfg.Hello:
		return loop.Result{}, nil // a node that is away asks when it comes back
	case !inventory.Send(n, m.tuple, m.sent, now):
		return loop.Result{}, nil
	}
	if err := c.push(ctx, id, m); err != nil {
		return loop.Result{}, err
	}
	if planted.Is("sent recorded before its receipt") {
		return loop.Result{}, c.write(ctx, func(tx *db.Tx) error { return inventorystore.SaveSent(tx, id, m.tuple, clock.Now()) })
	}
	c.outbox.pushed(id, now)
	return loop.Result{After: inventory.Patience}, nil
}

// workOut is the node's declaration, issued in the ledger where it is new.
func (c *Controller) workOut(ctx context.Context, l looked) (message, error) {
	n := l.node
	switch {
	case l.recovering != "":
		return c.outbox.put(n.ID, message{tuple: n.Wanted, why: "nothing is declared: " + l.recovering}), nil
	case n.Twins != "":
		return c.outbox.put(n.ID, message{tuple: n.Wanted, why: n.Twins}), nil
	case len(l.short.held) > 0:
		held := l.short.held[0]
		return c.outbox.put(n.ID, message{tuple: n.Wanted, why: held.Module + " cannot be worked out: " + held.Why}), nil
	case l.short.of(n) == "":
		return c.outbox.put(n.ID, message{}), nil
	case c.has(l):
		return c.outbox.put(n.ID, message{tuple: n.Wanted}), nil
	}
	if r := heldBack(n, removalOf(n, l.plan, l.short.of(n)), l.short.digest); r != nil {
		return c.outbox.put(n.ID, message{tuple: n.Wanted, why: r.Words(), removal: r}), nil
	}
	tuple, err := c.issue(ctx, l)
	if err != nil {
		return message{}, err
	}
	d := declaration.Declaration{
		Format: declaration.Format, Mesh: c.mesh, Node: n.ID, Name: n.Name,
		Epoch: tuple.Epoch, Generation: tuple.Generation, Body: l.plan.Body, Where: l.plan.Where,
	}
	envelope, err := link.Seal(c.keys.declare, link.TypeDeclaration, d)
	if err != nil {
		return message{}, err
	}
	return c.outbox.put(n.ID, message{tuple: tuple, envelope: &envelope}), nil
}

// errMoved is that a newer declaration was issued since the look that this one
// was worked out of: a place above it would take the node back to what was.
var errMoved = fault.New(fault.Conflict, "a newer declaration has been issued meanwhile")

// issue gives the digest its place in the order, in the transaction that
// records it. What is already the newest keeps its place.
func (c *Controller) issue(ctx context.Context, l looked) (t declaration.Tuple, err error) {
	n := l.node
	if c.stands(l) {
		return n.Wanted, nil
	}
	names, contents := make([]string, 0, len(l.plan.Body.Modules)), make(map[string]document.Digest, len(l.plan.Body.Modules))
	for _, m := range l.plan.Body.Modules {
		names, contents[m.Module] = append(names, m.Module), m.Content
	}
	files, err := secretFiles(l.plan)
	if err != nil {
		return t, err
	}
	err = c.small.write(ctx, func(tx *db.Tx) error {
		is, there, err := inventorystore.Unread(tx, n.ID)
		if err != nil {
			return err
		}
		if !there || is.Wanted != n.Wanted {
			return errMoved
		}
		t, err = inventorystore.Issue(tx, inventorystore.Issuing{Node: n.ID, Digest: l.short.digest, Modules: names, Contents: contents, Secrets: files, At: clock.Now()})
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
