package resource

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/checks"
	"noxmesh/host/keep"
	"noxmesh/host/packages"
	"noxmesh/host/system"
	"noxmesh/host/version"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// bufferSize is what of a file is read at once.
const bufferSize = 64 << 10

// Engine makes a machine what a declaration says. It is used by one goroutine.
type Engine struct {
	sys     *system.Root
	keep    Keep
	record  keep.Record
	dirty   bool            // it is ahead of the one on the disk, whichever pass has made it so
	lightly map[string]bool // paths that the record on the disk has as done, and that are being put back
	eyes    [eyes]eye
	known   []declaration.Resource // of the last pass
	digests []document.Digest      // of those
	indexes map[document.Digest]index
	kinds   []rankedKind
	asker   checks.Asker
	opener  Opener            // nil where nothing can be opened
	self    *version.Versions // of the host, where its package has started it; nil where it has not
	rpms    packages.Seen     // what was last read of rpm's database, on a machine that has one
	soon    time.Duration     // when to look again, where that is before the next look for drift; 0 for not

	spared map[string]document.Digest // resources that are left alone for now, where they are to be that
	unruly map[string]bool            // resources that were not right after the last pass
	aside  map[string]string          // things that do not lie where their path says: by where they lie, the path
}

// New is the engine on this tree, with what the record says of it.
func New(sys *system.Root, k Keep, record keep.Record) *Engine {
	sys.Guard(declaration.Reserved()...)
	e := &Engine{sys: sys, keep: k, record: record, lightly: map[string]bool{}, indexes: map[document.Digest]index{}, kinds: kinds()}
	for i := range e.eyes {
		e.eyes[i] = newEye(sys)
	}
	return e
}

// Is says that the program is the host that its package has put on the machine, as
// one of these versions.
func (e *Engine) Is(self *version.Versions) { e.self = self }

// Opens says who opens what is sealed to this node.
func (e *Engine) Opens(o Opener) {
	e.opener = o
	for i := range e.eyes {
		e.eyes[i].mark = o.Mark()
	}
}

// Record is what the engine knows of the machine.
func (e *Engine) Record() keep.Record { return e.record }

// Result is what a pass found and did.
type Result struct {
	Resources []report.Resource
	Outcome   report.Outcome // failed where any resource has
	Right     bool           // everything was read back as declared, and nothing waits
	Wrote     bool           // something on the machine was changed
}

// pass is one application of a declaration, from the first look to the last record.
type pass struct {
	*Engine
	source  Source
	body    declaration.Body
	items   []*item
	pending []*item // read back, and perhaps not on the disk yet
	wrote   bool
	paved   bool              // a directory was made: what lies in it is only as safe as its own name
	alias   map[string]string // by a place that another path led to: that path
	byPath  keep.Names        // of the items that are plain, or an archive
	packed  map[string]entry  // every path in a declared archive
	coming  map[string]string // directories that the record says are about to be made: where
	real    map[string]string // by where a declared thing truly is, where its item does not say that it stands: its path
	idle    [][]*work         // of nobody; see raise
	left    []report.Resource // what is no longer declared
	folders map[string]system.Attributes

	moved    bool            // a program or a service has been asked to change something, which may not be on the disk
	subjects map[string]bool // of the items that are no files
	ids      keep.Names      // of the items
	parted   []*holding      // what is no longer declared, and is no file
	units    *system.Units   // nil until something asks for it
	unitsErr error           // why there is none
}

// Apply makes the machine what the body says, reads it back, and records it. An
// error is the end of ctx and nothing else: every other failure is in the result.
func (e *Engine) Apply(ctx context.Context, body declaration.Body, source Source) (Result, error) {
	p := e.begin(body, source)
	defer p.end()
	if err := p.digest(); err != nil {
		return Result{}, err
	}
	p.expand(ctx)
	p.part(ctx, true)
	p.clearWay()
	for level := range p.levels() {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		p.wave(ctx, p.ready(level))
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	p.seal()
	p.clean(ctx)
	p.save()
	p.remember()
	return p.result(), nil
}

// begin is a pass before its first look. It is ended by end.
func (e *Engine) begin(body declaration.Body, source Source) *pass {
	p := &pass{Engine: e, source: source, body: body, real: map[string]string{}, coming: map[string]string{}}
	p.items, p.ids = newItems(body)
	e.sys.Forget()
	e.sys.Meet()
	e.soon = 0
	p.subjects = map[string]bool{}
	for _, it := range p.items {
		if !it.res.Type.IsFile() {
			p.subjects[it.res.Subject()] = true
		}
	}
	return p
}

func (p *pass) end() {
	for i := range p.eyes {
		p.eyes[i].accounts = nil
	}
	if p.units != nil {
		p.units.Close()
	}
	p.sys.Forget()
}

func (p *pass) levels() int32 {
	var n int32
	for _, it := range p.items {
		n = max(n, it.level+1)
	}
	return n
}

// ready is the items of a level that may be tried; the others are blocked.
func (p *pass) ready(level int32) []*item {
	var ready []*item
	for _, it := range p.items {
		if it.level != level || it.settled() {
			continue
		}
		if p.block(it); !it.settled() {
			ready = append(ready, it)
		}
	}
	return ready
}

func (p *pass) block(it *item) {
	for _, n := range it.needs {
		need := p.items[n]
		if need.right() || need.state == report.StateDiffers && !need.hollow { // it was as declared, and somebody lets it differ
			continue
		}
		it.more().err = fault.New(fault.Conflict, "%q comes first, and is %s", need.res.ID, string(need.state))
		if need.hollow {
			it.more().err = fault.New(fault.Conflict, "%q comes first, and differs", need.res.ID)
		}
		it.state = report.StateBlocked
		if need.state != report.StateWaiting {
			return
		}
		it.state = report.StateWaiting // nothing has failed; another may have
	}
}

// digest names every resource. The engine remembers those of the last pass.
func (p *pass) digest() error {
	if !p.knows(p.body.Resources) {
		if err := p.learn(p.body.Resources); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) digestOf(it *item) document.Digest { return p.digests[it.n] }

// Know tells the engine the digests of resources that it is about to be given.
func (e *Engine) Know(resources []declaration.Resource, digests []document.Digest) {
	if len(resources) == len(digests) {
		e.known, e.digests = resources, digests
	}
}

// Spare leaves these resources alone for the next pass, where something else has
// changed them and they are still to be what they are to be here.
func (e *Engine) Spare(resources map[string]document.Digest) { e.spared = resources }

// Ask is what else than this machine checks may ask.
func (e *Engine) Ask(reach []netip.Prefix) { e.asker = checks.New(reach) }

// Soon is when to look again after the last pass, where something is so new that
// it is not known whether it stays; 0 where nothing is.
func (e *Engine) Soon() time.Duration { return e.soon }

// Size is how many resources and things the engine holds on to.
func (e *Engine) Size() int { return len(e.known) + e.record.Entries.Len() + len(e.record.Holds) }

// Digests is the digests of the resources that were applied last.
func (e *Engine) Digests(resources []declaration.Resource) []document.Digest {
	if !e.knows(resources) {
		return nil
	}
	return e.digests
}

// knows reports whether these are, in memory, the resources whose digests are held.
func (e *Engine) knows(resources []declaration.Resource) bool {
	return len(resources) == len(e.known) && (len(resources) == 0 || &resources[0] == &e.known[0])
}

func (e *Engine) learn(resources []declaration.Resource) error {
	old := make(map[string]int, len(e.known))
	for i, r := range e.known {
		old[r.ID] = i
	}
	digests, errs := make([]document.Digest, len(resources)), make([]error, len(resources))
	e.abreast(len(resources), func(i int, _ *eye) {
		r := resources[i]
		if n, ok := old[r.ID]; ok && same(r, e.known[n]) {
			digests[i] = e.digests[n]
		} else {
			digests[i], errs[i] = r.ContentDigest()
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	e.Know(resources, digests)
	return nil
}

// same reports whether two resources are the same in every field.
func same(a, b declaration.Resource) bool { return reflect.DeepEqual(a, b) }

// save makes the record durable where it has moved. What it could not write it
// says of every item that stands on it.
func (p *pass) save() {
	if !p.dirty {
		_ = p.note() // what stays noted is looked at once more, after a restart
		return
	}
	if err := p.saveRecord(); err != nil {
		for _, it := range p.items {
			if it.right() {
				it.state, it.more().err = report.StateFailed, fault.Wrap(fault.Conflict, err, "record %q", it.res.ID)
			}
		}
	}
}

// saveRecord makes the record durable, with all that was only noted.
func (p *pass) saveRecord() error {
	if err := p.keep.SaveRecord(p.record); err != nil {
		return err
	}
	p.dirty = false
	clear(p.lightly)
	_ = p.note() // of what the record says itself
	return nil
}

// note makes the note beside the record say what is being put back.
func (p *pass) note() error {
	return p.keep.SaveChanging(slices.Sorted(maps.Keys(p.lightly)))
}

func (p *pass) result() Result {
	r := Result{Outcome: report.OutcomeApplied, Right: true, Wrote: p.wrote, Resources: make([]report.Resource, 0, len(p.items)+len(p.left))}
	for i, it := range p.items {
		p.items[i] = nil // it is judged: there is room for the answer
		r.Right = r.Right && it.right()
		if it.state == report.StateFailed || it.state == report.StateBlocked {
			r.Outcome = report.OutcomeFailed
		}
		has := it.has()
		out := report.Resource{ID: it.res.ID, Digest: p.digestOf(it), State: it.state, Found: short(few(has.says)), Fixed: it.fixed && it.right()}
		if has.err != nil {
			out.Error = short(advised(p.sys.Say(has.err, cmp.Or(has.at, it.res.Path))))
		}
		r.Resources = append(r.Resources, out)
	}
	for _, left := range p.left {
		if left.State != report.StateRemoved {
			r.Outcome, r.Right = report.OutcomeFailed, false
		}
		left.Found, left.Error = short(left.Found), short(left.Error)
		r.Resources = append(r.Resources, left)
	}
	return r
}

// advised is what was met, and what to do about it.
func advised(err error) string {
	text := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		text += "; " + hint
	}
	return timeless(text)
}

// short is text of the machine's as a report takes it.
func short(text string) string {
	const most = 2 << 10
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// said is how many of the things that differ are named.
const said = 5

func few(says []string) string {
	if len(says) > said {
		return strings.Join(says[:said], "; ") + "; and more"
	}
	return strings.Join(says, "; ")
}

// Paths is what the record holds, for people: by path, whose it is.
func (e *Engine) Paths() []keep.Entry {
	return slices.Collect(e.record.Entries.Sorted())
}
