package sim

import (
	"cmp"
	"context"
	"errors"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

// errDead is what everything outside says to a program that has been killed.
var errDead = errors.New("this program was killed")

// event is something outside a program that it waits for, or that is under way
// to it. It happens when the driver says so, and in the way that it says.
type event struct {
	actor string   // the program that it is of
	what  string   // the same words in every run of the seed
	of    *program // the one that it is of or for, and that it moves; nil where it may be any
	due   time.Time
	order int
	gone  bool // nobody waits for it any more
	do    func(w *world, e *event)
}

// queue is everything that has been posted and has not happened.
type queue struct {
	mu     sync.Mutex // guards fresh
	fresh  []*event   // posted since the driver last looked
	posted chan struct{}
	waits  []*event // known to the driver, in the order in which it took them in
	taken  int
}

func (q *queue) post(e *event) {
	q.mu.Lock()
	q.fresh = append(q.fresh, e)
	q.mu.Unlock()
	select {
	case q.posted <- struct{}{}:
	default:
	}
}

// intake orders what was posted since the last look by what it is: the order in
// which goroutines of one moment posted it is chance.
func (w *world) intake() {
	q := &w.queue
	q.mu.Lock()
	fresh := q.fresh
	q.fresh = nil
	q.mu.Unlock()
	slices.SortStableFunc(fresh, func(a, b *event) int {
		return cmp.Or(cmp.Compare(a.actor, b.actor), cmp.Compare(a.what, b.what))
	})
	for _, e := range fresh {
		q.taken++
		e.order = q.taken
		if e.due.IsZero() {
			e.due = time.Now()
		}
		q.waits = append(q.waits, e)
	}
	q.waits = slices.DeleteFunc(q.waits, func(e *event) bool { return e.gone })
}

// next takes the event that happens now, or nil and when one will be due.
func (q *queue) next(w *world) (e *event, due time.Time) {
	now := time.Now()
	var able []int
	for i, e := range q.waits {
		if !e.due.After(now) {
			able = append(able, i)
		} else if due.IsZero() || e.due.Before(due) {
			due = e.due
		}
	}
	if len(able) == 0 {
		return nil, due
	}
	at := able[0]
	if !w.calm {
		at = able[w.rng.IntN(len(able))]
	}
	e = q.waits[at]
	q.waits = slices.Delete(q.waits, at, at+1)
	return e, due
}

// turn waits until the driver lets this program do one thing outside itself.
func (p *program) turn(ctx context.Context, what string) error {
	if p.dead.Load() {
		return errDead
	}
	may := make(chan struct{})
	e := &event{actor: p.name, what: what, of: p, do: func(w *world, e *event) {
		w.note(e.actor, "%s", e.what)
		close(may)
	}}
	return p.await(ctx, e, may)
}

// await posts an event and waits for it.
func (p *program) await(ctx context.Context, e *event, done <-chan struct{}) error {
	p.w.queue.post(e)
	select {
	case <-done:
		if p.dead.Load() {
			return errDead
		}
		return nil
	case <-ctx.Done():
		e.gone = true
		return context.Cause(ctx)
	case <-p.end:
		e.gone = true
		return errDead
	}
}

type labelKey struct{}

// labelled names what happens under ctx, for the trace and for the order of events.
func labelled(ctx context.Context, what string) context.Context {
	return context.WithValue(ctx, labelKey{}, what)
}

func label(ctx context.Context) string {
	if what, ok := ctx.Value(labelKey{}).(string); ok {
		return what
	}
	loop, _ := pprof.Label(ctx, "loop")
	key, _ := pprof.Label(ctx, "key")
	return loop + "/" + key
}
