package python

import (
	"strings"

	"noxmesh/delivery/imports"
)

// owner finds out what a module owns.
type owner struct {
	tree     *tree
	projects map[string]*settings // by their folder
	owns     []imports.Own
	packages map[string]string   // the name of each folder that is an owned package
	roots    map[string][]string // the folders of each project that its names lie in
}

// gather is what every project of the module gives, and what lies loose in its folder.
func (o *owner) gather() {
	for dir, s := range o.projects {
		if inside(dir, o.tree.folder) {
			o.project(dir, s)
		}
	}
	folder := o.tree.folder
	if o.projects[folder] != nil {
		return
	}
	for dir := folder; dir != ""; {
		dir = parent(dir)
		if s := o.projects[dir]; s != nil {
			before := len(o.owns)
			o.project(dir, s)
			if len(o.owns) > before || s.none {
				return
			}
			break
		}
	}
	o.loose(folder)
}

// loose is what a folder gives that no project describes: its own package, or what lies in it.
func (o *owner) loose(folder string) {
	if base := o.tree.base(folder); base != folder {
		name := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(folder, base), "/"), "/", ".")
		if dottedName(name) {
			o.grow(folder, gift{path: folder, name: name, shared: true})
			o.roots[folder] = append(o.roots[folder], base)
			return
		}
	}
	for _, dir := range []string{folder, join(folder, "src")} {
		if dir != folder && (o.projects[dir] != nil || !o.tree.isFolder(dir) || o.tree.regular(dir) != "") {
			continue
		}
		o.grow(folder, gift{path: dir, all: true, modules: true, shared: true, skip: notGiven})
	}
}

// notGiven is what nobody means to give to others from a folder without a project.
func notGiven(name string, folder bool) bool {
	switch name {
	case "test", "tests", "src":
		return folder
	case "setup", "conftest", "noxfile", "toxfile":
		return !folder
	}
	return !folder && testFile(name)
}

// project is what one project gives.
func (o *owner) project(dir string, s *settings) {
	if s.none {
		return
	}
	gifts := s.gifts
	for i := range gifts {
		gifts[i].path = join(dir, gifts[i].path)
	}
	if len(gifts) == 0 && s.byName && s.name != "" {
		gifts = o.byName(dir, s)
	}
	above := !inside(dir, o.tree.folder)
	if len(gifts) == 0 && (!above || !s.byName) {
		gifts = o.setuptools(dir, s)
	}
	for _, g := range gifts {
		o.grow(dir, g)
	}
}

// byName is the package or module that has the project's name.
func (o *owner) byName(dir string, s *settings) []gift {
	for _, name := range []string{s.name, strings.ToLower(s.name)} {
		for _, from := range []string{s.from, "", "src"} {
			at := join(join(dir, from), strings.ReplaceAll(name, ".", "/"))
			if dottedName(name) && (o.tree.isFolder(at) || o.tree.either(at) != "") {
				return []gift{{path: at, name: name, shared: true}}
			}
		}
	}
	return nil
}
