package controller

import (
	"context"
	"runtime/debug"
	"sync"

	"noxmesh/internal/db"
	"noxmesh/internal/planted"
)

// book is the record in memory: a copy, and nothing that the record does not
// hold. Each question first looks which revision the record is at, and reads
// again what has changed since; where it is not known what that is, it reads
// everything. So it is never ahead of what is committed, and another writer, a
// record that was restored and a fence that was lost are all seen.
type book struct {
	turn chan struct{} // holds the one token of whoever brings it up to date

	mu   sync.Mutex // guards next
	next *reading   // what questions that come now may share

	view     sync.RWMutex // guards what follows
	is       *view        // nil before the first reading
	revision int64
}

// reading is one bringing up to date, and everybody who waits for it.
type reading struct {
	done chan struct{}
	err  error
}

func newBook() *book { return &book{turn: make(chan struct{}, 1)} }

// with asks one question of the record as it is now. Nothing of the view is
// used after the question, but for what it has handed out; the question writes
// nothing and waits for nothing.
func (c *Controller) with(ctx context.Context, question func(*view) error) error {
	if err := c.upToDate(ctx); err != nil {
		return err
	}
	c.book.view.RLock()
	defer c.book.view.RUnlock()
	return question(c.book.is)
}

// upToDate brings the book to a revision that is no older than the call. Those
// who come while a reading has not begun share it.
func (c *Controller) upToDate(ctx context.Context) error {
	b := c.book
	b.mu.Lock()
	r := b.next
	if r != nil {
		b.mu.Unlock()
		select {
		case <-r.done:
			return r.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r = &reading{done: make(chan struct{})}
	b.next = r
	b.mu.Unlock()
	b.turn <- struct{}{}
	b.mu.Lock()
	b.next = nil
	b.mu.Unlock()
	// Others wait for it: it does not end with this question.
	r.err = c.db.Read(context.WithoutCancel(ctx), c.bringUpToDate)
	<-b.turn
	close(r.done)
	return r.err
}

// within asks a question at the beginning of a write, of the very state that it changes.
func (c *Controller) within(tx *db.Tx, question func(*view) error) error {
	c.book.turn <- struct{}{}
	err := c.bringUpToDate(tx)
	<-c.book.turn
	if err != nil {
		return err
	}
	c.book.view.RLock()
	defer c.book.view.RUnlock()
	return question(c.book.is)
}

// bringUpToDate reads what has changed. Called with the turn held.
func (c *Controller) bringUpToDate(tx *db.Tx) error {
	b := c.book
	since, err := tx.Since(b.revision)
	if err != nil {
		return err
	}
	if b.is != nil && since.Known && since.Revision == b.revision {
		return nil
	}
	if b.is != nil && !since.Known && planted.Is("another writer's changes not read") {
		b.revision = since.Revision
		return nil
	}
	if b.is == nil || !since.Known || !allSaid(since) {
		if b.is != nil {
			c.log.Warn("the record has changed otherwise than by this controller's writes; it is read anew", "revision", since.Revision, "was", b.revision)
		}
		is, err := c.readAll(tx)
		if err != nil {
			return err
		}
		b.view.Lock()
		defer b.view.Unlock()
		b.is, b.revision = is, since.Revision
		return nil
	}
	apply, err := readChanged(tx, since.Changes)
	if err != nil {
		return err
	}
	b.view.Lock()
	defer b.view.Unlock()
	for _, change := range apply {
		change(b.is)
	}
	b.is.settle()
	for node := range b.is.afar {
		c.declares.Nudge(node)
	}
	b.is.afar = map[string]bool{}
	b.revision = since.Revision
	return nil
}

func (c *Controller) readAll(tx *db.Tx) (*view, error) {
	defer c.cfg.roomy()()
	v := newView(c.mesh, c.at.Registry, c.cfg.Platform, c.cfg.Version)
	if err := v.load(tx); err != nil {
		return nil, err
	}
	v.settle()
	return v, nil
}

// roomy lets the collector of memory look more seldom until what it returns is
// called: of what is read now all stays, so that it would find next to nothing.
func (c Config) roomy() func() {
	if !c.alone {
		return func() {}
	}
	was := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(was) }
}

// saidAs is under which table's name a change of a table is said, where that is another.
func saidAs(table string) string {
	switch table {
	case "ledger":
		return "node"
	case "applied":
		return "node_report"
	case "answer":
		return "request"
	case "code":
		return "source"
	}
	return table
}

// apart is the tables of which the view holds nothing.
func apart(table string) bool {
	switch table {
	case "fence", "setting", "given", "verdict", "checked", "log", "log_piece", "log_whole", "retired", "module_left", "revoked", "token", "login", "registry_secret":
		return true
	}
	return false
}

// allSaid reports whether the writes have said what they changed in each table
// that they have touched.
func allSaid(since db.Since) bool {
	said := map[string]bool{}
	for _, c := range since.Changes {
		said[c.Table] = true
	}
	for _, table := range since.Tables {
		if !apart(table) && !said[saidAs(table)] {
			return false
		}
	}
	return true
}
