package oci

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// watch ends a transfer that is slower than the minimum rate for as long as the
// client is patient, or that takes longer in all than the minimum rate allows: of
// the mesh's own registry it is known what it can do. Somebody else's
// (internal/oci/remote) has no least rate, and is given up when it stands still.
type watch struct {
	moved  atomic.Int64
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// watch begins to watch a transfer of size bytes. Its context ends with the watch.
func (c *Client) watch(ctx context.Context, size int64) (context.Context, *watch) {
	total := c.cfg.Patience + time.Duration(float64(size)/float64(c.cfg.MinRate)*float64(time.Second))
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{cancel: cancel}
	least := int64(c.cfg.Patience.Seconds() * float64(c.cfg.MinRate))
	left := total
	var last int64
	started := make(chan struct{}) // the timer may run before w.timer is set
	w.timer = time.AfterFunc(c.cfg.Patience, func() {
		<-started
		now := w.moved.Load()
		left -= c.cfg.Patience
		switch {
		case now-last < min(least, size):
			cancel(fmt.Errorf("slower than %d bytes a second for %s", c.cfg.MinRate, c.cfg.Patience))
		case left <= 0:
			cancel(fmt.Errorf("not done after %s", total))
		default:
			last = now
			w.timer.Reset(c.cfg.Patience)
		}
	})
	close(started)
	return ctx, w
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

func (w *watch) reader(r io.Reader) io.Reader { return &watched{r, w} }

type watched struct {
	from io.Reader
	w    *watch
}

// Read reads, and tells the watch.
func (r *watched) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.w.moved.Add(int64(n))
	return n, err
}
