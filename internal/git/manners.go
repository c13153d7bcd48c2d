package git

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"sync"
	"time"
)

// Later is a look that was not taken: its forge has enough of them under way, or
// has asked to be left alone. It says nothing of the repository.
type Later struct {
	After time.Duration // when to come again
}

// Error says when to come again.
func (l Later) Error() string {
	return fmt.Sprintf("its forge is asked again in %s", l.After.Round(time.Second))
}

// manners is how forges are asked: each by no more than a few at once, a slow one
// by one, and none before the time that it has named. Nobody waits here, so that
// no forge can take up whoever looks at another.
type manners struct {
	most  int        // looks at one forge at once
	mu    sync.Mutex // guards forges and what they point to
	hosts map[string]*forgeHost
}

type forgeHost struct {
	under int           // looks under way
	took  time.Duration // the last one
	since time.Time     // when it asked to be left alone
	until time.Time     // nobody asks before
	next  time.Time     // when the last of those who were sent away comes again
}

const (
	// slow is a look that takes so long that the forge is asked by one at a time.
	slow = 5 * time.Second

	// soonest is when whoever was sent away comes again, at the earliest.
	soonest = 50 * time.Millisecond

	// longest is when they come again at the latest: a forge that is back is soon
	// asked by everybody, however many it sent away.
	longest = 2 * time.Minute

	// holdSpread is over how long they come again after a forge's time is over.
	holdSpread = 10 * time.Second

	maxHosts = 10_000
)

// enter begins a look at a repository of this host, or is a Later. After it, the
// look must leave.
func (m *manners) enter(host, repository string, now time.Time) error {
	if host == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.host(host)
	if now.Before(h.until) {
		return Later{h.until.Sub(now) + spread(repository, holdSpread)}
	}
	most := m.most
	if h.took > slow {
		most = 1
	}
	if h.under < most {
		h.under++
		return nil
	}
	// One after the other, as fast as the forge has answered, and then from the front again.
	if h.next.Before(now) || h.next.Sub(now) > longest {
		h.next = now
	}
	h.next = h.next.Add(max(h.took/time.Duration(most), soonest/perHost))
	return Later{min(max(h.next.Sub(now), soonest), longest)}
}

// leave ends a look that began at this time.
func (m *manners) leave(host string, began, now time.Time) {
	if host == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.host(host)
	h.under = max(0, h.under-1)
	h.took = now.Sub(began)
}

// hold is a forge that wants, from now on, to be left alone for so long.
func (m *manners) hold(host string, alone time.Duration, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, until := m.host(host), now.Add(alone)
	if !until.After(h.until) {
		return
	}
	if !now.Before(h.until) {
		h.since = now
	}
	h.until = until
}

// Held is a forge that has asked to be left alone, and is until then.
type Held struct {
	Host         string
	Since, Until time.Time
}

// Held reports whether the forge of this address has asked to be left alone, and
// is at this time: whoever looks at any repository of it before its end gets Later.
func (g *Git) Held(url string, now time.Time) (Held, bool) {
	m := &g.manners
	m.mu.Lock()
	defer m.mu.Unlock()
	host := hostOf(url)
	h := m.hosts[host]
	if host == "" || h == nil || !now.Before(h.until) {
		return Held{}, false
	}
	return Held{host, h.since, h.until}, true
}

// host is what is known of one. Call with mu held.
func (m *manners) host(host string) *forgeHost {
	h := m.hosts[host]
	if h != nil {
		return h
	}
	for name, other := range m.hosts {
		if len(m.hosts) < maxHosts {
			break
		}
		if other.under == 0 {
			delete(m.hosts, name)
		}
	}
	h = &forgeHost{}
	m.hosts[host] = h
	return h
}

// spread is a part of most that is always the same for one name.
func spread(name string, most time.Duration) time.Duration {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name))
	return time.Duration(float64(sum.Sum32()) / (1 << 32) * float64(most))
}

// hostOf is the host that an address names, empty for this machine's folders.
func hostOf(address string) string {
	if m := scpLike.FindStringSubmatch(address); m != nil {
		return m[2]
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
