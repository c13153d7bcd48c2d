package controller

import (
	"context"
	"errors"
	"sync"

	"noxmesh/internal/db"
)

// small is the many small writes that nodes cause: those that come while one
// commit is under way share the next. None waits for anything but the commit
// before its own, so that a write alone is as quick as any; each is told only
// once the commit that holds it is durable, and one that fails takes none of the
// others with it.
type small struct {
	to   func(context.Context, func(*db.Tx) error) error
	turn chan struct{} // holds the one token of whoever commits

	mu    sync.Mutex // guards queue
	queue []*smallWrite
}

type smallWrite struct {
	f    func(*db.Tx) error
	err  error
	done chan struct{}
}

// smallAtOnce is how many share one commit: what comes after a thousand writes
// has waited long enough.
const smallAtOnce = 1024

func newSmall(to func(context.Context, func(*db.Tx) error) error) *small {
	return &small{to: to, turn: make(chan struct{}, 1)}
}

// write is one write that shares a commit. f may be run more than once.
func (s *small) write(ctx context.Context, f func(*db.Tx) error) error {
	w := &smallWrite{f: f, done: make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, w)
	s.mu.Unlock()
	for {
		select {
		case <-w.done:
			return w.err
		case s.turn <- struct{}{}:
		}
		// Others' writes are among them: they do not end with this caller.
		s.commit(context.WithoutCancel(ctx))
		<-s.turn
	}
}

// commit writes what has come so far.
func (s *small) commit(ctx context.Context) {
	s.mu.Lock()
	n := min(len(s.queue), smallAtOnce)
	batch := s.queue[:n:n]
	s.queue = s.queue[n:]
	s.mu.Unlock()
	if n == 0 {
		return
	}
	err := s.to(ctx, func(tx *db.Tx) error {
		for _, w := range batch {
			w.err = nil
			if err := part(tx, w, n); err != nil {
				return err
			}
		}
		return nil
	})
	for _, w := range batch {
		if err != nil {
			w.err = err
		}
		close(w.done)
	}
}

// part runs one write of several; alone it needs no protection from others. It
// returns what ends all of them.
func part(tx *db.Tx, w *smallWrite, of int) error {
	if of == 1 {
		return w.f(tx)
	}
	var spoilt *db.Spoilt
	if w.err = tx.Part(w.f); errors.As(w.err, &spoilt) {
		return w.err
	}
	return nil
}
