package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"noxmesh/host/system"
)

// Watch hears of changes in folders. Nothing depends on it: what it does not hear
// is found by the drift timer.
type Watch interface {
	// Over makes it a watch over these folders and no others, and returns how many it hears of.
	Over(sys *system.Root, folders []string) (int, error)
	// Next waits until something is heard, or ctx ends. It is called by one goroutine.
	Next(ctx context.Context) (system.Heard, error)
}

const (
	watchMost  = 4096                   // folders: each takes about a kilobyte of the kernel's memory
	placesMost = 1024                   // that were heard of are kept apart; more are all
	quiet      = 200 * time.Millisecond // after something was heard, so that who is at it comes to an end
	breath     = quiet / 2              // between two times that the kernel is asked what it has heard
	paceMost   = 5 * time.Second        // a look may take long and cost little: it may wait for something
	share      = 10                     // at most one part in so many of the time is spent on looks that an event asked for
)

// heard is what was heard since somebody took it.
type heard struct {
	mu     sync.Mutex // guards what follows
	places map[string]struct{}
	all    bool
	lost   bool
}

func (h *heard) add(n system.Heard) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = h.lost || n.Lost
	h.all = h.all || n.All || len(h.places)+len(n.Places) > placesMost
	if h.all {
		h.places = nil
		return
	}
	if h.places == nil {
		h.places = map[string]struct{}{}
	}
	for _, p := range n.Places {
		h.places[p] = struct{}{}
	}
}

func (h *heard) take() system.Heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := system.Heard{Places: slices.Sorted(maps.Keys(h.places)), All: h.all, Lost: h.lost}
	h.places, h.all, h.lost = nil, false, false
	return n
}

// listen takes in what the watch hears, until ctx ends or it hears nothing any more.
func (r *runner) listen(ctx context.Context) error {
	if r.watch == nil {
		return nil
	}
	for {
		n, err := r.watch.Next(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end that was asked for
		}
		if err != nil {
			r.cfg.Log.Warn("what changes is found by the drift timer alone", "why", err)
			return nil
		}
		r.heard.add(n)
		nudge(r.stirred)
		if err := pause(ctx, breath); err != nil {
			return nil //nolint:nilerr // the end that was asked for
		}
	}
}

// pace is how long after an event it is looked, where a look takes cost and the
// last ended so long ago: not before it is quiet, and not so often that nothing
// else is done.
func pace(cost, ago time.Duration) time.Duration { return max(quiet, share*cost-ago) }

// stillness is how long after an event it is looked now. A whole look may have taken
// long because it had to wait for something; to look at a few things is nothing but work.
func (r *runner) stillness() time.Duration {
	return max(min(pace(r.cost, time.Since(r.looked)), paceMost), pace(r.glance, time.Since(r.glanced)))
}

// strayed looks at what was heard of: whether the host has to come. What the host
// wrote itself is as it should be.
func (r *runner) strayed() bool {
	began := time.Now()
	defer func() {
		r.glanced = time.Now()
		r.glance = r.glanced.Sub(began)
	}()
	h := r.heard.take()
	if h.All || h.Lost {
		if r.engine.StrayedAnywhere() {
			return true
		}
		r.watchOver() // what went may be there again, and is not heard of
		return false
	}
	return r.engine.Strayed(h.Places)
}

// watchOver listens to the folders in which something is held now.
func (r *runner) watchOver() {
	if r.watch == nil {
		return
	}
	folders, all := r.engine.Folders(watchMost)
	n, err := r.watch.Over(r.sys, folders)
	is := watching{n, all, ""}
	if err != nil {
		is.why = err.Error()
	}
	if is == r.watching {
		return
	}
	r.watching = is
	switch {
	case err != nil:
		r.cfg.Log.Warn("not all that changes is noticed at once", "folders", n, "of", all, "why", err)
	case n < all:
		r.cfg.Log.Info("what changes is noticed at once in some folders, and by the drift timer in the others", "folders", n, "of", all)
	}
}

// watching is what was said of the watch: of how many of how many folders it hears, and why not of all.
type watching struct {
	n, all int
	why    string
}
