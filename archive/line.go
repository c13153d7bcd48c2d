package archive

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// line makes many things side by side and hands them on in order. It holds as
// many as it has slots, however many there are to make.
type line[T any] struct {
	slots   []*T                                // reused, one after another
	next    func(*T) (more bool, err error)     // sets up the next; one at a time, in order
	work    func(context.Context, *T) error     // makes it; many at a time, begun in order
	collect func(pull func() (*T, error)) error // takes what was made; pull is nil, nil at the end
}

// ticket is one thing on the line.
type ticket[T any] struct {
	slot *T
	done chan struct{}
}

// run is over when collect has returned or anything has failed.
func (l line[T]) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	free := make(chan *T, len(l.slots))
	for _, s := range l.slots {
		free <- s
	}
	todo := make(chan ticket[T], len(l.slots))
	order := make(chan ticket[T], len(l.slots))
	enough, stop := context.WithCancel(ctx)
	group.Go(func() error {
		defer close(todo)
		defer close(order)
		return l.feed(enough, free, todo, order)
	})
	for range cores() {
		group.Go(func() error {
			for t := range todo {
				if err := l.work(ctx, t.slot); err != nil {
					return err
				}
				close(t.done)
			}
			return nil
		})
	}
	group.Go(func() error {
		defer stop()
		return l.collect(puller(ctx, free, order))
	})
	return group.Wait()
}

// feed sets up one thing after another until there is none left or nobody wants more.
func (l line[T]) feed(ctx context.Context, free <-chan *T, todo, order chan<- ticket[T]) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case slot := <-free:
			more, err := l.next(slot)
			if err != nil || !more {
				return err
			}
			t := ticket[T]{slot, make(chan struct{})}
			order <- t
			todo <- t
		}
	}
}

// puller gives the next thing in order, and takes the one before it back.
func puller[T any](ctx context.Context, free chan<- *T, order <-chan ticket[T]) func() (*T, error) {
	var held *T
	return func() (*T, error) {
		if held != nil {
			free <- held
			held = nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case t, ok := <-order:
			if !ok {
				return nil, ctx.Err()
			}
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-t.done:
				held = t.slot
				return held, nil
			}
		}
	}
}

// slots makes what a line of so many things needs to keep every core busy while
// it waits for one.
func slots[T any](things int, one func() *T) []*T {
	made := make([]*T, max(1, min(2*cores()+1, things)))
	for i := range made {
		made[i] = one()
	}
	return made
}
