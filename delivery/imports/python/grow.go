package python

import (
	"path"
	"strings"

	"noxmesh/delivery/imports"
)

// place is a folder or module on the way to what is owned.
type place struct{ path, name string }

// grow owns what a gift of the project in dir holds: from each place down, the
// first that is a module or a package of its own.
func (o *owner) grow(dir string, g gift) {
	if g.all {
		o.roots[dir] = append(o.roots[dir], g.path)
	} else if at := strings.TrimSuffix(g.path, strings.ReplaceAll(g.name, ".", "/")); at != g.path {
		o.roots[dir] = append(o.roots[dir], strings.TrimSuffix(at, "/"))
	}
	todo := []place{{g.path, g.name}}
	for len(todo) > 0 {
		here := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		root := g.all && here.name == ""
		switch {
		case !root && o.take(here, g):
		case root || g.shared || o.above(here.path):
			todo = append(todo, o.within(dir, here, g)...)
		case !g.all:
			o.direct(here)
		}
	}
}

// within is what lies in a folder that is gone into.
func (o *owner) within(dir string, here place, g gift) []place {
	var all []place
	for _, name := range o.tree.below[here.path] {
		next := place{join(here.path, name), name}
		if here.name != "" {
			next.name = here.name + "." + name
		}
		left := g.all && here.name == "" && o.left(next, g)
		if identifier(name) && name != "__init__" && !o.others(dir, next.path) && !left {
			all = append(all, next)
		}
	}
	return all
}

// above reports whether a folder encloses the module's.
func (o *owner) above(dir string) bool { return dir != o.tree.folder && inside(o.tree.folder, dir) }

// others reports whether a folder is another project's.
func (o *owner) others(dir, at string) bool { return at != dir && o.projects[at] != nil }

// left reports whether what lies in a root is left out of a gift.
func (o *owner) left(p place, g gift) bool {
	folder := o.tree.isFolder(p.path)
	if !folder && (!g.modules || g.skip != nil && g.skip(p.name, false)) {
		return true
	}
	return folder && g.skip != nil && g.skip(p.name, true) && o.tree.either(p.path) == ""
}

// take owns a place that is a module or a package of its own, and lies in the module.
func (o *owner) take(p place, g gift) bool {
	file := o.tree.regular(p.path)
	if o.above(p.path) {
		return false
	}
	folder := file != ""
	if !folder {
		file = o.tree.either(p.path)
	}
	if file == "" {
		return false
	}
	of := p.name // the package that decides whether it is taken
	if i := strings.LastIndexByte(p.name, '.'); !folder {
		of = p.name[:max(i, 0)]
	}
	if !inside(file, o.tree.folder) || of != "" && !matches(of, g) {
		return true
	}
	o.owns = append(o.owns, imports.Own{Name: p.name, At: imports.Place{File: file}})
	if folder {
		o.packages[p.path] = p.name
	}
	return true
}

// direct owns the modules that lie directly in a folder which is written out as a package.
func (o *owner) direct(p place) {
	for _, name := range o.tree.below[p.path] {
		file := o.tree.either(join(p.path, name))
		if file != "" && identifier(name) && name != "__init__" && inside(file, o.tree.folder) {
			o.owns = append(o.owns, imports.Own{Name: p.name + "." + name, At: imports.Place{File: file}})
		}
	}
}

// matches reports whether setuptools' patterns take a package.
func matches(name string, g gift) bool {
	any1 := func(patterns []string) bool {
		for _, pattern := range patterns {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
		return false
	}
	return (len(g.include) == 0 || any1(g.include)) && !any1(g.exclude)
}

// gift is a place where the names lie that a project gives to others.
type gift struct {
	path    string // a folder, or a module without its suffix
	name    string // what it is imported as; empty where all is set
	all     bool   // what lies in it is meant, and not itself
	modules bool   // of all, modules too
	shared  bool   // folders that are no packages of their own are gone into
	include []string
	exclude []string
	skip    func(name string, folder bool) bool // of all, what is none of it
}
