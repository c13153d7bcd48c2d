package sim

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

// program is one life of one of the programs, from its start to its death.
type program struct {
	w     *world
	name  string
	life  int             // how many came before it
	ctx   context.Context //nolint:containedctx // ends with this life
	kill  context.CancelFunc
	end   chan struct{} // closed at its death
	dead  atomic.Bool
	runs  sync.WaitGroup
	why   error // what ended it, where it ended by itself
	asked atomic.Uint64
	host  bool // it runs on a node
	cut   bool // the network between it and the broker is down
}

// begin makes a new life.
func (w *world) begin(name string) *program {
	w.lives[name]++
	p := &program{w: w, name: name, life: w.lives[name], end: make(chan struct{})}
	p.ctx, p.kill = context.WithCancel(w.ctx)
	p.ctx = pprof.WithLabels(p.ctx, pprof.Labels("sim", name))
	return p
}

// goes runs a part of the program, on a hand that is free where there is one: its
// stack has grown already.
func (p *program) goes(f func(ctx context.Context)) {
	p.runs.Add(1)
	job := func() {
		defer p.runs.Done()
		pprof.SetGoroutineLabels(p.ctx)
		f(p.ctx)
	}
	w := p.w
	w.mu.Lock()
	n := len(w.free)
	if n == 0 {
		w.mu.Unlock()
		go w.hand(job)
		return
	}
	hand := w.free[n-1]
	w.free = w.free[:n-1]
	w.mu.Unlock()
	hand <- job
}

// hand does one job after another, until the seed ends.
func (w *world) hand(job func()) {
	next := make(chan func(), 1)
	for {
		job()
		w.mu.Lock()
		w.free = append(w.free, next)
		w.mu.Unlock()
		select {
		case job = <-next:
		case <-w.ctx.Done():
			return
		}
	}
}

// die ends the program here: nothing that it does from now on has an effect.
func (p *program) die() {
	if p.dead.CompareAndSwap(false, true) {
		close(p.end)
		p.kill()
	}
}

// random is a number below n that depends on the seed, the program, the moment
// and how often it has asked.
func (p *program) random(n int64) int64 {
	if n <= 0 {
		return 0
	}
	h := fnv.New64a()
	var b [40]byte
	binary.LittleEndian.PutUint64(b[:], p.w.seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(time.Now().UnixNano()))
	binary.LittleEndian.PutUint64(b[16:], uint64(p.life))
	binary.LittleEndian.PutUint64(b[24:], uint64(n))
	binary.LittleEndian.PutUint64(b[32:], p.asked.Add(1))
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(p.name))
	x := h.Sum64()
	x ^= x >> 33 // fnv's high bits move little with the last bytes
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return int64(x % uint64(n))
}

func (p *program) float() float64 { return float64(p.random(1<<53)) / (1 << 53) }
