package resource

import (
	"noxmesh/host/keep"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// sight is one thing that is being looked at.
type sight struct {
	it  *item
	w   *work
	pl  place
	err error
}

// sights looks at the picked things of the items, in the order of their paths to
// the disk: directories as they come, for what lies in them depends on what they
// are, and the files and links of a batch side by side. An item whose thing
// cannot be looked at is broken.
type sights struct {
	*pass
	doing string
	rests bool // what is as it should be is let go of
	batch []sight
}

func (s sights) all(items []*item, pick func(*work) bool) {
	s.batch = make([]sight, 0, batchSize)
	for _, it := range items {
		if !it.settled() {
			s.item(it, pick)
		}
	}
	s.finish()
}

func (s *sights) item(it *item, pick func(*work) bool) {
	gone := map[string]bool{} // directories that are not there, whatever their path leads to
	s.raise(it)
	for _, w := range it.works {
		if !pick(w) {
			continue
		}
		if len(s.batch) == batchSize || s.sys.Crowded() {
			if s.finish(); it.settled() {
				return
			}
		}
		pl, err := s.begin(it, w, gone)
		s.batch = append(s.batch, sight{it, w, pl, err})
		if err != nil {
			return
		}
	}
}

// begin finds a thing's place, which is nowhere where there is nothing more to look at.
func (p *pass) begin(it *item, w *work, gone map[string]bool) (place, error) {
	if len(gone) > 0 && gone[parent(w.want.Path)] {
		w.found = found{says: nothing}
		gone[w.want.Path] = w.want.Kind == keep.Directory
		return place{}, nil
	}
	pl, err := reach(p.sys, w.want.Path)
	if err != nil {
		return place{}, err
	}
	if w.want.Kind == keep.Directory {
		w.found = found{says: nothing}
		if pl.dir != nil {
			if w.found, err = lookAt(pl, w.want, &p.eyes[0]); err != nil {
				return place{}, err
			}
		}
		if w.found.kind != keep.Directory {
			gone[w.want.Path] = true
		}
	}
	if pl.dir == nil {
		w.found = found{says: nothing}
		return place{}, nil
	}
	return pl, p.stands(it, w, pl)
}

// stands notes where a thing truly is. Two declared things in one place would
// undo each other for ever: the second is refused.
func (p *pass) stands(it *item, w *work, pl place) error {
	w.real = ""
	real := w.want.Path
	if pl.dir.Path() != parent(real) {
		real = pl.real()
		w.real = real
	}
	if first := p.standing(real); first != "" && first != w.want.Path {
		return fault.New(fault.Conflict, "it is the same place as %q", first)
	}
	if it.stands = it.plain && w.real == ""; !it.stands {
		p.real[real] = w.want.Path
	}
	return nil
}

// finish looks at what the batch holds, and judges it in its order.
func (s *sights) finish() {
	s.abreast(len(s.batch), func(i int, e *eye) { s.batch[i].look(e) })
	for i := range s.batch {
		b := &s.batch[i]
		if b.err != nil && !b.it.settled() {
			b.it.broken(s.doing, b.w.want.Path, b.err)
		}
		if s.rests && b.w.found.same {
			s.rest(b.it)
		}
	}
	s.batch = s.batch[:0]
}

func (s *sight) look(e *eye) {
	if s.err == nil && s.pl.dir != nil && s.w.want.Kind != keep.Directory {
		s.w.found, s.err = lookAt(s.pl, s.w.want, e)
	}
}

// see looks at one thing.
func (p *pass) see(it *item, w *work, gone map[string]bool) error {
	pl, err := p.begin(it, w, gone)
	if err == nil {
		s := sight{w: w, pl: pl}
		s.look(&p.eyes[0])
		err = s.err
	}
	return err
}

// look sees what is there, of every thing of every item.
func (p *pass) look(items []*item) {
	p.sys.Forget()
	sights{pass: p, doing: "look at", rests: true}.all(items, func(*work) bool { return true })
	p.each(items, func(it *item) {
		for _, w := range it.works {
			if !w.found.same {
				it.more().says = append(it.more().says, name(w)+w.found.says)
			}
		}
	})
}

// readBack looks again at what was changed.
func (p *pass) readBack(items []*item) {
	sights{pass: p, doing: "read back"}.all(items, func(w *work) bool {
		w.again = !w.found.same
		return w.again
	})
	p.each(items, func(it *item) {
		for _, w := range it.works {
			if w.again && !w.found.same {
				it.fail(fault.New(fault.Conflict, "read back %q: it is not as declared: %s", w.want.Path, w.found.says).With("%s", p.sys.Odd(w.want.Path)))
				return
			}
		}
		it.fixed = p.record.Done[it.res.ID] == p.digestOf(it)
		it.state = report.StateChanged
		p.pending = append(p.pending, it)
	})
}

// lookAgain reads everything back once more: what was removed may have been on the
// way to something that is declared.
func (c *cleaning) lookAgain() {
	clear(c.real)
	for _, it := range c.items {
		it.stands = false
	}
	for _, it := range c.items {
		if !it.right() {
			continue
		}
		c.raise(it)
		if c.lookOnce(it); it.right() {
			c.rest(it)
		}
	}
}

func (c *cleaning) lookOnce(it *item) {
	gone := map[string]bool{}
	for _, w := range it.works {
		err := c.see(it, w, gone)
		if err == nil && !w.found.same {
			err = fault.New(fault.Conflict, "something on the way to it was removed, and it is not as declared: %s", w.found.says)
		}
		if err != nil {
			it.broken("read back", w.want.Path, err)
			return
		}
	}
}
