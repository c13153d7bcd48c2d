package host

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"noxmesh/internal/fault"
)

// Manager is the service manager that has started this process.
type Manager interface {
	// Tell tells it one thing, as systemd takes it.
	Tell(what string) error
	// Watch is within what time it wants to hear that this process works; 0 for never.
	Watch() time.Duration
}

// pulse is how the service manager hears that the loop that applies is at work: by
// the steps that it makes, and by nothing that would go on without it. Until the
// version is confirmed each asks for more time to be so; from then on each says that
// it has not stopped. The zero pulse tells nobody.
type pulse struct {
	manager Manager
	log     *slog.Logger
	began   time.Time

	mu    sync.Mutex // guards what follows
	ready bool
	mute  bool          // it could not be told, and that was said
	told  time.Duration // since began: when it last was
}

func newPulse(manager Manager, log *slog.Logger) *pulse {
	return &pulse{manager: manager, log: log, began: time.Now()}
}

// every is after what time it is told again: half of what it waits for would do.
func (p *pulse) every() time.Duration {
	if p.manager == nil {
		return 0
	}
	return p.manager.Watch() / 4
}

// awake is a reason to beat now and then while there is nothing to do; nil where
// nobody asks. It ends with sleep.
func (p *pulse) awake() (reason <-chan time.Time, sleep func()) {
	if p.every() == 0 {
		return nil, func() {}
	}
	tick := time.NewTicker(p.every())
	return tick.C, tick.Stop
}

// beat is a step of the loop that applies. Most are not worth telling.
func (p *pulse) beat() {
	every := p.every()
	if every == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Since(p.began)
	if p.told != 0 && now-p.told < every {
		return
	}
	p.told = max(now, 1)
	if p.ready {
		p.tell("WATCHDOG=1")
	} else {
		p.tell("EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(p.manager.Watch().Microseconds(), 10))
	}
}

// confirm says that this version is confirmed, and whatever it says it is.
func (p *pulse) confirm(status string) {
	if p.manager == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ready {
		p.ready, p.told = true, 0
		p.tell("READY=1\nSTATUS=" + status)
		return
	}
	p.tell("STATUS=" + status)
}

// say puts a word beside the service where the service manager shows it.
func (p *pulse) say(status string) {
	if p.manager == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell("STATUS=" + status)
}

// tell tells it. That it does not hear is said once: it will end this process for it.
func (p *pulse) tell(what string) {
	err := p.manager.Tell(what)
	if err != nil && !p.mute {
		p.log.Warn("the service manager does not hear", "why", err)
	}
	p.mute = err != nil
}

// linkPatience is how long a version that is not confirmed waits for bytes in one
// pass: what comes later has no part in whether it can complete one.
const linkPatience = 30 * time.Minute

// brief is blobs that are waited for until some time, and no longer.
type brief struct {
	Blobs
	until time.Time
}

// Pull writes a whole blob.
func (b brief) Pull(ctx context.Context, blob Blob, w io.Writer) error {
	if err := b.over(); err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, b.until)
	defer cancel()
	if err := b.Blobs.Pull(ctx, blob, w); err != nil {
		return cmp.Or(b.over(), err)
	}
	return nil
}

// Read opens n bytes from off.
func (b brief) Read(ctx context.Context, blob Blob, off, n int64) (io.ReadCloser, error) {
	if err := b.over(); err != nil {
		return nil, err
	}
	return b.Blobs.Read(ctx, blob, off, n)
}

func (b brief) over() error {
	if time.Now().Before(b.until) {
		return nil
	}
	return fault.New(fault.Unavailable, "this version of the host is not confirmed yet, and waits no longer for bytes in its first pass")
}
