package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"filippo.io/age"

	"noxmesh/controller"
	"noxmesh/document"
	"noxmesh/internal/bus"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/link"
	"noxmesh/manifest"
)

// fixed is what is made once in a process and decides nothing.
type fixed struct {
	nats, seal string
	record     []byte // an empty record of the newest schema
	enrolled   *enrolled
}

// enrolled is the records in which that many nodes and builders have joined.
type enrolled struct {
	mu      sync.Mutex // guards what follows
	records map[[2]int][]byte
}

var made = sync.OnceValues(func() (f fixed, err error) {
	seed, _, err := bus.NewUserSeed()
	if err != nil {
		return f, err
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return f, err
	}
	f.enrolled = &enrolled{records: map[[2]int][]byte{}}
	f.nats, f.seal = string(seed), identity.String()
	f.record, err = dbtest.Empty()
	return f, err
})

// shm is a folder in memory, where the machine has one.
func shm() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

// world is one mesh with everything around it, for one seed.
type world struct {
	seed   uint64
	rng    *rand.Rand
	dir    string
	ctx    context.Context //nolint:containedctx // ends with the seed
	fixed  fixed
	proofs observe.Proofs
	who    controller.Identity
	evil   link.Key
	calm   bool // the faults have stopped

	queue    queue
	office   post
	forge    forge
	registry *registry
	nodes    []*node
	makers   []*maker

	controllers []*control          // those that run
	opened      map[string][]*db.DB // by record: what those had opened who are gone
	record      string              // of the controller that counts
	holder      string
	holders     int
	copies      int
	backups     []string
	lives       map[string]int

	edition int            // the number of the last commit of all
	newest  map[string]int // by module: the number of its last edition
	natures map[int]nature
	content map[document.Digest]*commit
	made    map[document.Digest]manifest.Built // by build: what was published
	given   map[document.Digest]string         // by library: what goes into a program with it
	paths   map[string]map[string]bool         // by module: every path that any edition has

	acks     []invariant.Ack
	declared map[string]bool // module and node, at the last look; empty where it may have changed on purpose
	taken    bool            // an assignment was taken back: the call may take effect at any time
	doubled  bool            // two controllers have written into one record: each counts what it has seen itself
	unsaid   map[string]bool // by key: a trouble came when the disk was full, so that what the record holds may be the one before it
	mixed    bool            // nodes may have been told what the record does not know
	began    time.Time
	mu       sync.Mutex    // guards findings, hash, free, and acks, what is excused and what stood while programs run
	free     []chan func() // the hands that have nothing to do
	findings []string
	shown    []string // the trace, where it is kept
	traced   bool     // there is a trace of it
	hash     uint64
	steps    int
	jobs     []job
	stop     bool
	nested   bool     // the driver waits for an answer; nothing else of its own happens meanwhile
	moved    *program // whose event is all that has happened since the last look; nil where there was more
	quiet    int      // how often in a row nothing stood against the end
}

// job is something that the driver does later.
type job struct {
	at time.Time
	do func()
}

func (w *world) later(after time.Duration, do func()) {
	w.jobs = append(w.jobs, job{time.Now().Add(after), do})
}

// due does the first job whose time has come.
func (w *world) due() bool {
	for i, j := range w.jobs {
		if !j.at.After(time.Now()) {
			w.jobs = append(w.jobs[:i:i], w.jobs[i+1:]...)
			j.do()
			return true
		}
	}
	return false
}

// stopped is how the simulation itself ends where it cannot go on.
type stopped struct{ why string }

func (w *world) must(err error) {
	if err != nil {
		panic(stopped{err.Error()})
	}
}

// chance is true that often. Nothing goes wrong by chance once all is calm.
func (w *world) chance(p float64) bool { return !w.calm && w.rng.Float64() < p }

// dies reports whether a program is killed at this moment.
func (w *world) dies(p *program) bool { return !p.dead.Load() && w.chance(0.004) }

// note is one line of the trace, where somebody wants to have it.
func (w *world) note(actor, format string, args ...any) {
	if !w.traced {
		return
	}
	line := fmt.Sprintf("%9.3f %-10s %s", time.Since(w.began).Seconds(), actor, fmt.Sprintf(format, args...))
	line = strings.ReplaceAll(line, w.dir, "") // its name is another in each run
	h := fnv.New64a()
	w.mu.Lock()
	fmt.Fprintf(h, "%d %s", w.hash, line)
	w.hash = h.Sum64()
	w.mu.Unlock()
	w.aside("", line)
}

// aside is shown and has no part in what two runs must have alike.
func (w *world) aside(actor, text string) {
	if *trace || *verbose {
		w.queue.mu.Lock()
		defer w.queue.mu.Unlock()
		if actor != "" {
			text = "          " + actor + ": " + strings.TrimSpace(text)
		}
		w.shown = append(w.shown, text)
	}
}

// find is that an invariant does not hold. The seed ends there.
func (w *world) find(id invariant.ID, where, format string, args ...any) {
	w.fail("%s %s: %s", id, where, fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("finding", "%s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.findings = append(w.findings, text)
	w.stop = true
}

// step lets one thing happen, or time pass until something can.
func (w *world) step(until time.Time) {
	synctest.Wait()
	w.intake()
	w.look()
	if w.stop || !w.nested && w.due() {
		return
	}
	e, due := w.queue.next(w)
	if e != nil {
		w.steps++
		e.do(w, e)
		w.moved = e.of
		return
	}
	if due.IsZero() || until.Before(due) {
		due = until
	}
	for _, j := range w.jobs {
		if !w.nested && j.at.Before(due) {
			due = j.at
		}
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-w.queue.posted:
	case <-timer.C:
	}
}

// run lets things happen for so long, or until the fact is true.
func (w *world) run(long time.Duration, fact func() bool) bool {
	w.moved = nil
	for end := time.Now().Add(long); time.Now().Before(end) && !w.stop; {
		if w.step(end); fact != nil && fact() {
			return true
		}
	}
	return false
}

// look sees what has become durable, and who has died.
func (w *world) look() {
	defer func() { w.moved = nil }()
	for _, n := range w.nodes {
		if w.moved == nil || w.moved == n.run { // nobody but its host moves a node
			n.observe()
		}
		if n.run != nil && n.run.why != nil {
			w.fail("%s ended by itself: %v", n.name, n.run.why)
		}
		if n.run != nil && n.run.dead.Load() {
			n.stop()
			w.later(w.pause(), n.start)
		}
	}
	for _, b := range w.makers {
		if b.run != nil && b.run.why != nil {
			w.fail("%s ended by itself: %v", b.name, b.run.why)
		}
		if b.run != nil && b.run.dead.Load() {
			b.stop()
			w.later(w.pause(), b.start)
		}
	}
	for _, c := range w.controllers {
		if c.why != nil {
			w.fail("%s ended by itself: %v", c.name, c.why)
		}
		if c.dead.Load() {
			w.bury(c)
			if c.name == "controller" && c.record == w.record {
				w.later(w.pause(), w.serveAgain)
			}
			return
		}
	}
}

// pause is how long a program stays dead.
func (w *world) pause() time.Duration {
	if w.calm {
		return time.Second
	}
	return time.Duration(w.rng.IntN(20_000)) * time.Millisecond
}

// main is the controller that counts, or nil.
func (w *world) main() *control {
	for _, c := range w.controllers {
		if c.record == w.record && c.holder == w.holder && c.name == "controller" && !c.dead.Load() {
			return c
		}
	}
	return nil
}

// serveAgain starts the controller that counts, where it does not run.
func (w *world) serveAgain() {
	if w.main() == nil {
		w.raise("controller", w.record, w.holder)
	}
}
