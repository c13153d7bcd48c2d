package git

import (
	"context"
	"errors"
	"sync"
)

// together lets those who ask the same at the same time share one answer, where
// the question went out after each of them came: an answer is never older than
// the wish to know.
type together struct {
	mu    sync.Mutex // guards what follows
	asked uint64     // counts who came and what went out
	under map[string]*answer
}

type answer struct {
	began uint64
	done  chan struct{}
	head  Head  // once done is closed
	err   error // likewise
}

func (t *together) do(ctx context.Context, question string, ask func() (Head, error)) (Head, error) {
	t.mu.Lock()
	t.asked++
	came := t.asked
	for {
		other := t.under[question]
		if other == nil {
			break
		}
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return Head{}, classify(ctx, ctx.Err(), nil, 0)
		case <-other.done:
		}
		if other.began > came && !errors.Is(other.err, context.Canceled) {
			return other.head, other.err
		}
		t.mu.Lock()
	}
	t.asked++
	a := &answer{began: t.asked, done: make(chan struct{}), err: context.Canceled} // until there is one
	t.under[question] = a
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.under, question)
		t.mu.Unlock()
		close(a.done)
	}()
	a.head, a.err = ask()
	return a.head, a.err
}
