package host

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/fault"
	"noxmesh/link"
	"noxmesh/report"
)

// Link is the open connection to the mesh.
type Link interface {
	// Request sends data and gives the answer. Side by side from several
	// goroutines. Without an answer it is fault.Unavailable.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)
	// Changed is sent to after every connect. It has one reader.
	Changed() <-chan struct{}
}

// Depots is the registries that declarations name.
type Depots interface {
	// At is the one with this address, or the mesh's own for "". Called by one
	// goroutine at a time.
	At(base string) (Blobs, error)
}

// How long an answer is waited for.
const answerWait = 20 * time.Second

// runner is the loops of a node and what they share. Each loop sleeps until it
// is nudged or its time has come; many nudges are one.
type runner struct {
	*node
	member *member
	link   Link
	depots Depots
	random func(n int64) int64
	hold   func(things int)
	rest   func()
	watch  Watch // nil for none
	pulse  *pulse

	began     declaration.Tuple // what was accepted before this process
	pushes    chan []byte       // the latest declaration that was pushed and not yet judged
	hello     chan struct{}     // say hello now
	applies   chan struct{}     // something else is wanted
	elsewhere chan struct{}     // the same is wanted, and its bytes are somewhere else
	reports   chan struct{}     // there is a report, or a link to send it on
	wrong     map[string]string // by resource: why it was not as declared at the last pass
	heard     heard             // by the watch, and not looked at
	stirred   chan struct{}     // something was heard
	watching  watching          // of the loop that applies, and so are the next four
	cost      time.Duration     // of the last pass that changed nothing
	looked    time.Time         // when the last pass ended
	glance    time.Duration     // that the last look at what was heard of took
	glanced   time.Time         // and when it ended
	fresh     int64             // when the last answer to a hello was given, by the controller's clock; of the loop that says hello

	unconfirmed bool // this version has not completed a pass since its package has put it there
}

func newRunner(n *node, m *member, l Link, d Depots) *runner {
	return &runner{
		node: n, member: m, link: l, depots: d, random: rand.Int64N, hold: func(int) {}, rest: func() {}, began: m.accepted,
		pulse:  newPulse(n.cfg.Manager, n.cfg.Log),
		pushes: make(chan []byte, 1), hello: make(chan struct{}, 1),
		stirred: make(chan struct{}, 1),
		applies: make(chan struct{}, 1), elsewhere: make(chan struct{}, 1), reports: make(chan struct{}, 1),
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// push takes a message in place of the one before: what is lost here, the
// answer to the next hello repairs.
func (r *runner) push(data []byte) {
	select {
	case <-r.pushes:
	default:
	}
	select {
	case r.pushes <- data:
	default:
	}
}

// hear judges what is pushed.
func (r *runner) hear(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case data := <-r.pushes:
			envelope, err := link.DecodeEnvelope(data)
			if astray(data, envelope) {
				r.cfg.Log.Warn("ignored an answer to somebody else", "type", string(envelope.PayloadType))
				continue
			}
			if err != nil {
				r.member.refuse(err)
				r.cfg.Log.Warn("refused what is no declaration", "why", err)
				nudge(r.hello)
				continue
			}
			r.consider(envelope)
		}
	}
}

// astray reports whether a message is an answer of the mesh: a node may name
// another's subject for the answer to its own question. What anybody can have
// sent here says nothing of this node, and is not even refused.
func astray(data []byte, e link.Envelope) bool {
	return len(data) == 0 || e.PayloadType == link.TypeHelloAnswer || e.PayloadType == link.TypeReceipt
}

// consider judges a declaration and says hello at once: that is the receipt.
func (r *runner) consider(envelope link.Envelope) {
	v, err := r.member.judge(envelope)
	if err == nil {
		r.member.rise()
	}
	switch {
	case err != nil:
		r.cfg.Log.Error("a declaration could not be kept", "why", err)
		if r.member.fall(err) {
			nudge(r.hello)
		}
		return // the next answer to a hello brings it again
	case v == accepted:
		t := r.member.hello().Accepted
		r.cfg.Log.Info("accepted", "epoch", t.Epoch, "generation", t.Generation, "digest", t.Digest.Short())
		nudge(r.hello)
		nudge(r.applies)
	case v == refused:
		r.cfg.Log.Warn("refused a declaration", "why", r.member.hello().Refused.Why)
		nudge(r.hello)
	case v == moved:
		r.cfg.Log.Info("the bytes of what was accepted are somewhere else now")
		nudge(r.hello)
		nudge(r.elsewhere)
	case v == nothingNew:
		nudge(r.hello) // whoever sent it has not heard that it was accepted
	}
}

// speak says hello: on connect, when nudged, and now and then.
func (r *runner) speak(ctx context.Context) error {
	wait := r.cfg.BackoffMost // the first hello is the connect's
	backoff := r.cfg.Backoff
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-r.link.Changed():
			nudge(r.reports)
		case <-r.hello:
		case <-timer.C:
		}
		timer.Stop()
		err := r.greet(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end that was asked for
		}
		if err != nil {
			r.cfg.Log.Warn("hello", "why", err)
			wait, backoff = r.jitter(backoff), min(2*backoff, r.cfg.Heartbeat)
			continue
		}
		wait, backoff = r.cfg.Heartbeat/2+time.Duration(r.random(int64(r.cfg.Heartbeat/2))), r.cfg.Backoff
		if err := pause(ctx, greetGap); err != nil {
			return nil //nolint:nilerr // the end that was asked for
		}
	}
}

// greetGap lies between two hellos, whoever asks for them: a stranger who may
// push is no stranger who may make the node shout.
const greetGap = 200 * time.Millisecond

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// jitter is d, a tenth more or less.
func (r *runner) jitter(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(r.random(int64(d/5+1)))
}

// greet says hello and takes in the answer.
func (r *runner) greet(ctx context.Context) error {
	h := r.member.hello()
	fresh := r.fresh
	h.Boot, h.Host, h.At, h.FreshAt = r.boot, r.cfg.Version, clock.Now().UnixMilli(), &fresh
	var err error
	r.mu.Lock()
	h.Applied = r.state.Applied
	h.Counter, err = r.counter.Next()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	payload, err := r.ask(ctx, question{link.VerbHello, link.TypeHello, h, link.TypeHelloAnswer})
	if err != nil {
		return err
	}
	a, err := link.DecodeHelloAnswer(payload)
	if err != nil {
		return err
	}
	if a.Mesh != h.Mesh || a.Node != h.Node || a.Counter != h.Counter {
		return fault.New(fault.Denied, "an answer to hello %d of node %q in mesh %q, this is %d of %q in %q",
			a.Counter, a.Node, a.Mesh, h.Counter, h.Node, h.Mesh)
	}
	r.fresh = a.At
	if a.After >= h.Counter {
		return r.goOnAbove(a.After)
	}
	if a.Declaration != nil {
		r.consider(*a.Declaration)
	} else if a.Current {
		r.member.rise() // what could not be kept is wanted no more
	} else if a.Why != "" {
		r.cfg.Log.Warn("the mesh has nothing for this node", "why", a.Why)
	}
	return nil
}

// apply applies: at the start, when something is declared, on the drift timer,
// and again after a failure.
func (r *runner) apply(ctx context.Context) error {
	cause, backoff := report.CauseStart, r.cfg.Backoff
	r.begin()
	for ctx.Err() == nil {
		d, tuple := r.member.wanted()
		if cause == report.CauseStart && tuple != r.began {
			cause = report.CauseDeclaration // it came while the host was starting
		}
		wait, next := r.jitter(r.cfg.Drift), report.CauseDrift
		was := r.unconfirmed
		if r.attempt(ctx, aim{d, tuple}, cause) {
			backoff = r.cfg.Backoff
			if soon := r.engine.Soon(); soon > 0 {
				wait = min(wait, soon)
			}
		} else {
			wait, next = min(wait, r.jitter(backoff)), cause
			backoff = min(2*backoff, r.cfg.BackoffMost)
		}
		wait = r.spared(wait)
		if was != r.unconfirmed {
			wait = confirmedWait // what waited for that goes on
		}
		cause = r.until(ctx, wait, tuple, next)
	}
	return nil
}

// spared is how long it is until something that is left alone for a while is put
// back, where that is less than wait.
func (r *runner) spared(wait time.Duration) time.Duration {
	now := clock.Now()
	if _, next := r.bouts.spared(now, r.cfg.Backoff, r.cfg.Drift); !next.IsZero() {
		return min(wait, next.Sub(now))
	}
	return wait
}

// confirmedWait is until the next pass of a version whose first one has confirmed it.
const confirmedWait = time.Second

// attempt is one pass; whether all is as declared.
func (r *runner) attempt(ctx context.Context, d aim, cause report.Cause) bool {
	if d.tuple == none {
		r.completed("nothing is declared yet")
		return true
	}
	done, err := r.applyOnce(ctx, d, cause)
	if err != nil && ctx.Err() == nil {
		r.cfg.Log.Error("apply", "why", err)
	}
	return done
}

// until waits for a reason to apply: another declaration than the one that was
// tried, the same with its bytes elsewhere, the time for the next look, or
// something that is not as it was read back. Where nothing else is, the cause is next.
func (r *runner) until(ctx context.Context, wait time.Duration, tried declaration.Tuple, next report.Cause) report.Cause {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var still <-chan time.Time
	awake, sleep := r.pulse.awake()
	defer sleep()
	for {
		r.pulse.beat()
		select {
		case <-ctx.Done():
			return next
		case <-timer.C:
			return next
		case <-r.stirred:
			if still == nil {
				still = time.After(r.stillness())
			}
		case <-still:
			if still = nil; r.strayed() {
				return report.CauseEvent
			}
		case <-awake:
		case <-r.elsewhere: // what could not be got may be there
			return next
		case <-r.applies:
			if _, tuple := r.member.wanted(); tuple != tried {
				return report.CauseDeclaration
			}
		}
	}
}

// applyOnce is one pass and its report; done where all is as declared.
func (r *runner) applyOnce(ctx context.Context, d aim, cause report.Cause) (bool, error) {
	from, err := r.depots.At(d.Where.Registry)
	if err != nil {
		return false, err
	}
	if r.unconfirmed {
		from = brief{from, time.Now().Add(linkPatience)}
	}
	r.hold(len(d.Body.Resources) + r.engine.Size())
	began := time.Now()
	rep, err := r.pass(ctx, d, cause, where{d.Where, from, sync.OnceValues(func() (map[document.Digest]string, error) { return r.member.inline(d.tuple) })})
	r.looked = time.Now()
	if err == nil && differing(rep) == 0 {
		r.cost = r.looked.Sub(began)
	}
	r.watchOver()
	if rep.Sequence == 0 {
		return false, err
	}
	r.completed(summary(rep))
	r.toBeTold(rep)
	r.complain(rep)
	r.hold(r.engine.Size())
	if rep.Applied == rep.Accepted {
		r.member.lighten(rep.Accepted)
	}
	if cause != report.CauseDrift || differing(rep) > 0 {
		r.rest()
	}
	r.cfg.Log.Info("looked", "cause", string(cause), "outcome", string(rep.Outcome), "generation", rep.Accepted.Generation,
		"not as declared", differing(rep))
	return rep.Applied == rep.Accepted && err == nil, err
}

// differing is how many resources were not simply as declared.
func differing(r report.Report) int {
	n := 0
	for _, res := range r.Resources {
		if res.State != report.StateOK {
			n++
		}
	}
	return n
}
