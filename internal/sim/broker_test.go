package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/bus"
	"noxmesh/internal/fault"
	"noxmesh/internal/invariant"
	"noxmesh/link"
)

// letter is one message on its way.
type letter struct {
	verb link.Verb
	id   string // of the node or builder at its far end
	data []byte
}

// answered is what comes back to whoever asked.
type answered struct {
	data []byte
	err  error
}

// post is the way between the programs. It loses, doubles, delays and reorders;
// while it is byzantine it also forges, replays, swaps and steers.
type post struct {
	byzantine float64
	seen      map[string][][]byte // by verb and direction: what has passed, for replays
}

func (o *post) keep(kind string, data []byte) {
	if len(o.seen[kind]) < 60 {
		o.seen[kind] = append(o.seen[kind], data)
	}
}

// latency is how long a message takes: mostly nothing to speak of, at times long
// enough to be overtaken by everything.
func (w *world) latency() time.Duration {
	if w.calm {
		return time.Millisecond
	}
	switch x := w.rng.IntN(100); {
	case x < 80:
		return time.Duration(w.rng.IntN(50)) * time.Millisecond
	case x < 95:
		return time.Duration(w.rng.IntN(5000)) * time.Millisecond
	default:
		return time.Duration(w.rng.IntN(90)) * time.Second
	}
}

// ask is Request of a host's or a builder's connection.
func (p *program) ask(ctx context.Context, subject string, data []byte) ([]byte, error) {
	verb, id, err := link.From(subject)
	if err != nil {
		return nil, err
	}
	if p.dead.Load() {
		return nil, fault.Wrap(fault.Unavailable, errDead, "ask")
	}
	l := letter{verb, id, slices.Clone(data)}
	back := make(chan answered, 4)
	e := &event{actor: p.name, what: fmt.Sprintf("asks %s %s", verb, id), of: p, do: func(w *world, e *event) { w.carry(e, l, back) }}
	p.w.queue.post(e)
	select {
	case a := <-back:
		return a.data, a.err
	case <-ctx.Done():
		return nil, fault.Wrap(fault.Unavailable, context.Cause(ctx), "ask on %q", subject)
	case <-p.end:
		return nil, fault.Wrap(fault.Unavailable, errDead, "ask on %q", subject)
	}
}

// carry decides what becomes of a question: it is taken in by the broker now,
// and arrives later, once, twice or never.
func (w *world) carry(e *event, l letter, back chan answered) {
	if l.verb == link.VerbReport {
		w.node(l.id).judge(l.data)
	}
	switch {
	case e.of.cut && w.chance(0.5):
		w.note(e.actor, "%s: no connection", e.what)
		back <- answered{err: fault.New(fault.Unavailable, "no connection to the broker")}
		return
	case e.of.cut, !w.calm && w.chance(0.04):
		w.note(e.actor, "%s: lost", e.what)
		return
	}
	w.office.keep("to "+string(l.verb), l.data)
	w.office.keep("to "+string(l.verb)+" of "+l.id, l.data)
	if w.bends() {
		l = w.bend(l)
	}
	copies := 1
	if !w.calm && w.chance(0.05) {
		copies = 2
	}
	w.note(e.actor, "%s: sent %dx", e.what, copies)
	for range copies {
		w.arrive(l, e.of, back)
	}
}

// arrive lets a question arrive at a controller, after a while.
func (w *world) arrive(l letter, from *program, back chan answered) {
	w.queue.waits = append(w.queue.waits, &event{
		actor: "post", what: fmt.Sprintf("%s of %s arrives", l.verb, l.id), of: from, due: time.Now().Add(w.latency()), do: func(w *world, e *event) {
			c := w.server()
			if c == nil {
				w.note(e.actor, "%s: nobody answers", e.what)
				if from != nil {
					back <- answered{err: fault.New(fault.Unavailable, "nobody answers there")}
				}
				return
			}
			w.note(e.actor, "%s at %s", e.what, c.name)
			c.serve(l, from, back)
		},
	})
}

// serve lets a controller answer a question.
func (c *control) serve(l letter, from *program, back chan answered) {
	handle := c.handlers[l.verb]
	if handle == nil {
		return
	}
	c.goes(func(ctx context.Context) {
		subject := string(l.verb) + "." + l.id
		data, err := handle(labelled(ctx, fmt.Sprintf("%s of %s", l.verb, l.id)), bus.Message{Subject: subject, Verb: l.verb, From: l.id, Data: l.data})
		if c.dead.Load() {
			return // the answer dies with its controller
		}
		if err != nil {
			err = fault.New(fault.Unavailable, "the mesh answered: %s", err)
		}
		a := answered{data, err}
		if err == nil {
			c.acknowledges(l, data)
		}
		c.w.queue.post(&event{actor: c.name, what: fmt.Sprintf("answers %s of %s", l.verb, l.id), of: c.program, do: func(w *world, e *event) {
			c.met[l.id] = c.met[l.id] || l.verb == link.VerbHello && err == nil
			w.bringBack(e, l, from, a, back)
		}})
	})
}

// acknowledges notes a receipt as it leaves its controller: what it is for is in
// the record, or it lies.
func (c *control) acknowledges(l letter, data []byte) {
	if l.verb != link.VerbReport && l.verb != link.VerbAnswer && l.verb != link.VerbWork {
		return
	}
	e, err := link.DecodeEnvelope(data)
	c.w.must(err)
	if l.verb == link.VerbWork {
		c.gives(l, e)
		return
	}
	r, err := link.DecodeReceipt(e.Payload)
	c.w.must(err)
	if r.Stop != "" {
		return
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	a := invariant.Ack{Kind: invariant.AckAnswer, From: l.id, Key: r.For}
	if l.verb == link.VerbReport {
		a = invariant.Ack{Kind: invariant.AckReport, From: l.id}
		a.Sequence, err = strconv.ParseInt(r.For, 10, 64)
		c.w.must(err)
		if n := c.w.node(l.id); c.record != c.w.record {
			n.excused = max(n.excused, a.Sequence)
		}
	}
	if c.record == c.w.record {
		c.w.acks = append(c.w.acks, a)
	}
}

// gives holds a request that leaves the controller against its record: that it
// was given is recorded first.
func (c *control) gives(l letter, e link.Envelope) {
	a, err := link.DecodeWorkAnswer(e.Payload)
	c.w.must(err)
	if a.Request == nil {
		return
	}
	r, err := build.DecodeRequest(a.Request.Payload)
	c.w.must(err)
	if c.count(`SELECT count(*) FROM given WHERE request = $1 AND builder = $2`, r.ID, l.id) == 0 {
		c.w.find(invariant.I4, l.id, "it is given request %s, and the record does not know", r.ID[:8])
	}
}

// bringBack decides what becomes of an answer.
func (w *world) bringBack(e *event, l letter, from *program, a answered, back chan answered) {
	if from == nil || from.dead.Load() || from.cut || !w.calm && w.chance(0.04) {
		w.note(e.actor, "%s: lost", e.what)
		return
	}
	if a.err == nil {
		w.office.keep("back "+string(l.verb), a.data)
		if w.bends() {
			a.data = w.bendAnswer(l, a.data)
		}
	}
	says := "answers"
	if a.err != nil {
		says = "refuses: " + a.err.Error()
	}
	w.note(e.actor, "%s: %s", e.what, says)
	w.queue.waits = append(w.queue.waits, &event{
		actor: "post", what: fmt.Sprintf("answer to %s of %s arrives", l.verb, l.id), of: from, due: time.Now().Add(w.latency()), do: func(w *world, e *event) {
			w.note(e.actor, "%s", e.what)
			select {
			case back <- a:
			default: // whoever asked has an answer already
			}
		},
	})
}

// push is a declaration that a controller has published.
func (w *world) push(c *control, l letter) {
	w.office.keep("push "+l.id, l.data)
	copies := 1
	switch x := w.rng.IntN(100); {
	case w.calm:
	case x < 6:
		copies = 0
	case x < 12:
		copies = 2
	}
	if w.bends() {
		l = w.bend(l)
	}
	w.note(c.name, "pushes to %s %dx", l.id, copies)
	for range copies {
		w.fall(l)
	}
}

// fall lets a push arrive at a host, after a while.
func (w *world) fall(l letter) {
	w.queue.waits = append(w.queue.waits, &event{
		actor: "post", what: "push to " + l.id + " arrives", due: time.Now().Add(w.latency()), do: func(w *world, e *event) {
			n := w.node(l.id)
			if n == nil || n.run == nil || n.run.dead.Load() || n.run.cut || n.heard == nil {
				w.note(e.actor, "%s: nobody is there", e.what)
				return
			}
			w.note(e.actor, "%s", e.what)
			n.heard(l.data)
		},
	})
}

func (w *world) bends() bool { return w.office.byzantine > 0 && w.chance(w.office.byzantine) }

// bend is what a byzantine broker makes of a message: another's, an old one, one
// that it signs itself, or noise.
func (w *world) bend(l letter) letter {
	kind := "to " + string(l.verb)
	if l.verb == link.VerbDecl {
		kind = "push " + w.nodes[w.rng.IntN(len(w.nodes))].id
	}
	switch w.rng.IntN(5) {
	case 0:
		l.data = w.forged(l.data)
	case 1:
		l.data = w.noise(l.data)
	case 2: // the same one's, from before: it is answered as if it had been said again
		kind += " of " + l.id
		fallthrough
	default:
		if old := w.office.seen[kind]; len(old) > 0 {
			l.data = old[w.rng.IntN(len(old))]
		}
	}
	w.note("broker", "bends %s of %s", l.verb, l.id)
	return l
}

// bendAnswer is the same of an answer: it may be one to another question, too.
func (w *world) bendAnswer(l letter, data []byte) []byte {
	w.note("broker", "bends the answer to %s of %s", l.verb, l.id)
	switch w.rng.IntN(5) {
	case 0:
		return w.forged(data)
	case 1:
		return w.noise(data)
	case 2: // steered: what this node or builder is told goes to a node that did not ask
		w.fall(letter{link.VerbDecl, w.nodes[w.rng.IntN(len(w.nodes))].id, data})
		return data
	default:
		kind := "back " + string(l.verb)
		if w.chance(0.3) {
			kind = []string{"back hello", "back report", "back work", "back working", "back answer"}[w.rng.IntN(5)]
		}
		if old := w.office.seen[kind]; len(old) > 0 {
			return old[w.rng.IntN(len(old))]
		}
		return data
	}
}

// forged is the same message, changed and signed by a key of the broker's own.
func (w *world) forged(data []byte) []byte {
	e, err := link.DecodeEnvelope(data)
	if err != nil {
		return data
	}
	e.Payload = slices.Clone(e.Payload)
	for i, b := range e.Payload {
		if b == '1' && w.chance(0.3) {
			e.Payload[i] = '2'
		}
	}
	again, err := link.Seal(w.evil, e.PayloadType, raw(e.Payload))
	if err != nil {
		return data
	}
	if w.chance(0.5) { // under the name of the key that is believed
		again.Signatures[0].KeyID = e.Signatures[0].KeyID
	}
	out, err := document.Canonical(again)
	if err != nil {
		return data
	}
	return out
}

func (w *world) noise(data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	out := slices.Clone(data)
	if w.chance(0.5) {
		out[w.rng.IntN(len(out))] ^= 1 << w.rng.IntN(8)
		return out
	}
	return out[:w.rng.IntN(len(out))]
}

// raw is a document that is encoded already.
type raw []byte

// MarshalJSON is the document itself.
func (r raw) MarshalJSON() ([]byte, error) { return r, nil }
