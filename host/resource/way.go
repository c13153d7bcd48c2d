package resource

import (
	"maps"
	"path"
	"slices"
	"strings"

	"noxmesh/host/keep"
)

// clearWay removes, before anything is looked at, what the host made and what now
// stands in the way: a file or a link where a directory is needed, through
// which a declared path would lead somewhere else.
func (p *pass) clearWay() {
	needed := map[string]bool{}
	for _, it := range p.items {
		for at := range it.paths {
			for dir := path.Dir(at); dir != "/" && !needed[dir]; dir = path.Dir(dir) {
				needed[dir] = true
			}
		}
	}
	for e := range p.record.Entries.All() {
		t := e.Thing
		if t.Kind != keep.Directory && e.Origin == keep.Made && needed[t.Path] && !p.wants(t.Path) {
			p.takeOut(e)
		}
	}
}

// beyond is the items that were found by way of links, where links of the wave are
// about to become something else: they may be elsewhere then, and are looked at anew.
func (p *pass) beyond(items []*item) []*item {
	turns := func(w *work) bool { return w.found.kind == keep.Link && !w.found.same }
	if !slices.ContainsFunc(items, func(it *item) bool { return !it.settled() && slices.ContainsFunc(it.works, turns) }) {
		return nil
	}
	var later []*item
	p.each(items, func(it *item) {
		p.sys.Trim()
		if real, err := p.realOf(it.res.Path); slices.ContainsFunc(it.works, turns) || err == nil && real == it.res.Path {
			return
		}
		it.stands = false
		for _, w := range it.works {
			maps.DeleteFunc(p.real, func(_, path string) bool { return path == w.want.Path })
			w.real, w.found = "", found{}
		}
		it.more().says = nil
		later = append(later, it)
	})
	return later
}

// empty removes what the host made below a directory that is to become something else.
func (p *pass) empty(dir string) {
	var all []keep.Entry
	for e := range p.record.Entries.All() {
		if strings.HasPrefix(e.Place(), dir+"/") && e.Origin == keep.Made && !p.wants(e.Thing.Path) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b keep.Entry) int { return strings.Compare(b.Place(), a.Place()) })
	for _, e := range all {
		p.takeOut(e)
	}
}

// takeOut removes one thing early. It stays in the record until it has been
// read back as gone; where it cannot be removed, what needs its place says so.
func (p *pass) takeOut(e keep.Entry) {
	f, pl, err := look(p.sys, placed(e), &p.eyes[0])
	if err != nil || pl.dir == nil || pl.real() != e.Place() || f.kind != e.Thing.Kind ||
		e.Phase == keep.Making && !f.body || p.standing(pl.real()) != "" {
		return
	}
	p.wrote = true
	_ = remove(pl, f.kind)
	p.sys.Forget() // handles may have been reached through it
}
