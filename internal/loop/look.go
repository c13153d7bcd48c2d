package loop

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"noxmesh/internal/clock"
	"noxmesh/internal/fault"
	"noxmesh/trouble"
)

// look is one look at e. A profile, and whoever is called, sees at what.
func (l *Loop) look(ctx context.Context, e *entry) {
	pprof.Do(ctx, pprof.Labels("loop", l.spec.Name, "key", e.key), func(ctx context.Context) { l.see(ctx, e) })
}

// see calls what e stands for, records how it went, and plans what follows.
func (l *Loop) see(ctx context.Context, e *entry) {
	if !e.listing && l.recall(ctx) != nil { // the listing says why
		l.putOff(e, l.spec.MinWait)
		return
	}
	result, err := l.call(ctx, e)
	if err != nil && ctx.Err() != nil {
		l.release(e)
		return
	}
	if err != nil {
		l.fail(ctx, e, err)
		return
	}
	if result.Unseen {
		l.putOff(e, result.After)
		return
	}
	if err := l.clear(ctx, e); err != nil {
		l.retry(e)
		return
	}
	l.settle(e, result)
}

// call runs the look itself. A panic is this entry's error.
func (l *Loop) call(ctx context.Context, e *entry) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Broken, "look at %s: panic: %v", quoted(l.key(e)), p)
			l.spec.Log.ErrorContext(ctx, "panic", "loop", l.spec.Name, "key", e.key, "stack", string(debug.Stack()))
		}
	}()
	if e.listing {
		return Result{After: l.spec.Every}, l.list(ctx)
	}
	return l.spec.Step(ctx, e.key)
}

// fail records one more failure and plans the next try.
func (l *Loop) fail(ctx context.Context, e *entry, err error) {
	e.trouble = e.trouble.Again(l.key(e), Fingerprint(err), err.Error(), clock.Now())
	l.spec.Log.WarnContext(ctx, "failed", "loop", l.spec.Name, "key", e.key, "error", err, slog.Int64("count", e.trouble.Count))
	if l.spec.Trouble != nil {
		if lost := l.spec.Trouble(ctx, e.key, e.trouble); lost != nil {
			l.spec.Log.ErrorContext(ctx, "trouble not recorded", "loop", l.spec.Name, "key", e.key, "error", lost)
		}
	}
	if waitsForChange(fault.KindOf(err)) && !e.listing {
		l.settle(e, Result{})
		return
	}
	l.retry(e)
}

// waitsForChange reports whether trying again without a change is pointless.
// Everything else may mend itself: what is missing turns up, a conflict is
// cleared away, a right is granted.
func waitsForChange(kind fault.Kind) bool { return kind == fault.Invalid }

// clear ends e's trouble. The trouble stays when that could not be recorded.
func (l *Loop) clear(ctx context.Context, e *entry) error {
	if e.trouble.Count == 0 {
		return nil
	}
	if l.spec.Cleared != nil {
		if err := l.spec.Cleared(ctx, e.key); err != nil {
			l.spec.Log.ErrorContext(ctx, "end of trouble not recorded", "loop", l.spec.Name, "key", e.key, "error", err)
			return err
		}
	}
	e.trouble = trouble.Trouble{}
	return nil
}

// release gives e back with nothing planned: the process is ending.
func (l *Loop) release(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.looking = false
}

// settle gives e back after a look that leaves nothing to retry.
func (l *Loop) settle(e *entry, result Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.failures, e.notBefore, e.looking = 0, time.Time{}, false
	if e.asked {
		l.ask(e, e.again)
	}
	if result.After > 0 {
		l.ask(e, clock.Now().Add(result.After))
	}
}

// putOff gives e back as it was, to be looked at after this long. A nudge does
// not shorten that.
func (l *Loop) putOff(e *entry, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.looking, e.notBefore = false, clock.Now().Add(after)
	l.ask(e, e.notBefore)
}

// retry gives e back with its next try planned.
func (l *Loop) retry(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.failures++
	e.notBefore = clock.Now().Add(backoff(e.failures, l.spec.MinWait, l.spec.MaxWait, l.spec.Random()))
	e.looking = false
	l.ask(e, e.notBefore)
}

// backoff is the wait after this many failures in a row: from shortest, doubling,
// at most longest; of that, the upper half at random, so that many keys that
// failed together do not come back together.
func backoff(failures int, shortest, longest time.Duration, random float64) time.Duration {
	wait := longest
	if doublings := failures - 1; doublings < 63 && shortest <= longest>>doublings {
		wait = shortest << doublings
	}
	return wait - time.Duration(random*float64(wait)/2)
}

// list asks what there is, plans a look at each, and forgets what is gone.
func (l *Loop) list(ctx context.Context) error {
	if err := l.recall(ctx); err != nil {
		return err
	}
	round, spread := l.begin()
	keys, err := l.spec.Keys(ctx)
	if err != nil {
		l.unfinished(spread)
		return fault.Add(err, "list what %q looks at", l.spec.Name)
	}
	for _, e := range l.arrange(keys, round, spread) {
		if err := l.clear(ctx, e); err != nil {
			l.restore(e)
		}
	}
	return nil
}

// begin opens a full comparison: its number, and over how long its looks spread.
func (l *Loop) begin() (uint64, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.round++
	spread := l.spec.Jitter
	if l.listing.hurry {
		spread = 0
	}
	l.listing.hurry = false
	return l.round, spread
}

// unfinished lets the next try be as much of a hurry as this one was.
func (l *Loop) unfinished(spread time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listing.hurry = l.listing.hurry || spread == 0
}

// arrange plans a look at every key, and takes out and returns the entries that
// are gone: not listed, not being looked at, not asked for since the listing began.
func (l *Loop) arrange(keys []string, round uint64, spread time.Duration) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := clock.Now()
	listed := make(map[string]bool, len(keys))
	for _, key := range keys {
		listed[key] = true
		e := l.entry(key)
		l.ask(e, now.Add(time.Duration(l.spec.Place(key)*float64(spread))))
	}
	var gone []*entry
	for key, e := range l.entries {
		if !listed[key] && !e.looking && e.round < round {
			l.plan.drop(e)
			delete(l.entries, key)
			gone = append(gone, e)
		}
	}
	return gone
}

// restore takes back an entry whose end could not be recorded, for the next
// full comparison to forget.
func (l *Loop) restore(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries[e.key] == nil {
		e.round = l.round - 1
		l.entries[e.key] = e
	}
}

// recall reads, once, the troubles that the process before has recorded. Nothing is
// looked at before: what came of that would be taken for the first of its kind.
func (l *Loop) recall(ctx context.Context) error {
	select {
	case l.recalling <- struct{}{}:
		defer func() { <-l.recalling }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.recalled || l.spec.Recall == nil {
		return nil
	}
	known, err := l.spec.Recall(ctx)
	if err != nil {
		return fault.Add(err, "read the troubles of %q", l.spec.Name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recalled = true // whoever has an entry now waits for this
	for _, t := range known {
		key, ok := strings.CutPrefix(t.Key, l.spec.Name+"/")
		if !ok {
			continue
		}
		e := l.entries[key]
		if e == nil {
			e = &entry{key: key, place: unplanned}
			l.entries[key] = e
		}
		e.trouble = t
	}
	return nil
}

// key is the trouble's key: the loop's name, and the key where it is one.
func (l *Loop) key(e *entry) string {
	if e.listing {
		return l.spec.Name
	}
	return l.spec.Name + "/" + e.key
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }
