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
	batch []sight
}

func (p *pass) seeAll(items []*item, doing string, pick func(*work) bool) {
	s := sights{pass: p, doing: doing, batch: make([]sight, 0, batchSize)}
	for _, it := range items {
		if !it.settled() {
			s.item(it, pick)
		}
	}
	s.finish()
}

func (s *sights) item(it *item, pick func(*work) bool) {
	gone := map[string]bool{} // directories that are not there, whatever their path leads to
	for _, w := range it.works {
		if !pick(w) {
			continue
		}
		if len(s.batch) == batchSize || s.sys.Crowded() {
			if s.finish(); it.settled() {
				return
			}
		}
		pl, err := s.begin(w, gone)
		s.batch = append(s.batch, sight{it, w, pl, err})
		if err != nil {
			return
		}
	}
}

// begin finds a thing's place, which is nowhere where there is nothing more to look at.
func (p *pass) begin(w *work, gone map[string]bool) (place, error) {
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
	return pl, p.stands(w, pl)
}

// stands notes where a thing truly is. Two declared things in one place would
// undo each other for ever: the second is refused.
func (p *pass) stands(w *work, pl place) error {
	w.real = ""
	real := w.want.Path
	if pl.dir.Path() != parent(real) {
		real = pl.real()
		w.real = real
	}
	if first, ok := p.real[real]; ok && first != w.want.Path {
		return fault.New(fault.Conflict, "it is the same place as %q", first)
	}
	p.real[real] = w.want.Path
	return nil
}

// finish looks at what the batch holds, and judges it in its order.
func (s *sights) finish() {
	s.abreast(len(s.batch), func(i int, e *eye) { s.batch[i].look(e) })
	for i := range s.batch {
		if b := &s.batch[i]; b.err != nil && !b.it.settled() {
			b.it.broken(s.doing, b.w.want.Path, b.err)
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
func (p *pass) see(w *work, gone map[string]bool) error {
	pl, err := p.begin(w, gone)
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
	p.seeAll(items, "look at", func(*work) bool { return true })
	p.each(items, func(it *item) {
		for _, w := range it.works {
			if !w.found.same {
				it.says = append(it.says, name(w)+w.found.says)
			}
		}
	})
}

// readBack looks again at what was changed.
func (p *pass) readBack(items []*item) {
	p.seeAll(items, "read back", func(w *work) bool {
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
		it.fixed = p.record.Done[it.res.ID] == it.digest
		it.state = report.StateChanged
		p.pending = append(p.pending, it)
	})
}
