package builder

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/builder/shelf"
	"noxmesh/builder/supply"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/link"
)

const (
	logPart  = 256 << 10 // of a log in one message
	whyMost  = 4 << 10   // of an answer's why
	patience = 8         // sendings of one answer before other work goes on
)

// builder is the running program.
type builder struct {
	config   Config
	state    state
	caller   *caller
	workshop *workshop
	sandbox  runs   // nil where there is none
	lacks    string // which limits the machine does not give it
	why      string // then: why
	refused  bool   // then: it was a disk, and it may be well again
	git      Forge
	images   images
	shelf    *shelf.Shelf   // of libraries
	supply   *supply.Supply // nil where what lock files name is not fetched
	registry func(build.Request) (Registry, error)
	random   func(n int64) int64
	log      *slog.Logger

	counter counter
	unkept  *kept // an answer that the disk did not take, to be kept when it does

	sent  map[string]int64 // of the logs whose answers have no receipt: how much of each is away
	tries map[string]int   // of the kept answers: how often each was refused or unheard
}

// loop takes one request after the other until ctx ends.
func (b *builder) loop(ctx context.Context) error {
	wait := backoff{random: b.random}
	for ctx.Err() == nil {
		began := time.Now()
		made, err := b.turn(ctx)
		if err != nil {
			if ctx.Err() == nil {
				b.log.Warn("no work", "why", said(err))
			}
			wait.pause(ctx)
			continue
		}
		wait.reset()
		if !made { // there may be more where there was work; a "nothing" that comes at once must not be asked for a thousand times
			pause(ctx, time.Second-time.Since(began))
		}
	}
	return nil
}

// turn brings away what is kept, asks for one request, and makes it. Made is
// whether one was, and its answer has its receipt.
func (b *builder) turn(ctx context.Context) (made bool, err error) {
	if b.refused {
		b.trySandbox(ctx)
	}
	wrong := b.wrong()
	if err := b.bringAway(ctx); err != nil {
		if !disk.Refused(err) {
			return false, err
		}
		wrong = append(wrong, said(err))
	}
	counter, unkept, err := b.state.count(&b.counter)
	if err != nil {
		return false, err
	}
	if unkept != nil {
		wrong = append(wrong, said(unkept))
	}
	unwell := strings.Join(wrong, "; ")
	grant, err := b.caller.work(ctx, link.Work{
		Format: link.Format, Mesh: b.caller.me.Mesh, Builder: b.caller.me.Builder, Counter: counter,
		Version: b.config.Version, Platform: Platform, Sandbox: b.why, Lacks: b.lacks, Unwell: bounded(unwell), Checks: true, Speaks: []int{build.Format},
	})
	if err == nil && unwell != "" && (grant == nil || b.unkept != nil) {
		return false, fault.New(fault.Unavailable, "%s", unwell) // it was said, and none was asked for
	}
	if unwell != "" {
		b.log.Warn("this builder is not well", "why", unwell)
	}
	if err != nil || grant == nil {
		return false, err
	}
	if unwell = cmp.Or(strings.Join(b.wrong(), "; "), unwell); unwell != "" {
		// It was well when it asked, and while it waited its disk has filled. The next
		// question says so, and what it was given goes to another.
		return false, fault.New(fault.Unavailable, "request %s is not begun: %s", grant.request.ID, unwell)
	}
	if made, err = b.take(ctx, *grant); err != nil {
		return false, err
	}
	return made, b.bringAway(ctx)
}

// take makes one request and keeps its answer.
func (b *builder) take(ctx context.Context, g grant) (made bool, err error) {
	id := g.request.ID
	waiting, err := b.state.has(id)
	if err != nil || waiting {
		return false, err // it was made before, and its answer goes out with the next turn
	}
	b.log.Info("building", "module", g.request.Module, "commit", g.request.Commit, "request", id)
	log := &logbook{hides: b.caller.me.secrets()}
	began := clock.Now()
	result, end := b.make(ctx, g, log, began)
	log.Close()
	if ctx.Err() != nil {
		return false, nil //nolint:nilerr // the builder stops: the lease runs out, and another makes it
	}
	answer := b.describe(g.request, result, end)
	answer.Began, answer.Ended = began.UnixMilli(), began.Add(time.Since(began)).UnixMilli()
	answer.Log, answer.LogSize, answer.Steps = document.Sum(log.Text()), int64(len(log.Text())), log.Steps()
	answer = sayable(answer)
	b.log.Info("built", "module", g.request.Module, "request", id, "outcome", answer.Outcome, "step", answer.Step, "tests", answer.Tests, "took", shortly(time.Since(began)))
	envelope, err := link.Seal(b.caller.me.key, link.TypeBuildAnswer, answer)
	if err != nil {
		return false, err
	}
	b.unkept = &kept{id, envelope, log.Text()}
	return true, b.keep()
}

// keep puts on the disk what waits for that in memory: a build is not made again
// because the disk was full when it was done.
func (b *builder) keep() error {
	if b.unkept == nil {
		return nil
	}
	err := b.state.keep(*b.unkept)
	if err == nil {
		b.unkept = nil
	}
	return err
}

// wrong is why no work can be taken now, each reason of several: what would be
// built could not be kept.
func (b *builder) wrong() (all []string) {
	for _, err := range []error{b.keep(), enoughFree(b.workshop.dir, b.config.Limits)} {
		if err != nil {
			all = append(all, said(err))
		}
	}
	return all
}

// make is the build itself, with the lease extended beside it.
func (b *builder) make(ctx context.Context, g grant, log *logbook, began time.Time) (*made, *ending) {
	bench, err := b.workshop.fresh(g.request.ID)
	if err != nil {
		return nil, environment("%s", said(err))
	}
	registry, err := b.registry(g.request)
	if err != nil {
		return nil, environment("%s", said(err))
	}
	defer registry.Close()
	libraries, err := b.librariesFor(g.request, bench)
	if err != nil {
		return nil, environment("%s", said(err))
	}
	o := &order{
		request: g.request, git: b.git, images: b.images, shelf: libraries, registry: registry, bench: bench,
		sandbox: b.sandbox, noSandbox: b.why, lacks: b.lacks, limits: b.config.Limits, most: b.config.Most, random: b.random, log: log,
		gateway: b.openGateway(g.request.Registry, log), supply: b.supply, outside: b.outside(g.request.Registry), fresh: g.request.Check != "",
		signs: signer{b.caller.me.Builder, b.caller.me.key}, given: began,
	}
	building, end := context.WithCancelCause(ctx)
	beside, done := context.WithCancel(building)
	group := errgroup.Group{}
	group.Go(func() error {
		b.accompany(beside, g, log, end)
		return nil
	})
	result, ended := o.run(building)
	done()
	_ = group.Wait() // it has no error of its own
	end(nil)
	if ended != nil {
		why, _, _ := strings.Cut(ended.Error(), "\n")
		log.Note("== %s: %s", ended.outcome, why)
	}
	if err := bench.clear(); err != nil {
		b.log.Warn("a bench stays until the next start", "why", err)
	}
	return result, ended
}

// ownRegistry is the way to publish one request: with this builder's credential,
// and for as long as it holds the request open.
func (b *builder) ownRegistry(r build.Request) (Registry, error) {
	me := b.caller.me
	config := oci.Config{Base: r.Registry, User: me.Builder, Secret: oci.Secret(me.secret.Reveal()), RequestID: r.ID}
	if me.joined.CA != "" {
		var err error
		if config.TLS, err = link.ClientTLS([]byte(me.joined.CA)); err != nil {
			return nil, err
		}
	}
	return oci.New(config)
}

// How often a builder says that it is working: while there is something new to
// say, and while there is not. What it is answered ends what nobody wants any more.
const (
	sayEvery   = 3 * time.Second
	quietEvery = 6 * time.Second
)

// accompany extends the lease and brings the log away while a build goes on. A
// message that is lost is no reason to end it: the answer is still wanted.
func (b *builder) accompany(ctx context.Context, g grant, log *logbook, end context.CancelCauseFunc) {
	every := min(max(g.lease/3, 100*time.Millisecond), sayEvery)
	tick := time.NewTicker(every)
	defer tick.Stop()
	said, silent := "nothing", 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		id := g.request.ID
		part := log.From(b.sent[id], logPart)
		step, elapsed := log.Now()
		if silent++; part == "" && step == said && mayKeepSilent(silent, every, g.lease) {
			continue
		}
		receipt, err := b.caller.working(ctx, link.Working{Request: id, Offset: b.sent[id], Log: part, Step: step, Elapsed: elapsed.Milliseconds()})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			b.log.Warn("the lease could not be extended", "request", id, "why", err)
			continue
		case receipt.Stop != "":
			end(&stopped{receipt.Stop})
			return
		}
		b.sent[id] += int64(len(part))
		said, silent = step, 0
	}
}

// mayKeepSilent reports whether a builder with nothing new to say need not say so
// yet, after so many times that it could have.
func mayKeepSilent(times int, every, lease time.Duration) bool {
	return time.Duration(times+1)*every <= min(lease/3, quietEvery)
}

// bringAway sends every kept answer, the rest of its log first, and forgets
// those whose receipt came. No work is asked for before that, except where an
// answer was sent so often that waiting on would only make the builder idle.
func (b *builder) bringAway(ctx context.Context) error {
	ids, err := b.state.waiting()
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := b.bring(ctx, id)
		if err == nil {
			delete(b.sent, id)
			delete(b.tries, id)
			continue
		}
		if b.tries[id]++; b.tries[id] <= patience || ctx.Err() != nil {
			return err
		}
		b.log.Warn("an answer stays here", "request", id, "tries", b.tries[id], "why", err)
	}
	return nil
}

func (b *builder) bring(ctx context.Context, id string) error {
	k, err := b.state.read(id)
	if err != nil {
		return err
	}
	b.bringLog(ctx, k)
	receipt, err := b.caller.answer(ctx, k)
	if err != nil {
		return err
	}
	if receipt.Stop != "" {
		b.log.Warn("the mesh does not want an answer", "request", id, "why", receipt.Stop)
	}
	return b.state.drop(id)
}

// bringLog sends what is left of a log. What cannot be sent is lost to
// watchers, and no reason to hold the answer back.
func (b *builder) bringLog(ctx context.Context, k kept) {
	book := &logbook{text: k.log, closed: true}
	for {
		part := book.From(b.sent[k.request], logPart)
		if part == "" {
			return
		}
		receipt, err := b.caller.working(ctx, link.Working{Request: k.request, Offset: b.sent[k.request], Log: part})
		if err != nil || receipt.Stop != "" {
			b.log.Warn("the rest of a log stays here", "request", k.request, "stop", receipt.Stop, "why", err)
			return
		}
		b.sent[k.request] += int64(len(part))
	}
}

// describe is the answer to a request, all but its times and its log.
func (b *builder) describe(r build.Request, m *made, end *ending) build.Answer {
	a := build.Answer{Format: build.Format, Mesh: b.caller.me.Mesh, Request: r.ID, Builder: b.caller.me.Builder}
	if end == nil {
		if err := describeBuilt(&a, m); err != nil {
			end = environment("%s", said(err))
		}
	}
	if end != nil {
		a.Outcome, a.Step, a.Why = end.outcome, end.step, bounded(string(hidden(b.caller.me.secrets(), []byte(end.why))))
	}
	return a
}

// sayable is the answer, or where no controller would read it an answer that
// says so: a manifest that is fine by itself may name more than an answer holds.
func sayable(a build.Answer) build.Answer {
	_, err := a.Encode()
	if err == nil {
		return a
	}
	b := build.Answer{
		Format: a.Format, Mesh: a.Mesh, Request: a.Request, Builder: a.Builder, Steps: a.Steps, Log: a.Log, LogSize: a.LogSize, Began: a.Began, Ended: a.Ended,
		Outcome: build.OutcomeFailed, Step: build.StepPublish, Why: bounded("say what was built: " + said(err)),
	}
	if surroundings(err) {
		b.Outcome, b.Step = build.OutcomeEnvironment, ""
	}
	return b
}

func describeBuilt(a *build.Answer, m *made) error {
	id, err := m.manifest.BuildDigest()
	if err != nil {
		return err
	}
	content, err := m.manifest.ContentDigest()
	if err != nil {
		return err
	}
	a.Outcome, a.Build, a.Content, a.Manifest = build.OutcomeBuilt, id, content, &m.manifest
	a.Published, a.Where, a.Tests, a.Provenance = m.published, &m.where, m.tests, m.provenance
	return nil
}

// bounded is the end of a long why, valid UTF-8.
func bounded(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if over := len(s) - whyMost; over > 0 {
		s = "…" + s[lineStart([]byte(s), over):]
	}
	return s
}
