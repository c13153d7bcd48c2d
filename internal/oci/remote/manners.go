package remote

import (
	"fmt"
	"sync"
	"time"
)

// Later is a question that was not asked: its registry is asked enough already, or
// wants to be left alone. It says nothing of the image.
type Later struct {
	After time.Duration // when to come again
}

// Error says when to come again.
func (l Later) Error() string {
	return fmt.Sprintf("its registry is asked again in %s", l.After.Round(time.Second))
}

const (
	perHost     = 2 // names of one registry that are asked for at once
	soon        = 200 * time.Millisecond
	longestHold = time.Hour
	shortHold   = time.Minute // of a registry that has had enough and does not say for how long
	maxHosts    = 1000
)

// manners is how registries are asked. Nobody waits in it.
type manners struct {
	mu    sync.Mutex
	hosts map[string]*host
}

type host struct {
	under int       // questions under way
	until time.Time // nobody asks before
}

// enter begins a question, or is a Later. After it, it must leave.
func (m *manners) enter(name string, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.host(name)
	if now.Before(h.until) {
		return Later{h.until.Sub(now) + soon}
	}
	if h.under >= perHost {
		return Later{soon}
	}
	h.under++
	return nil
}

func (m *manners) leave(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.host(name)
	h.under = max(0, h.under-1)
}

// hold is a registry that wants to be left alone.
func (m *manners) hold(name string, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.host(name); until.After(h.until) {
		h.until = until
	}
}

// host is what is known of one. Called with mu held.
func (m *manners) host(name string) *host {
	if h := m.hosts[name]; h != nil {
		return h
	}
	for other, h := range m.hosts {
		if len(m.hosts) < maxHosts {
			break
		}
		if h.under == 0 {
			delete(m.hosts, other)
		}
	}
	h := &host{}
	m.hosts[name] = h
	return h
}
