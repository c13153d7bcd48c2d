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

// lateness is how long after its successor a hello may still arrive from one
// machine: whoever sends them waits for an answer in between.
const lateness = 5 * time.Second

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
	at      time.Time // when that came
	lately  []heardHello
	strays  int       // hellos that were older than another and not that again, each after a newer one
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
// empty: three times in a while a hello came that is older than one before it
// and is not that again, and newer ones in between. One machine counts up: a
// message that came late or twice does not go on doing so, nor does a disk that
// was put back, whose host is told where to go on.
func (c *conduct) hello(n string, h link.Hello, recorded int64, digest document.Digest, now time.Time) (twins string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.of(n)
	if m.at.IsZero() {
		m.base, m.highest, m.at = recorded, recorded, now
	}
	if h.Counter > m.highest {
		m.highest, m.at, m.newer = h.Counter, now, true
		m.remember(h.Counter, digest)
		return ""
	}
	m.ignored.Replayed++
	if m.knows(h.Counter, digest) || h.Counter <= m.base || now.Sub(m.at) < lateness {
		return ""
	}
	m.remember(h.Counter, digest)
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
	return fmt.Sprintf("two machines say that they are it: hello %d came after hello %d, and both go on; let the right one join anew", h.Counter, m.highest)
}

// knows reports whether just this has been heard, or is too old to say.
func (m *manner) knows(counter int64, digest document.Digest) bool {
	oldest := counter
	for _, h := range m.lately {
		if h.counter == counter && h.digest == digest {
			return true
		}
		oldest = min(oldest, h.counter)
	}
	return len(m.lately) == heardLately && counter < oldest
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
