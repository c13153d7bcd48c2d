package resource

import (
	"cmp"

	"noxmesh/declaration"
	"noxmesh/host/keep"
)

// A machine may have ten thousands of files, of which nearly all are as declared. What
// such a file consists of is made when it is looked at and let go of when it is known to
// be right: it can always be made again from what is declared.

// isPlain reports whether it can: of some things only their names are declared.
func isPlain(r *declaration.Resource) bool {
	said := r.Said()
	return r.Type != declaration.Archive && !hasSecrets(r) && cmp.Or(said.Owner, said.Group) == ""
}

// raise gives an item that rests its works back, as those of what is as declared.
func (p *pass) raise(it *item) {
	if !it.plain || it.works != nil {
		return
	}
	if len(p.idle) == 0 {
		few := make([]work, fewThings)
		for i := range few {
			p.idle = append(p.idle, []*work{&few[i]})
		}
	}
	last := len(p.idle) - 1
	it.works, p.idle = p.idle[last], p.idle[:last]
	want, _ := thing(it.res) // as it could be before
	*it.works[0] = work{want: want, found: found{kind: want.Kind, same: true, body: true}}
}

// rest lets go of the works of an item that is as declared, at its own path.
func (p *pass) rest(it *item) {
	if it.stands {
		p.idle = append(p.idle, it.works)
		it.works = nil
	}
}

// paths is where an item's things are declared to be.
func (it *item) paths(yield func(string) bool) {
	if it.plain {
		yield(it.res.Path)
		return
	}
	for _, w := range it.works {
		if !yield(w.want.Path) {
			return
		}
	}
}

// name says which items are where, once it is known what each consists of.
func (p *pass) name() {
	p.byPath = keep.NewNames(len(p.items), func(n int) string { return p.items[n].res.Path })
	p.packed = map[string]entry{}
	for n, it := range p.items {
		if !it.plain && it.works == nil {
			continue
		}
		p.byPath.Add(n)
		if it.has().pack != nil {
			for _, w := range it.works[1:] {
				p.packed[w.want.Path] = entry{it, w.want.Kind}
			}
		}
	}
}

// entry is a path in a declared archive.
type entry struct {
	it   *item
	kind keep.Kind
}

// declared is the item that something at a path belongs to, and what that is to be; nil
// where nothing is declared there.
func (p *pass) declared(path string) (*item, keep.Kind) {
	n, found := p.byPath.Find(path)
	if !found {
		e := p.packed[path]
		return e.it, e.kind
	}
	it := p.items[n]
	want, _ := thing(it.res) // as it could be before
	return it, want.Kind
}

// wants reports whether something is declared to be at a path.
func (p *pass) wants(path string) bool {
	it, _ := p.declared(path)
	return it != nil
}

// standing is the path of the declared thing that was seen to be truly at a place; empty
// where none was.
func (p *pass) standing(real string) string {
	if n, declared := p.byPath.Find(real); declared && p.items[n].stands {
		return real
	}
	return p.real[real]
}

// byID is the item with this id, or nil.
func (p *pass) byID(id string) *item {
	if n, declared := p.ids.Find(id); declared {
		return p.items[n]
	}
	return nil
}
