package controller

import (
	"fmt"
	"sync"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
	"noxmesh/status"
)

// What one node may say: an honest host keeps 200 ms between two hellos, and
// reports once for each apply.
const (
	saidPerSecond = 5
	saidAtOnce    = 20
)

// heardLately is how many hellos of a node are remembered, to tell a message
// that comes twice from two that say they are the same.
const heardLately = 64

// strayAt is how many strays in strayWithin are two machines: with a heartbeat
// of a minute, two that live are found within two of them.
const (
	strayAt     = 3
	strayWithin = 10 * time.Minute
)

// conduct is how the nodes behave towards this process. It decides nothing that
// is recorded but one finding, and a controller that starts again begins anew.
type conduct struct {
	since time.Time

	mu    sync.Mutex // guards nodes
	nodes map[string]*manner
}

// manner is how one node behaves.
type manner struct {
	said    map[link.Verb]*bucket
	ignored status.Ignored

	refused declaration.Tuple // the last late one
	base    int64             // the counter when this process first heard of it
	highest int64
	heard   bool
	lately  []heardHello
	strays  int       // hellos whose number another one had, each after a newer one
	first   time.Time // when the first of them came
	newer   bool      // a newer one has come after the last of them
}

type heardHello struct {
	counter int64
	digest  document.Digest
}

type bucket struct {
	left float64
	at   time.Time
}

func newConduct(now time.Time) *conduct { return &conduct{since: now, nodes: map[string]*manner{}} }

func (c *conduct) of(node string) *manner {
	m := c.nodes[node]
	if m == nil {
		m = &manner{said: map[link.Verb]*bucket{}}
		c.nodes[node] = m
	}
	return m
}

// may refuses what a node says beyond what any honest one would, before it is
// looked at: the broker has proven whose subject it came on.
func (c *conduct) may(node string, verb link.Verb, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.of(node)
	b := m.said[verb]
	if b == nil {
		b = &bucket{left: saidAtOnce, at: now}
		m.said[verb] = b
	}
	b.left = min(saidAtOnce, b.left+saidPerSecond*max(0, now.Sub(b.at).Seconds()))
	b.at = now
	if b.left < 1 {
		m.ignored.Excess++
		return fault.New(fault.Unavailable, "node %q says more than %d times a second what it has to say", node, saidPerSecond)
	}
	b.left--
	return nil
}

// hello notes a hello that the node has signed, and what the record had heard
// by then. It is why two machines are taken to say that they are this node, or
// empty: three times in a while a hello came under a number that another hello
// had, and newer ones in between. One machine gives each number once, so that
// one that is merely late, however late, proves nothing. Two that live give the
// same ones: each is told the other's number and goes on above it. A disk that
// was put back repeats a number, is told where to go on, and does not do so again.
func (c *conduct) hello(n string, h link.Hello, recorded int64, digest document.Digest, now time.Time) (twins string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.of(n)
	if !m.heard {
		m.base, m.highest, m.heard = recorded, recorded, true
	}
	if h.Counter > m.highest {
		m.highest, m.newer = h.Counter, true
		m.remember(h.Counter, digest)
		return ""
	}
	m.ignored.Replayed++
	same, taken := m.knows(h.Counter, digest)
	if same || h.Counter <= m.base {
		return ""
	}
	m.remember(h.Counter, digest)
	if !taken {
		return ""
	}
	if now.Sub(m.first) > strayWithin {
		m.strays, m.first = 0, now
	}
	if m.strays == 0 || m.newer {
		m.strays++
	}
	m.newer = false
	if m.strays < strayAt {
		return ""
	}
	return fmt.Sprintf("two machines say that they are it: hello %d is of both, and both go on; let the right one join anew", h.Counter)
}

// knows reports whether just this hello has been heard, and whether another has
// under its number.
func (m *manner) knows(counter int64, digest document.Digest) (same, taken bool) {
	for _, h := range m.lately {
		same = same || h.counter == counter && h.digest == digest
		taken = taken || h.counter == counter && h.digest != digest
	}
	return same, taken
}

func (m *manner) remember(counter int64, digest document.Digest) {
	if len(m.lately) == heardLately {
		m.lately = append(m.lately[:0], m.lately[1:]...)
	}
	m.lately = append(m.lately, heardHello{counter, digest})
}

// late counts a refusal of what the node had long gone beyond. It says so with
// every hello, and is counted once.
func (c *conduct) late(node string, refused declaration.Tuple) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.of(node); m.refused != refused {
		m.refused = refused
		m.ignored.Late++
	}
}

// replayed counts a report that had come before.
func (c *conduct) replayed(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(node).ignored.Replayed++
}

// ignored is what was ignored of a node, or nil where nothing was.
func (c *conduct) ignored(node string) *status.Ignored {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.nodes[node]
	if m == nil || m.ignored == (status.Ignored{}) {
		return nil
	}
	out := m.ignored
	out.Since = c.since
	return &out
}

func (c *conduct) forget(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.nodes, node)
}
