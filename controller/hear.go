package controller

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/bus"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/planted"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/report"
)

// open verifies that the node whose subject this is signed the message.
func (c *Controller) open(ctx context.Context, m bus.Message, t link.PayloadType) (inventory.Node, []byte, error) {
	n, err := c.nodeNow(ctx, m.From)
	if err != nil {
		return n, nil, err
	}
	if n.ID != m.From {
		return n, nil, fault.New(fault.Denied, "a message on the subject of %q, which is no node's id", m.From)
	}
	envelope, err := link.DecodeEnvelope(m.Data)
	if err != nil {
		return n, nil, err
	}
	payload, err := envelope.Open(t, n.Sign)
	return n, payload, err
}

// nodeNow is the node with this id or name, as the record has it now.
func (c *Controller) nodeNow(ctx context.Context, name string) (n inventory.Node, err error) {
	err = c.with(ctx, func(v *view) error {
		is, err := v.node(name)
		if err == nil {
			n = is.Node
		}
		return err
	})
	return n, err
}

// hello hears a host's sign of life and answers it: current, or the declaration.
func (c *Controller) hello(ctx context.Context, m bus.Message) ([]byte, error) {
	now := clock.Now()
	if err := c.conduct.may(m.From, link.VerbHello, now); err != nil {
		return nil, err
	}
	n, payload, err := c.open(ctx, m, link.TypeHello)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	h, err := link.DecodeHello(payload)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	if h.Node != n.ID || h.Mesh != c.mesh {
		return nil, c.refuse(m, fault.New(fault.Denied, "a hello of node %q in mesh %q", h.Node, h.Mesh))
	}
	twins := c.conduct.hello(n.ID, h, n.Counter, document.Sum(payload), now)
	if err := c.quarantine(ctx, &n, twins); err != nil {
		return nil, err
	}
	err = c.hear(ctx, &n, h, now)
	if errors.Is(err, errHeard) {
		return c.seal(link.TypeHelloAnswer, link.HelloAnswer{
			Format: link.Format, Mesh: c.mesh, Node: n.ID, Counter: h.Counter, After: n.Counter, At: now.UnixMilli(),
			Why: fmt.Sprintf("hello %d is not newer than %d, which has been heard", h.Counter, n.Counter),
		})
	}
	if err != nil {
		return nil, err
	}
	c.heard.add(h, now)
	answer, err := c.answerHello(ctx, n, h, now)
	if err != nil {
		return nil, err
	}
	return c.seal(link.TypeHelloAnswer, answer)
}

// errHeard is that a hello is not newer than one that was heard: it came twice or
// late, or its node's disk was put back to what it had been. Whoever has the
// node's key learns above which number it is heard again, and nobody anything else.
var errHeard = fault.New(fault.Conflict, "a newer hello has been heard")

// quarantine records that two machines say that they are this node.
func (c *Controller) quarantine(ctx context.Context, n *inventory.Node, twins string) error {
	if twins == "" || n.Twins != "" {
		return nil
	}
	err := c.small.write(ctx, func(tx *db.Tx) error { return inventorystore.SetTwins(tx, n.ID, twins) })
	if err == nil {
		c.log.Warn("a node is quarantined", "node", n.Name, "why", twins)
		c.declares.Nudge(n.ID)
	}
	return err
}

// hear records what a hello says, and its receipt. A tuple that the ledger
// never issued is a finding, and overwrites nothing.
func (c *Controller) hear(ctx context.Context, n *inventory.Node, h link.Hello, now time.Time) error {
	outdated := false
	err := c.small.write(ctx, func(tx *db.Tx) (err error) {
		*n, outdated, err = heardOf(tx, h, now)
		return err
	})
	if err != nil {
		return err
	}
	if outdated {
		c.conduct.late(n.ID, refusedTuple(h))
	}
	if m, ok := c.outbox.of(n.ID); ok && (m.tuple == h.Accepted || n.HasRefused(m.tuple)) {
		c.outbox.received(n.ID)
	}
	c.receipts.ring()
	return nil
}

// heardOf records a hello and is the node as it then stands. Outdated: what it
// says that it refused came too late to say anything.
func heardOf(tx *db.Tx, h link.Hello, now time.Time) (is inventory.Node, outdated bool, err error) {
	if outdated, err = late(tx, h); err != nil {
		return is, false, err
	}
	if outdated {
		h.Refused = nil
	}
	fresh, err := inventorystore.Heard(tx, h, now)
	if err != nil {
		return is, false, err
	}
	is, err = mustRead(tx, h.Node)
	if err != nil {
		return is, false, err
	}
	if !fresh {
		return is, false, errHeard
	}
	moved, err := receipt(tx, is, h, now)
	if err == nil && moved {
		is, err = mustRead(tx, h.Node)
	}
	return is, outdated, err
}

// late reports whether what the node refused is of ours and older than what it
// had accepted by then: it came twice or too late, and says nothing about now.
func late(tx *db.Tx, h link.Hello) (bool, error) {
	if h.Refused == nil || !refusedTuple(h).Before(h.Accepted) {
		return false, nil
	}
	return inventorystore.Issued(tx, h.Node, refusedTuple(h))
}

func refusedTuple(h link.Hello) declaration.Tuple {
	return declaration.Tuple{Epoch: h.Refused.Epoch, Generation: h.Refused.Generation, Digest: h.Refused.Digest}
}

func mustRead(tx *db.Tx, id string) (inventory.Node, error) {
	n, there, err := inventorystore.Unread(tx, id)
	if err == nil && !there {
		err = fault.New(fault.NotFound, "there is no node with the id %q", id)
	}
	return n, err
}

// receipt records what the hello proves was sent: what was accepted, and what was
// refused where it is of ours. The finding is about what was accepted alone. It
// reports whether the record has moved; what stands is not written again.
func receipt(tx *db.Tx, n inventory.Node, h link.Hello, now time.Time) (moved bool, err error) {
	if h.Refused != nil {
		if moved, err = sentOf(tx, n, refusedTuple(h), now); err != nil {
			return moved, err
		}
	}
	told, finding, ours := h.Accepted, "", false
	if told != (declaration.Tuple{}) {
		if ours, err = issued(tx, n, told); err != nil {
			return moved, err
		}
		if !ours && told.Epoch >= tx.Epoch() { // of an earlier epoch: the takeover has answered that
			finding = "has accepted " + tupleWords(told) + ", which this record never issued"
		}
	}
	if finding != n.Finding {
		moved = true
		if err := inventorystore.SetFinding(tx, h.Node, finding); err != nil {
			return moved, err
		}
	}
	if !ours || finding != "" {
		return moved, nil
	}
	sent, err := sentOf(tx, n, told, now)
	return moved || sent, err
}

// issued reports whether exactly this was ever issued to the node.
func issued(tx *db.Tx, n inventory.Node, t declaration.Tuple) (bool, error) {
	if t == n.Wanted {
		return t != declaration.Tuple{}, nil
	}
	return inventorystore.Issued(tx, n.ID, t)
}

// sentOf records that this was sent, where it is of ours and newer than what is
// recorded, and reports whether it did.
func sentOf(tx *db.Tx, n inventory.Node, t declaration.Tuple, now time.Time) (bool, error) {
	if !n.Sent.Tuple.Before(t) {
		return false, nil
	}
	ours, err := issued(tx, n, t)
	if err != nil || !ours {
		return false, err
	}
	return true, inventorystore.SaveSent(tx, n.ID, t, now)
}

// receiptOfReport records what the report proves was sent: it may come before the
// hello that says so too.
func receiptOfReport(tx *db.Tx, r report.Report, now time.Time) error {
	issued, err := inventorystore.Issued(tx, r.Node, r.Accepted)
	if err != nil || !issued {
		return err
	}
	return inventorystore.SaveSent(tx, r.Node, r.Accepted, now)
}

func tupleWords(t declaration.Tuple) string {
	return strconv.FormatInt(t.Epoch, 10) + "/" + strconv.FormatInt(t.Generation, 10)
}

func (c *Controller) answerHello(ctx context.Context, n inventory.Node, h link.Hello, now time.Time) (link.HelloAnswer, error) {
	a := link.HelloAnswer{Format: link.Format, Mesh: c.mesh, Node: n.ID, Counter: h.Counter, At: now.UnixMilli()}
	if h.Keys < c.keys.version {
		a.Keys = &c.keys.document
	}
	m, err := c.message(ctx, n)
	if err != nil {
		return a, err
	}
	var told declaration.Tuple
	switch {
	case n.Twins != "":
		a.Why = n.Twins
	case n.Finding != "":
		a.Why = n.Finding
	case n.HasRefused(m.tuple):
		a.Why = "refused: " + n.Refused.Why
	case m.tuple == h.Accepted:
		a.Current, a.Why = true, m.why
	case m.envelope == nil:
		a.Why = m.why
	default:
		a.Declaration, told = m.envelope, m.tuple
		c.outbox.pushed(n.ID, now)
	}
	c.heard.answers(n.ID, told)
	return a, nil
}

// message is what the node should be told, worked out where that has not been done yet.
func (c *Controller) message(ctx context.Context, n inventory.Node) (message, error) {
	if m, ok := c.outbox.of(n.ID); ok && m.answers(n.Accepted) {
		return m, nil
	}
	for {
		l, err := c.lookAt(ctx, n.ID)
		if err != nil {
			return message{}, err
		}
		if m, err := c.workOut(ctx, l); !errors.Is(err, errMoved) {
			return m, err
		}
	}
}

// report stores what a node read back. Its receipt means that it is committed.
func (c *Controller) report(ctx context.Context, m bus.Message) ([]byte, error) {
	now := clock.Now()
	if err := c.conduct.may(m.From, link.VerbReport, now); err != nil {
		return nil, err
	}
	n, payload, err := c.open(ctx, m, link.TypeReport)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	r, err := report.Decode(payload)
	if err != nil {
		return nil, c.refuse(m, err)
	}
	if r.Node != n.ID || r.Mesh != c.mesh {
		return nil, c.refuse(m, fault.New(fault.Denied, "a report of node %q in mesh %q", r.Node, r.Mesh))
	}
	stored := false
	err = c.small.write(ctx, func(tx *db.Tx) (err error) {
		if stored, err = inventorystore.SaveReport(tx, r, m.Data, now); err != nil || !stored {
			return err
		}
		return receiptOfReport(tx, r, now)
	})
	if err != nil && !planted.Is("report acknowledged before it is committed") {
		return nil, err
	}
	if !stored {
		c.conduct.replayed(n.ID)
	}
	if stored && r.Facts != nil {
		c.declares.Nudge(n.ID) // what it can decides what belongs on it
	}
	if stored {
		c.log.Info("report", "node", n.Name, "cause", string(r.Cause), "outcome", string(r.Outcome), "generation", r.Applied.Generation)
		c.receipts.ring()
		c.suspect(r)
	}
	return c.receiptFor(n.ID, strconv.FormatInt(r.Sequence, 10), now, "")
}

func (c *Controller) receiptFor(to, what string, now time.Time, stop string) ([]byte, error) {
	return c.seal(link.TypeReceipt, link.Receipt{Format: link.Format, Mesh: c.mesh, To: to, For: what, At: now.UnixMilli(), Stop: stop})
}

func (c *Controller) seal(t link.PayloadType, v any) ([]byte, error) {
	envelope, err := link.Seal(c.keys.declare, t, v)
	if err != nil {
		return nil, err
	}
	return document.Canonical(envelope)
}

// refuse notes a message that nobody may have sent. The other side learns no
// more than that it was refused.
func (c *Controller) refuse(m bus.Message, err error) error {
	c.log.Warn("a message was refused", "subject", m.Subject, "why", err.Error())
	return err
}
