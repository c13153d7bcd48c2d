package manners

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Later is a question that was not asked: its host has enough of them under way, or
// has asked to be left alone. It says nothing of what was asked about.
type Later struct {
	After time.Duration // when to come again
}

// Error says when to come again.
func (l Later) Error() string {
	return fmt.Sprintf("its host is asked again in %s", l.After.Round(time.Second))
}

// Manners is how hosts are asked: each by no more than a few at once, a slow one
// by one, and none before the time that it has named.
type Manners struct {
	most  int        // questions to one host at once
	mu    sync.Mutex // guards hosts and what they point to
	hosts map[string]*host
}

type host struct {
	under int           // questions under way
	took  time.Duration // the last one
	since time.Time     // when it asked to be left alone
	until time.Time     // nobody asks before
	next  time.Time     // when the last of those who were sent away comes again
}

const (
	// slow is a question that takes so long that the host is asked by one at a time.
	slow = 5 * time.Second

	// soonest is when whoever was sent away comes again, at the earliest.
	soonest = 50 * time.Millisecond

	// longest is when they come again at the latest: a host that is back is soon
	// asked by everybody, however many it sent away.
	longest = 2 * time.Minute

	// holdSpread is over how long they come again after a host's time is over.
	holdSpread = 10 * time.Second

	// longestHold is how long a host is believed that it wants to be left alone.
	longestHold = time.Hour

	maxHosts = 10_000
)

// New is manners by which each host is asked by so many at once, at most.
func New(most int) *Manners { return &Manners{most: most, hosts: map[string]*host{}} }

// Enter begins a question about something of this host, or is a Later. After it,
// the question must Leave. A host without a name is this machine, and may be asked.
func (m *Manners) Enter(name, about string, now time.Time) error {
	if name == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.host(name)
	if now.Before(h.until) {
		return Later{h.until.Sub(now) + spread(about, holdSpread)}
	}
	most := m.most
	if h.took > slow {
		most = 1
	}
	if h.under < most {
		h.under++
		return nil
	}
	// One after the other, as fast as the host has answered, and then from the front again.
	if h.next.Before(now) || h.next.Sub(now) > longest {
		h.next = now
	}
	h.next = h.next.Add(max(h.took/time.Duration(most), soonest/time.Duration(m.most)))
	return Later{min(max(h.next.Sub(now), soonest), longest)}
}

// Leave ends a question that began at this time.
func (m *Manners) Leave(name string, began, now time.Time) {
	if name == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.host(name)
	h.under = max(0, h.under-1)
	h.took = now.Sub(began)
}

// Hold is a host that wants, from now on, to be left alone for so long.
func (m *Manners) Hold(name string, alone time.Duration, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, until := m.host(name), now.Add(alone)
	if !until.After(h.until) {
		return
	}
	if !now.Before(h.until) {
		h.since = now
	}
	h.until = until
}

// Held is a host that has asked to be left alone, and is until then.
type Held struct {
	Host         string
	Since, Until time.Time
}

// Held reports whether this host has asked to be left alone, and is at this time:
// whoever asks it anything before its end gets Later.
func (m *Manners) Held(name string, now time.Time) (Held, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.hosts[name]
	if name == "" || h == nil || !now.Before(h.until) {
		return Held{}, false
	}
	return Held{name, h.since, h.until}, true
}

// RetryAfter reads the header of that name: seconds, or a time. It is zero where
// it says neither.
func RetryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, longestHold)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), longestHold))
	}
	return 0
}

// host is what is known of one. Call with mu held.
func (m *Manners) host(name string) *host {
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

// spread is a part of most that is always the same for one name.
func spread(name string, most time.Duration) time.Duration {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name))
	return time.Duration(float64(sum.Sum32()) / (1 << 32) * float64(most))
}
