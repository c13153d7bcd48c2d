package resource

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/internal/fault"
)

// Action is what an apply would do about one thing.
type Action string

// The actions. ActionRefuse is what it would fail with, and ActionLater what only
// can be told when something before it is right.
const (
	ActionMake    Action = "make"
	ActionChange  Action = "change"
	ActionReport  Action = "report" // it differs, and is only reported
	ActionRemove  Action = "remove"
	ActionRelease Action = "release" // it was there before, and stays: nobody keeps it any more
	ActionRefuse  Action = "refuse"
	ActionLater   Action = "later"
)

// Change is what an apply would do about one resource.
type Change struct {
	ID      string `json:"id"`
	Action  Action `json:"action"`
	Subject string `json:"subject"`          // the path, or the type and the name
	Found   string `json:"found,omitempty"`  // what is there
	Wanted  string `json:"wanted,omitempty"` // what is declared of it, beside its content
	Diff    string `json:"diff,omitempty"`   // of its content, where it is text that anybody may read
	Content string `json:"content,omitempty"`
	Error   string `json:"error,omitempty"`
}

// What is shown of content at most.
const (
	previewBytes = 256 << 10 // of a file that is compared line by line
	previewLines = 200       // of what came of that
)

// ReadOnly is where a record is read, and nothing is ever written; k may be nil
// where there is none.
func ReadOnly(k Keep) Keep { return readOnly{k} }

type readOnly struct{ of Keep }

func (readOnly) SaveRecord(keep.Record) error            { return nil }
func (readOnly) SaveChanging([]string) error             { return nil }
func (readOnly) SaveIndex(document.Digest, []byte) error { return nil }
func (readOnly) KeepIndexes([]document.Digest) error     { return nil }
func (r readOnly) Index(d document.Digest) ([]byte, error) {
	if r.of == nil {
		return nil, fault.New(fault.NotFound, "no index is kept")
	}
	return r.of.Index(d)
}

// previewing is a pass that looks and refuses as one that applies does, and has no effect.
type previewing struct {
	*pass
	changes []Change
	open    map[*item]bool // what is not as declared
}

// Preview is what Apply would do, and how many resources are as declared. It has no
// effect on the machine; the engine must be one whose Keep writes nothing, and it is
// good for nothing else after that.
func (e *Engine) Preview(ctx context.Context, body declaration.Body, source Source) (_ []Change, right int, err error) {
	p := previewing{pass: e.begin(body, source), open: map[*item]bool{}}
	defer p.end()
	if err := p.digest(); err != nil {
		return nil, 0, err
	}
	p.expand(ctx)
	for level := range p.levels() {
		var items []*item
		for _, it := range p.items {
			if it.level == level {
				items = append(items, it)
			}
		}
		p.wave(ctx, items)
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
	}
	right = len(p.items) - len(p.open)
	p.removals()
	return p.changes, right, nil
}

func (p *previewing) wave(ctx context.Context, items []*item) {
	files, others := apart(items)
	p.owners(files)
	p.look(files)
	p.each(files, func(it *item) { p.file(ctx, it) })
	for _, k := range p.kinds {
		var all []*holding
		for _, it := range others {
			if it.res.Type == k.of && !it.settled() {
				all = append(all, p.holding(it))
			}
		}
		if len(all) > 0 {
			p.kind(ctx, k, all)
		}
	}
	for _, it := range items {
		if it.has().err != nil {
			p.refused(it)
		}
	}
}

// refused is an item that stays as it is; where something that it needs is not
// right yet, that may be why.
func (p *previewing) refused(it *item) {
	c := Change{
		ID: it.res.ID, Subject: it.res.Subject(), Action: ActionRefuse, Found: short(few(it.has().says)),
		Error: short(advised(p.sys.Say(it.has().err, cmp.Or(it.has().at, it.res.Path)))),
	}
	if slices.ContainsFunc(it.needs, func(n int) bool { return p.open[p.items[n]] }) {
		c.Action = ActionLater
	}
	p.add(it, c)
}

func (p *previewing) add(it *item, c Change) {
	p.open[it] = true
	p.changes = append(p.changes, c)
}

// file is what would become of a file, a directory, a link or an archive.
func (p *previewing) file(ctx context.Context, it *item) {
	if len(it.has().says) == 0 {
		return
	}
	c := Change{ID: it.res.ID, Subject: it.res.Subject(), Action: ActionChange, Found: short(few(it.has().says)), Wanted: wantedOf(it.res)}
	if p.tolerated(it, func() bool { return !p.unsure(it) }) {
		c.Action = ActionReport
		p.add(it, c)
		return
	}
	p.markSwap(it)
	p.room([]*item{it})
	p.meanSwap(it)
	for _, w := range it.works {
		if w.found.same || it.settled() {
			continue
		}
		err := p.holdsOthers(w)
		if err == nil {
			err = p.mean(it, w)
		}
		if err != nil {
			it.broken("replace", w.want.Path, err)
			return
		}
	}
	if it.settled() {
		return
	}
	first := it.works[0]
	if first.found.kind == 0 {
		c.Action, c.Found = ActionMake, ""
	}
	if it.res.Type == declaration.File && !first.found.body {
		c.Diff, c.Content = p.content(ctx, it.res, first)
	}
	p.add(it, c)
}

// holdsOthers refuses a directory in the place of something else, in which there is
// what the host did not make.
func (p *previewing) holdsOthers(w *work) error {
	if w.want.Kind == keep.Directory || w.found.kind != keep.Directory {
		return nil
	}
	pl, err := at(p.sys, w.want.Path)
	if err != nil {
		return err
	}
	names, err := pl.dir.Names(pl.name, -1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if e, ok := p.record.Entries.Get(w.want.Path + "/" + name); !ok || e.Origin != keep.Made {
			return fault.New(fault.Conflict, "a directory is there that holds %s, which the host did not make", name)
		}
	}
	return nil
}

// kind is what would become of what is no file.
func (p *previewing) kind(ctx context.Context, k rankedKind, all []*holding) {
	k.look(ctx, p.pass, all)
	var differing []*holding
	for _, h := range sound(all, "look at") {
		it := h.it
		if h.found.same {
			continue
		}
		it.more().says = append(it.more().says, h.found.says)
		if p.tolerated(it, func() bool { return !h.known || h.hold.Phase == keep.Done }) {
			p.add(it, Change{ID: it.res.ID, Subject: h.hold.Subject, Action: ActionReport, Found: short(few(it.has().says)), Wanted: wantedOf(it.res)})
			continue
		}
		differing = append(differing, h)
	}
	if len(differing) == 0 {
		return
	}
	k.mean(p.pass, differing)
	for _, h := range sound(differing, "change") {
		c := Change{ID: h.it.res.ID, Subject: h.hold.Subject, Action: ActionChange, Found: short(few(h.it.has().says)), Wanted: wantedOf(h.it.res)}
		if !h.found.there {
			c.Action = ActionMake
		}
		p.add(h.it, c)
	}
}

// removals is what is no longer declared, by resource.
func (p *previewing) removals() {
	type left struct {
		subjects []string
		origin   keep.Origin
	}
	all := map[string]*left{}
	note := func(id, subject string, origin keep.Origin) {
		key := fmt.Sprintf("%s %d", id, origin)
		if all[key] == nil {
			all[key] = &left{origin: origin}
		}
		all[key].subjects = append(all[key].subjects, subject)
	}
	for e := range p.record.Entries.All() {
		if path := e.Thing.Path; !p.wants(path) && e.ID != "" {
			note(e.ID, path, e.Origin)
		}
	}
	for subject, h := range p.record.Holds {
		if !p.subjects[subject] {
			note(h.ID, subject, h.Origin)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		l := all[key]
		slices.Sort(l.subjects)
		id, _, _ := strings.Cut(key, " ")
		c := Change{ID: id, Subject: l.subjects[0], Action: ActionRemove}
		if l.origin == keep.TakenOver {
			c.Action = ActionRelease
		}
		if n := len(l.subjects) - 1; n > 0 {
			c.Found = fmt.Sprintf("and %d more", n)
		}
		p.changes = append(p.changes, c)
	}
}

// wantedOf is what a resource says, but for its name, its place and its bytes.
func wantedOf(r *declaration.Resource) string {
	var says []string
	if r.Mode != "" {
		says = append(says, "mode "+r.Mode)
	}
	if r.Target != "" {
		says = append(says, "a link to "+r.Target)
	}
	if t := r.Said(); r.Traits != nil {
		t.Name, t.Unit = "", ""
		if text, err := document.Canonical(t); err == nil && string(text) != "{}" {
			says = append(says, string(text))
		}
	}
	return strings.Join(says, ", ")
}

// content is how the bytes of a file would change: as lines, or why not as lines.
// What not everybody may read is not shown: it may be a secret.
func (p *previewing) content(ctx context.Context, r *declaration.Resource, w *work) (lines, otherwise string) {
	info := w.found.info
	size := fmt.Sprintf("%d bytes", r.Size)
	switch {
	case hasSecrets(r): // and nobody can tell what of the bytes that are there was one
		return "", "not shown: there are secrets in it"
	case !anybody(w.want.Mode) || w.found.kind == keep.File && !anybody(info.Mode):
		return "", size + ", not shown: not everybody may read it"
	case r.Size > previewBytes || info.Size > previewBytes:
		return "", size + ", too many to be shown"
	}
	var is, to bytes.Buffer
	if err := p.source.Body(ctx, r.Digest, r.Size, &bounded{&to, r.Size}); err != nil {
		return "", size + ", which cannot be got now: " + short(err.Error())
	}
	if document.Sum(to.Bytes()) != r.Digest {
		return "", size + ", and what came is something else"
	}
	if w.found.kind == keep.File {
		text, err := p.sys.Bytes(w.want.Path, previewBytes)
		if err != nil {
			return "", size + ", and what is there cannot be read: " + short(err.Error())
		}
		is.Write(text)
	}
	if !plainText(is.Bytes()) || !plainText(to.Bytes()) {
		return "", "binary, " + size
	}
	text := unified(r.Path, is.String(), r.Path+" (declared)", to.String())
	all := strings.SplitAfter(text, "\n")
	if n := len(all) - previewLines; n > 0 {
		all = append(all[:previewLines], fmt.Sprintf("… %d more lines\n", n))
	}
	return strings.Join(all, ""), ""
}

func plainText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// bounded takes no more than is left.
type bounded struct {
	to   *bytes.Buffer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fault.New(fault.Invalid, "more bytes came than were declared")
	}
	return b.to.Write(p)
}
