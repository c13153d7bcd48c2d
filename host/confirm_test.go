package host

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"noxmesh/host/version"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// manager is a service manager that writes down what it is told.
type manager struct {
	mu    sync.Mutex // guards what follows
	said  []string
	deaf  bool
	began time.Time
	beats []time.Duration
}

func (m *manager) Watch() time.Duration { return time.Minute }

func (m *manager) Tell(what string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deaf {
		return fault.New(fault.Unavailable, "nobody hears %q", what)
	}
	if what == "WATCHDOG=1" || strings.HasPrefix(what, "EXTEND_TIMEOUT_USEC=") {
		m.beats = append(m.beats, time.Since(m.began))
		what, _, _ = strings.Cut(what, "=")
		if len(m.said) > 0 && m.said[len(m.said)-1] == what {
			return nil
		}
	}
	m.said = append(m.said, what)
	return nil
}

func (m *manager) all() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.said, "|")
}

// last is when it was told last that the host works.
func (m *manager) last() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.beats) == 0 {
		return 0
	}
	return m.beats[len(m.beats)-1]
}

// packagedHost is the host at root as its package has installed it: version 2, and not confirmed.
func packagedHost(t *testing.T, root string) Config {
	t.Helper()
	dir := filepath.Join(root, "usr/lib/nox-mesh-host")
	self := filepath.Join(dir, "versions/2/mesh-host")
	plant(t, self, "two")
	must(t, os.Symlink("versions/2", filepath.Join(dir, "installed")))
	cfg := configured(root)
	cfg.Manager = &manager{began: time.Now()}
	cfg.Version, cfg.Versions = "2", version.Here(dir, filepath.Join(root, "var/lib/mesh-host"), "2", self)
	return cfg
}

// beginWith is beginOn of a host that is told more than where it is.
func beginWith(t testing.TB, cfg Config, c *controller, d Depots) *started {
	t.Helper()
	n, err := open(cfg)
	must(t, err)
	m, err := newMember(n)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	s := &started{runner: newRunner(n, m, c, d), t: t, root: cfg.Root}
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		must(t, <-done)
		must(t, m.gate.Close())
		must(t, n.close())
	})
	return s
}

// A version that is new here is confirming until it has completed a pass, whatever
// comes of that pass, and says so; from then on it is the one that it was.
func TestAVersionIsConfirmedByTheFirstPassThatItCompletes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		must(t, os.MkdirAll(filepath.Join(root, "b/b"), 0o755)) // where a file is declared
		c.declare(declared(c, 1, "/a", "blob:one", "/b", "two"))
		s := begin(t, root, c)
		time.Sleep(time.Minute)
		s.stop()
		must(t, os.Remove(filepath.Join(root, "a")))
		gate := make(chan struct{})
		c.set(func(c *controller) { c.blobs.gate = gate })
		cfg := packagedHost(t, root)
		c.changed <- struct{}{}
		s = beginWith(t, cfg, c, c.blobs)
		defer s.stop()
		time.Sleep(10 * time.Second)
		m, _ := cfg.Manager.(*manager)
		want := "STATUS=version 2 is confirming: it has not completed one reconcile here|EXTEND_TIMEOUT_USEC"
		if got := m.all(); got != want || cfg.Versions.IsConfirmed() {
			t.Errorf("in its first pass: %q", got)
		}
		if r := c.lastReport(); r.Outcome != report.OutcomeConfirming || r.Host != "2" || len(r.Resources) != 0 || len(report.AppliedModules(r)) != 0 {
			t.Errorf("the first report of a new version: %+v", r)
		}
		close(gate)
		time.Sleep(time.Second / 2)
		want += "|READY=1\nSTATUS=version 2: failed 1/1, 1 of 2 not as declared|WATCHDOG"
		if got := m.all(); got != want || !cfg.Versions.IsConfirmed() {
			t.Errorf("after its first pass:\ngot  %q\nwant %q", got, want)
		}
		if r := c.lastReport(); r.Outcome != report.OutcomeFailed || r.Host != "2" || len(r.Resources) != 2 {
			t.Errorf("the last report: %+v", r)
		}
	})
}

// A host that has nothing to do says that it works; one whose pass stands still does
// not, though everything else of it goes on.
func TestOnlyTheLoopThatAppliesSaysThatItWorks(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		cfg := packagedHost(t, root)
		m, _ := cfg.Manager.(*manager)
		gate := make(chan struct{})
		c.blobs.gate = gate
		s := beginWith(t, cfg, c, c.blobs)
		defer s.stop()
		time.Sleep(time.Hour)
		if at := m.last(); !strings.Contains(m.all(), "WATCHDOG") || time.Hour-at > time.Minute/2 {
			t.Errorf("with nothing to do it has last said at %s that it works: %q", at, m.all())
		}
		c.declare(declared(c, 1, "/a", "blob:one"))
		time.Sleep(time.Hour)
		hellos, _ := c.counts()
		if at := m.last(); at > time.Hour+2*time.Minute {
			t.Errorf("it stands still, and has said at %s that it works", at)
		}
		time.Sleep(time.Hour)
		if after, _ := c.counts(); after == hellos {
			t.Error("the rest of it does not go on")
		}
		close(gate)
		time.Sleep(time.Minute)
		s.is("/a", "blob:one")
		if at := m.last(); at < 3*time.Hour {
			t.Errorf("it goes on, and has last said at %s that it works", at)
		}
	})
}

// A version that is not confirmed does not wait for bytes for ever, and is confirmed
// without them.
func TestALinkThatBringsNothingConfirmsAllTheSame(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "blob:one", "/b", "blob:two"))
		cfg := packagedHost(t, root)
		s := begin(t, root, c) // the one before has accepted it
		time.Sleep(time.Minute)
		s.stop()
		must(t, os.Remove(filepath.Join(root, "a")))
		must(t, os.Remove(filepath.Join(root, "b")))
		c.blobs.mu.Lock()
		c.blobs.gate = make(chan struct{})
		c.blobs.mu.Unlock()
		s = beginWith(t, cfg, c, c.blobs)
		defer s.stop()
		time.Sleep(linkPatience - time.Minute)
		if cfg.Versions.IsConfirmed() {
			t.Error("it is confirmed, and has completed nothing")
		}
		time.Sleep(2 * time.Minute)
		if !cfg.Versions.IsConfirmed() {
			t.Error("it is not confirmed, since the link brings nothing")
		}
	})
}

// A service manager that does not hear is no reason to stop.
func TestAServiceManagerThatDoesNotHear(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "one"))
		cfg := packagedHost(t, root)
		cfg.Manager = &manager{deaf: true}
		var log strings.Builder
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		s := beginWith(t, cfg, c, c.blobs)
		time.Sleep(time.Hour)
		s.stop()
		s.is("/a", "one")
		if n := strings.Count(log.String(), "the service manager does not hear"); n != 1 {
			t.Errorf("it is said %d times: %s", n, log.String())
		}
	})
}
