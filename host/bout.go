package host

import (
	"time"

	"noxmesh/document"
	"noxmesh/report"
)

const (
	boutFrom = 3 // put back so often in a row, a resource is contested
	boutOver = 3 // drift periods for which it stays right, and then it is not any more
)

// bout is what is remembered of a resource that was put back: something else may
// be changing it again and again. It is of this process alone. After a restart the
// host puts back as often as at first before it knows again.
type bout struct {
	digest document.Digest // what it is to be; something else is another matter
	since  time.Time       // when it was put back first
	back   time.Time       // and last
	wrong  time.Time       // when it was last not as declared
	count  int64           // how often it was put back
}

// look is the bout after a look that found its resource like that.
func (b bout) look(r report.Resource, now time.Time, period time.Duration) bout {
	if b.digest != r.Digest || now.Sub(b.wrong) >= boutOver*period {
		b = bout{digest: r.Digest}
	}
	if r.Fixed {
		if b.count == 0 {
			b.since = now
		}
		b.count++
		b.back = now
	}
	if b.count > 0 && r.State != report.StateOK {
		b.wrong = now
	}
	return b
}

// contested reports whether two write what it is of.
func (b bout) contested() bool { return b.count >= boutFrom }

// until is when it is put back again at the earliest: at once at first, and then
// twice as long after the last time, each time, up to a period of the drift timer.
func (b bout) until(first, period time.Duration) time.Time {
	if !b.contested() {
		return b.back
	}
	wait := first
	for n := b.count; n > boutFrom && wait < period; n-- {
		wait *= 2
	}
	return b.back.Add(min(wait, period))
}

// bouts is those of a node, by resource.
type bouts map[string]bout

// spared is what is not put back yet, by resource: what each is to be; and when
// the first of those is that wait for it.
func (all bouts) spared(now time.Time, first, period time.Duration) (spared map[string]document.Digest, next time.Time) {
	for id, b := range all {
		until := b.until(first, period)
		if !now.Before(until) {
			continue
		}
		if spared == nil {
			spared = map[string]document.Digest{}
		}
		spared[id] = b.digest
		if b.wrong.After(b.back) && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return spared, next
}

// look takes in what a pass has found, and says of each that is contested that it is.
func (all bouts) look(found []report.Resource, now time.Time, period time.Duration) {
	seen := map[string]bool{}
	for i := range found {
		r := &found[i]
		was, had := all[r.ID]
		if !had && !r.Fixed {
			continue
		}
		b := was.look(*r, now, period)
		if b.count == 0 {
			continue
		}
		all[r.ID], seen[r.ID] = b, true
		if b.contested() {
			r.Contested = &report.Contested{Since: b.since.UnixMilli(), Count: b.count}
		}
	}
	for id := range all {
		if !seen[id] {
			delete(all, id)
		}
	}
}
