package resource

import (
	"maps"
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/host/keep"
)

// Folders is where the things lie that the record has, at most so many of them,
// and how many there are. Those that hold something declared by itself come first,
// and of those in archives the ones that are the nearest to the root.
func (e *Engine) Folders(most int) (folders []string, all int) {
	archives := map[string]bool{}
	for i := range e.known {
		if e.known[i].Type == declaration.Archive {
			archives[e.known[i].ID] = true
		}
	}
	nested := map[string]bool{} // by folder: whether all that it holds is of archives
	e.aside = map[string]string{}
	for entry := range e.record.Entries.All() {
		if entry.Real != "" {
			e.aside[entry.Real] = entry.Thing.Path
		}
		dir := parent(entry.Place())
		was, had := nested[dir]
		nested[dir] = archives[entry.ID] && (was || !had)
	}
	folders = slices.SortedFunc(maps.Keys(nested), func(a, b string) int {
		if nested[a] != nested[b] {
			if nested[b] {
				return -1
			}
			return 1
		}
		if n := strings.Count(a, "/") - strings.Count(b, "/"); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return folders[:min(len(folders), most)], len(folders)
}

// Strayed reports whether the thing at any of these places is not as it was read
// back, of those that were right at the last pass. It changes nothing.
func (e *Engine) Strayed(places []string) bool {
	e.sys.Forget()
	e.sys.Meet()
	defer e.sys.Forget()
	return slices.ContainsFunc(places, func(real string) bool {
		entry, ok := e.record.Entries.Get(real)
		if !ok || entry.Place() != real {
			if entry, ok = e.record.Entries.Get(e.aside[real]); !ok {
				return false
			}
		}
		return e.strays(entry)
	})
}

// StrayedAnywhere is Strayed of every place.
func (e *Engine) StrayedAnywhere() bool {
	e.sys.Forget()
	e.sys.Meet()
	defer e.sys.Forget()
	for entry := range e.record.Entries.Sorted() {
		if e.strays(entry) {
			return true
		}
	}
	return false
}

func (e *Engine) strays(entry keep.Entry) bool {
	if entry.Phase != keep.Done || e.unruly[entry.ID] {
		return false
	}
	f, pl, err := look(e.sys, entry.Thing, &e.eyes[0])
	switch {
	case err != nil || pl.dir == nil || pl.real() != entry.Place():
		return true
	case entry.ID == "": // on the way to something: its mode is nobody's
		return f.kind != keep.Directory
	}
	return !f.same
}

// remember is which resources were not right: that they are not is known, and
// when they are tried again is not for an event to say.
func (p *pass) remember() {
	p.unruly = nil
	for _, it := range p.items {
		if !it.right() {
			if p.unruly == nil {
				p.unruly = map[string]bool{}
			}
			p.unruly[it.res.ID] = true
		}
	}
}
