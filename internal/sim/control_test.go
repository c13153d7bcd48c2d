package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing/synctest"
	"time"

	"noxmesh/api"
	"noxmesh/builder"
	"noxmesh/controller"
	"noxmesh/internal/bus"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/invariant"
	"noxmesh/link"
)

// control is one life of a controller.
type control struct {
	*program
	record   string // the file
	holder   string
	db       *db.DB
	is       *controller.Controller
	client   *api.Client
	handlers map[link.Verb]bus.Handler
	met      map[string]bool // the nodes whose hello it has answered
	alone    bool            // it cannot be reached over the network any more
	stood    standing        // what stood in the record after its last write
}

func (w *world) controllerConfig(p *program) controller.Config {
	c := controller.Default()
	c.Dir, c.Names = w.dir, []string{"mesh.test"}
	c.Platform, c.Limit, c.Every, c.Hello = builder.Platform, 3*time.Minute, time.Minute, time.Minute
	c.Lease, c.Version, c.Log = time.Minute, "sim", w.logger(p)
	return c
}

// raise starts a controller on a record, as the holder of this name. It is nil,
// and says why, where the record does not let it.
func (w *world) raise(name, record, holder string) *control {
	c := &control{program: w.begin(name), record: record, holder: holder, handlers: map[link.Verb]bus.Handler{}, met: map[string]bool{}}
	c.db = w.open(record)
	if _, err := c.db.Resume(w.ctx, holder); err != nil {
		w.note(name, "does not start: %v", err)
		w.leave(record, c.db)
		return nil
	}
	rim := controller.Rim{
		Record: ledger{c}, Forge: eyes{w, c.program}, Bus: wire{c}, Registry: shelf{c.program}, Members: door{},
		At: controller.Addresses{API: "https://mesh.test:7443", Broker: "tls://mesh.test:7222", Registry: "https://mesh.test:7443"}, Random: c.float,
	}
	c.is = controller.On(w.controllerConfig(c.program), w.who, rim)
	c.client = api.OverHandler(c.is.Operator())
	w.controllers = append(w.controllers, c)
	w.note(name, "starts in epoch %d", c.db.Epoch())
	c.goes(func(ctx context.Context) {
		if err := c.is.Loops(ctx); err != nil && ctx.Err() == nil {
			c.why = err
		}
	})
	for _, n := range w.nodes { // the broker is the controller's own: everybody connects anew
		n.reconnect()
	}
	return c
}

// open opens a record: on the connections of one who is gone, where there is one,
// since to make them is what opening costs.
func (w *world) open(record string) *db.DB {
	if had := w.opened[record]; len(had) > 0 {
		w.opened[record] = had[1:]
		return had[0].Anew()
	}
	d, err := db.Open(w.ctx, "sqlite:"+record)
	w.must(err)
	return d
}

// leave is that whoever had opened a record is gone: it stays as a killed process
// leaves it.
func (w *world) leave(record string, d *db.DB) { w.opened[record] = append(w.opened[record], d) }

// shut closes what has been left open of a record, for its file to be replaced.
func (w *world) shut(record string) {
	for _, d := range w.opened[record] {
		w.must(d.Close())
	}
	delete(w.opened, record)
}

// bury waits for a killed controller to be gone.
func (w *world) bury(c *control) {
	c.die()
	c.runs.Wait()
	w.leave(c.record, c.db)
	for i, other := range w.controllers {
		if other == c {
			w.controllers = append(w.controllers[:i:i], w.controllers[i+1:]...)
		}
	}
}

// server is a controller that hears what comes over the broker now, or nil.
func (w *world) server() *control {
	var all []*control
	for _, c := range w.controllers {
		if !c.dead.Load() && !c.alone && len(c.handlers) > 0 {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.rng.IntN(len(all))]
}

// ledger is the record as its controller has it: each transaction is an event,
// and the controller may die before it, after it, or find the disk full.
type ledger struct{ c *control }

// Epoch is the record's.
func (l ledger) Epoch() int64 { return l.c.db.Epoch() }

// on is for whom the record is used. Who of those that share a reading or a
// commit begins it is chance, so that it has no name: it ends with nobody.
func on(ctx context.Context) string {
	if ctx.Done() == nil {
		return "all"
	}
	return label(ctx)
}

// Read is the record's.
func (l ledger) Read(ctx context.Context, f func(*db.Tx) error) error {
	if err := l.c.turn(ctx, "reads for "+on(ctx)); err != nil {
		return fault.Wrap(fault.Unavailable, err, "read the record")
	}
	return l.c.db.Read(ctx, f)
}

// Write is the record's.
func (l ledger) Write(ctx context.Context, f func(*db.Tx) error) error {
	w := l.c.w
	if err := l.c.turn(ctx, "writes for "+on(ctx)); err != nil {
		return fault.Wrap(fault.Unavailable, err, "write to the record")
	}
	switch {
	case w.dies(l.c.program):
		w.note(l.c.name, "is killed before the write")
		l.c.die()
		return fault.Wrap(fault.Unavailable, errDead, "write to the record")
	case w.chance(0.005):
		w.note(l.c.name, "has a full disk")
		w.unsaid[on(ctx)] = true
		return fault.New(fault.Unavailable, "write to the record: no space left on device")
	}
	// It is drawn now: a transaction may have to wait for another goroutine, and
	// then it ends beside others that run.
	killed := w.dies(l.c.program)
	err := l.strictly(ctx, f)
	if killed && !l.c.dead.Load() {
		w.note(l.c.name, "is killed after the write")
		l.c.die()
		return fault.Wrap(fault.Unavailable, errDead, "write to the record")
	}
	return err
}

// strictly is a write, held against what no write may do: go on where another
// has taken over, issue something while
// a node stands against the record, take away what is declared because of a
// look at a source, and make a trouble younger than it is. It looks in the same
// transaction, before and after.
func (l ledger) strictly(ctx context.Context, f func(*db.Tx) error) error {
	var was, is standing
	if err := l.c.db.Write(ctx, func(tx *db.Tx) (err error) {
		if was, err = l.c.stands(tx); err != nil {
			return err
		}
		if err = f(tx); err != nil {
			return err
		}
		is, err = stands(tx)
		return err
	}); err != nil {
		return err
	}
	w := l.c.w
	w.mu.Lock()
	l.c.stood = is
	w.mu.Unlock()
	if is.holder != l.c.holder || is.epoch != is.writes {
		w.find(invariant.I5, l.c.name, "it writes in epoch %d as %s, and the record is in epoch %d, held by %s", is.writes, l.c.holder, is.epoch, is.holder)
	}
	if was.against > 0 && is.issued > was.issued {
		w.find(invariant.I5, l.c.name, "it issues something while a node stands against its record")
	}
	if strings.HasPrefix(label(ctx), "source/") && is.declared < was.declared {
		w.find(invariant.I1, label(ctx), "a look at a source takes something away that was declared")
	}
	if was.troubles != is.troubles {
		w.younger(w.troubles(was.troubles), w.troubles(is.troubles))
	}
	return nil
}

// younger finds a trouble that is younger than it was.
func (w *world) younger(was, is map[string]troubled) {
	for key, t := range is {
		old, there := was[key]
		if !there || old == t {
			continue
		}
		unsaid := w.unsaid[key]
		delete(w.unsaid, key)
		if !w.doubled && !unsaid && t.fingerprint == old.fingerprint && (t.since > old.since || t.count < old.count) {
			w.find(invariant.I8, key, "it was in trouble since %d, %d times, and now since %d, %d times", old.since, old.count, t.since, t.count)
		}
	}
}

// troubled is a trouble as the record has it.
type troubled struct {
	fingerprint  string
	since, count int64
	rest         string
}

// troubles is what standing has of them, by key.
func (w *world) troubles(text string) map[string]troubled {
	var rows [][]any
	w.must(json.Unmarshal([]byte(text), &rows))
	all := map[string]troubled{}
	for _, r := range rows {
		t := troubled{rest: fmt.Sprint(r[4:]...)}
		t.fingerprint, _ = r[1].(string)
		since, _ := r[2].(float64)
		count, _ := r[3].(float64)
		t.since, t.count = int64(since), int64(count)
		all[fmt.Sprint(r[0])] = t
	}
	return all
}

// standing is what a write is held against.
type standing struct {
	revision                  int64
	epoch, writes             int64 // of the record, and of who writes
	holder                    string
	issued, against, declared int64
	troubles                  string
}

// stands is what stands in the record before a write: what stood there after the
// last one, where nobody has written since.
func (c *control) stands(tx *db.Tx) (standing, error) {
	revision, _, err := db.One(tx, db.Number, `SELECT revision FROM fence`)
	if err != nil {
		return standing{}, err
	}
	c.w.mu.Lock()
	stood := c.stood
	c.w.mu.Unlock()
	if stood.revision == revision-1 { // the write has its own already
		stood.writes = tx.Epoch()
		return stood, nil
	}
	return stands(tx)
}

func stands(tx *db.Tx) (s standing, err error) {
	s.writes = tx.Epoch()
	const counts = `SELECT revision, epoch, holder, (SELECT count(*) FROM ledger), (SELECT count(*) FROM declared),
		(SELECT count(*) FROM node WHERE finding <> '' AND removed_at = 0),
		(SELECT json_group_array(json_array(name, fingerprint, since, count, says, last, others)) FROM trouble) FROM fence`
	err = tx.QueryRow(counts).Scan(&s.revision, &s.epoch, &s.holder, &s.issued, &s.declared, &s.against, &s.troubles)
	return s, err
}

// wire is the broker as the controller has it.
type wire struct{ c *control }

// Serve is the broker's.
func (b wire) Serve(pattern string, handle bus.Handler) error {
	verb := link.Verb(pattern[:len(pattern)-2]) // without the ".*"
	b.c.handlers[verb] = handle
	return nil
}

// Publish is the broker's.
func (b wire) Publish(ctx context.Context, subject string, data []byte) error {
	verb, id, err := link.From(subject)
	if err != nil {
		return err
	}
	if err := b.c.turn(ctx, "publishes "+subject); err != nil {
		return fault.Wrap(fault.Unavailable, err, "publish")
	}
	w := b.c.w
	if w.chance(0.03) {
		return fault.New(fault.Unavailable, "the broker does not take it")
	}
	w.push(b.c, letter{verb, id, data})
	if w.chance(0.02) { // it has gone out, and nobody knows
		return fault.New(fault.Unavailable, "the broker did not say that it has it")
	}
	return nil
}

// door is who may use the broker.
type door struct{}

// UserJWT is nothing that anybody looks at here.
func (door) UserJWT(link.Side, string, string) (string, error) { return "jwt", nil }

// Revoke is nothing that anybody looks at here.
func (door) Revoke(link.Side, string) error { return nil }

// call makes a call of the API as an event like any other.
func call[In, Out any](c *control, row api.Call[In, Out], in In, then func(Out, error)) {
	c.goes(func(ctx context.Context) {
		out, err := api.Do(labelled(ctx, "the call "+row.Row.Name), c.client, row, in)
		then(out, err)
	})
}

// now makes a call of the API and lets the world go on until it is answered; it
// is for the driver itself.
func now[In, Out any](c *control, row api.Call[In, Out], in In) (out Out, err error) {
	done := make(chan struct{})
	call(c, row, in, func(o Out, e error) {
		out, err = o, e
		close(done)
	})
	was := c.w.nested
	c.w.nested = true
	defer func() { c.w.nested = was }()
	for !c.w.stop {
		c.w.step(time.Now().Add(time.Minute))
		synctest.Wait()
		select {
		case <-done:
			return out, err
		default:
		}
	}
	return out, errDead
}

// backup copies a record as it is on the disk.
func (w *world) backup(record string) string {
	w.copies++
	to := filepath.Join(w.dir, fmt.Sprintf("copy%d.db", w.copies))
	w.copyRecord(record, to)
	return to
}

func (w *world) copyRecord(from, to string) {
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(to + end); err != nil && !os.IsNotExist(err) {
			w.must(err)
		}
	}
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(from + end)
		if os.IsNotExist(err) {
			continue
		}
		w.must(err)
		w.must(os.WriteFile(to+end, b, 0o600))
	}
}

// logger is a program's log: in the trace where everything is shown.
func (w *world) logger(p *program) *slog.Logger {
	if !*verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(logs{w, p.name}, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

type logs struct {
	w    *world
	name string
}

func (l logs) Write(b []byte) (int, error) {
	l.w.aside(l.name, string(b))
	return len(b), nil
}
