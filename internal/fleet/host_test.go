package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/bus"
	"noxmesh/link"
	"noxmesh/report"
)

// credentials is what a node has from joining.
type credentials struct {
	ID, Mesh, CA, Broker, JWT string
	Nats                      string // a bus.Seed would hide itself
	Sign                      []byte
	Root                      link.PublicKey
	Keys                      link.Envelope
}

// node is one light host.
type node struct {
	credentials
	sign    link.Key
	trusted link.Keys
	conn    *bus.Conn
	hello   chan struct{}

	mu       sync.Mutex // guards what follows
	accepted declaration.Tuple
	applied  declaration.Tuple
	holds    declaration.Declaration
	counter  int64
	sequence int64
	current  time.Time // when a hello was answered with that, last
	reported declaration.Tuple
}

func newNode(c credentials) (*node, error) {
	n := &node{credentials: c, hello: make(chan struct{}, 1)}
	var err error
	if n.sign, err = link.KeyFromSeed(c.Sign); err != nil {
		return nil, err
	}
	n.trusted, err = link.VerifyKeys(c.Keys, c.Root, link.Keys{Mesh: c.Mesh})
	return n, err
}

// run is the node until ctx ends: a hello when connected, when something was
// judged, and twice a heartbeat at most.
func (n *node) run(ctx context.Context, heartbeat time.Duration) error {
	var err error
	n.conn, err = bus.Dial(ctx, bus.Config{URL: n.Broker, CAPEM: []byte(n.CA), NatsSeed: bus.Seed(n.Nats), JWT: n.JWT, ID: n.ID, Name: n.ID})
	if err != nil {
		return err
	}
	defer n.conn.Close()
	subject, err := link.Subject(link.VerbDecl, n.ID)
	if err != nil {
		return err
	}
	err = n.conn.Subscribe(subject, func(m bus.Message) {
		if envelope, err := link.DecodeEnvelope(m.Data); err == nil {
			n.judge(envelope)
		}
	})
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		timer := time.NewTimer(heartbeat/2 + rand.N(heartbeat/2))
		select {
		case <-ctx.Done():
		case <-n.conn.Changed():
		case <-n.hello:
		case <-timer.C:
		}
		timer.Stop()
		if !n.speak(ctx) {
			nudgeLater(ctx, n.hello)
		}
	}
	return nil
}

func nudgeLater(ctx context.Context, c chan struct{}) {
	if ctx.Err() == nil {
		time.AfterFunc(200*time.Millisecond+rand.N(200*time.Millisecond), func() { nudge(c) })
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// judge accepts what its controller has signed and what comes after what it has.
func (n *node) judge(envelope link.Envelope) {
	payload, err := envelope.Open(link.TypeDeclaration, n.trusted.Declare...)
	if err != nil {
		return
	}
	d, err := declaration.Decode(payload)
	if err != nil || d.Node != n.ID || d.Mesh != n.Mesh {
		return
	}
	t, err := d.Tuple()
	if err != nil {
		return
	}
	n.mu.Lock()
	if n.accepted.Before(t) {
		n.accepted, n.applied, n.holds, n.current = t, t, d, time.Time{}
	}
	n.mu.Unlock()
	nudge(n.hello)
}

// speak says hello, and reports what was accepted since. It is false where
// something is to be said again soon.
func (n *node) speak(ctx context.Context) bool {
	n.mu.Lock()
	n.counter++
	h := link.Hello{
		Format: link.Format, Mesh: n.Mesh, Node: n.ID, Boot: "boot", Counter: n.counter, Host: "light", Speaks: []int{1},
		Keys: n.trusted.Version, Accepted: n.accepted, Applied: n.applied,
	}
	n.mu.Unlock()
	payload, err := n.ask(ctx, link.VerbHello, link.TypeHello, h, link.TypeHelloAnswer)
	if err != nil {
		return false
	}
	a, err := link.DecodeHelloAnswer(payload)
	if err != nil || a.Counter != h.Counter {
		return false
	}
	if a.Declaration != nil {
		n.judge(*a.Declaration)
	}
	n.mu.Lock()
	if a.Current && n.accepted == h.Accepted {
		n.current = time.Now()
	}
	untold := n.reported != n.accepted
	n.mu.Unlock()
	return !untold || n.tell(ctx)
}

func (n *node) tell(ctx context.Context) bool {
	n.mu.Lock()
	n.sequence++
	t := n.accepted
	r := report.Report{
		Format: report.Format, Mesh: n.Mesh, Node: n.ID, Boot: "boot", Sequence: n.sequence, Accepted: t, Applied: t, Host: "light",
		Cause: report.CauseDeclaration, Began: time.Now().UnixMilli(), Ended: time.Now().UnixMilli(), Outcome: report.OutcomeApplied,
		Modules: n.holds.Body.Modules, Resources: make([]report.Resource, 0, len(n.holds.Body.Resources)),
	}
	for _, res := range n.holds.Body.Resources {
		digest, err := res.ContentDigest()
		if err != nil {
			n.mu.Unlock()
			return false
		}
		r.Resources = append(r.Resources, report.Resource{ID: res.ID, Digest: digest, State: report.StateChanged})
	}
	n.mu.Unlock()
	payload, err := n.ask(ctx, link.VerbReport, link.TypeReport, r, link.TypeReceipt)
	if err != nil {
		return false
	}
	receipt, err := link.DecodeReceipt(payload)
	if err != nil || receipt.For != fmt.Sprint(r.Sequence) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reported = t
	return n.accepted == t
}

func (n *node) ask(ctx context.Context, verb link.Verb, sends link.PayloadType, what any, expect link.PayloadType) ([]byte, error) {
	envelope, err := link.Seal(n.sign, sends, what)
	if err != nil {
		return nil, err
	}
	data, err := document.Canonical(envelope)
	if err != nil {
		return nil, err
	}
	subject, err := link.Subject(verb, n.ID)
	if err != nil {
		return nil, err
	}
	answer, err := n.conn.Request(ctx, subject, data)
	if err != nil {
		return nil, err
	}
	sealed, err := link.DecodeEnvelope(answer)
	if err != nil {
		return nil, err
	}
	return sealed.Open(expect, n.trusted.Declare...)
}

// holdsContent reports how the node stands to one content of one module, and
// whether it has been told so since.
func (n *node) holdsContent(module, content string, since time.Time) (accepted, current, reported bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.holds.Body.Modules {
		if m.Module == module && string(m.Content) == content {
			return true, n.current.After(since), n.reported == n.accepted
		}
	}
	return false, false, false
}
