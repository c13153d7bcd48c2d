package builder

import (
	"context"
	"time"
)

// The waits after a question that got no answer: from the first to the longest,
// twice as long each time, and spread so that builders do not come all at once.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
)

type backoff struct {
	random func(n int64) int64
	next   time.Duration
}

func (b *backoff) reset() { b.next = 0 }

func (b *backoff) pause(ctx context.Context) {
	b.next = min(max(2*b.next, firstPause), longestPause)
	pause(ctx, b.next/2+time.Duration(b.random(int64(b.next/2))))
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
