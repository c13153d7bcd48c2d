package loop

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/internal/clock"
	"noxmesh/trouble"
)

// How long a failing key waits when its Spec does not say. One second is longer
// than a broker takes to reconnect; five minutes is what an operator who has
// mended something outside is asked to wait at most.
const (
	MinBackoff = time.Second
	MaxBackoff = 5 * time.Minute
)

// Result is what a look that did not fail has to say about the next one.
type Result struct {
	After  time.Duration // look again after this long; zero means when nudged or at the next full comparison
	Unseen bool          // nothing was looked at: trouble, and how long a failure waits, stay as they are
}

// Spec is one loop: what there is to look at, how to look, and where trouble goes.
type Spec struct {
	Name string // the first part of each trouble's key: "source"

	// Keys lists everything there is to look at. Called at the start, each Every
	// and after NudgeAll, by one worker at a time, beside running Steps.
	Keys func(ctx context.Context) ([]string, error)

	// Step looks at one key and takes one step. Called by up to Workers at once,
	// never twice at once for one key. It ends soon after ctx does.
	Step func(ctx context.Context, key string) (Result, error)

	Every   time.Duration // between full comparisons; zero means only at the start and when nudged
	Jitter  time.Duration // the looks of a full comparison on the clock are spread over this long
	Workers int           // how many looks at once; zero means one

	// Place is where in Jitter a key's look lies, from 0 to below 1; nil means at
	// random, anew each time. Called side by side.
	Place func(key string) float64

	MinWait, MaxWait time.Duration // backoff; zero means MinBackoff and MaxBackoff

	// Recall reads the troubles recorded by the process before, so that "since"
	// and the count go on. Optional.
	Recall func(ctx context.Context) ([]trouble.Trouble, error)

	// Trouble records that a key has failed once more; key is "" when it was the
	// listing. Optional. Not called for a look cut short by the end of ctx.
	Trouble func(ctx context.Context, key string, t trouble.Trouble) error

	// Cleared records that a key with trouble has none any more: it was looked at
	// without failing, or is gone. Optional.
	Cleared func(ctx context.Context, key string) error

	// Random spreads looks and waits: from 0 to below 1. Called side by side. Nil means the system's.
	Random func() float64

	Log *slog.Logger // each failure, and each record that could not be written; nil means nowhere
}

// Loop is a running or runnable Spec. Its methods may be called from anywhere,
// before Run, during it and after it.
type Loop struct {
	spec    Spec
	listing *entry
	wake    chan struct{} // capacity 1: somebody should read the plan again

	recalling chan struct{} // capacity 1: holds the one token of whoever recalls, and guards recalled
	recalled  bool

	mu      sync.Mutex // guards what follows, and the fields of entries that are not being looked at
	plan    plan
	entries map[string]*entry
	round   uint64 // full comparisons begun
}

// New is the loop of this spec, with its defaults filled in.
func New(spec Spec) *Loop {
	if spec.Workers < 1 {
		spec.Workers = 1
	}
	if spec.MinWait <= 0 {
		spec.MinWait = MinBackoff
	}
	if spec.MaxWait <= 0 {
		spec.MaxWait = MaxBackoff
	}
	spec.MaxWait = max(spec.MaxWait, spec.MinWait)
	if spec.Random == nil {
		spec.Random = rand.Float64
	}
	if spec.Place == nil {
		spec.Place = func(string) float64 { return spec.Random() }
	}
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	return &Loop{
		spec:      spec,
		listing:   &entry{listing: true, place: unplanned},
		wake:      make(chan struct{}, 1),
		recalling: make(chan struct{}, 1),
		entries:   map[string]*entry{},
	}
}

// Run looks at everything that there is, and then at whatever is nudged, due or
// to be tried again, until ctx ends. It returns when the last look has returned;
// the end of ctx is not an error.
func (l *Loop) Run(ctx context.Context) error {
	l.NudgeAll()
	var group errgroup.Group
	for range l.spec.Workers {
		group.Go(func() error {
			l.work(ctx)
			return nil
		})
	}
	return group.Wait()
}

// Nudge means "look at this key now". A key that is backing off is looked at
// when its wait is over.
func (l *Loop) Nudge(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ask(l.entry(key), clock.Now())
}

// NudgeAll means "compare everything now".
func (l *Loop) NudgeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listing.hurry = true
	l.ask(l.listing, clock.Now())
}

// Forgive drops a key's backoff and looks at it now: something outside has
// changed, or a person says so. Its trouble stays until a look succeeds.
func (l *Loop) Forgive(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(key)
	e.failures, e.notBefore = 0, time.Time{}
	l.ask(e, clock.Now())
}

// entry is the key's entry, made when there is none. Call with mu held.
func (l *Loop) entry(key string) *entry {
	e := l.entries[key]
	if e == nil {
		e = &entry{key: key, place: unplanned}
		l.entries[key] = e
	}
	e.round = l.round
	return e
}

// ask plans a look at e. Call with mu held.
func (l *Loop) ask(e *entry, at time.Time) {
	if e.looking {
		if !e.asked || at.Before(e.again) {
			e.asked, e.again = true, at
		}
		return
	}
	if at.Before(e.notBefore) {
		at = e.notBefore
	}
	if l.plan.put(e, at) {
		l.signal()
	}
}

// signal lets one worker read the plan again. When a signal already waits, that
// one is enough: whoever takes it sees the plan as it is then.
func (l *Loop) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// work takes what is due, for as long as ctx lives.
func (l *Loop) work(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		e, wait := l.take(clock.Now())
		if e != nil {
			l.look(ctx, e)
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-due:
		}
	}
}

// take is what to look at now, or how long until something is due; neither when
// nothing is planned. A worker that leaves the plan to look signals first, so
// that there is always one that waits for the earliest entry.
func (l *Loop) take(now time.Time) (*entry, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.plan.heap) == 0 {
		return nil, 0
	}
	if wait := l.plan.heap[0].due.Sub(now); wait > 0 {
		return nil, wait
	}
	e := l.plan.pop()
	e.looking, e.asked = true, false
	if len(l.plan.heap) > 0 {
		l.signal()
	}
	return e, 0
}
