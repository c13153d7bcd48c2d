package rust

import (
	"path"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// manifest is a Cargo.toml.
type manifest struct {
	file string
	root *value
}

// crate is a package with what its code may call other packages.
type crate struct {
	dir     string
	doc     *value
	name    string
	library string            // what others write to use it; empty where it is none
	edition string            // 2015, 2018, …
	names   [3]map[string]dep // by use, for each name in code the package that is meant
}

// use is what code is for, as a manifest tells dependencies apart.
type use int

const (
	normal use = iota
	develop
	build
)

// dep is a package by the name that a manifest gives it.
type dep struct {
	pack  string
	fixed bool // the name in code is this one, whatever the package calls its library
}

// under is a code name: a dash is no part of one.
func under(name string) string { return strings.ReplaceAll(name, "-", "_") }

// dirOf is the folder of a file; empty for the root.
func dirOf(file string) string {
	if dir := path.Dir(file); dir != "." {
		return dir
	}
	return ""
}

// inside reports whether a path is in a folder of the repository.
func inside(file, dir string) bool {
	return dir == "" || strings.HasPrefix(file, dir+"/")
}

// crates is the packages of the module, with what the folders above say of them.
func (r *reader) crates() []*crate {
	var all []*crate
	for _, m := range r.manifests {
		name := m.root.said("package", "name")
		if name == "" || !inside(m.file, r.in.Folder) {
			continue
		}
		all = append(all, &crate{dir: dirOf(m.file), doc: m.root, name: name})
	}
	slices.SortFunc(all, func(a, b *crate) int { return strings.Compare(a.dir, b.dir) })
	for _, c := range all {
		c.library = r.library(c.doc, c.dir)
	}
	for _, c := range all {
		r.complete(c)
	}
	return all
}

// library is the name of a package's library, if it has one.
func (r *reader) library(doc *value, dir string) string {
	lib := doc.at("lib")
	if lib == nil && !r.has(path.Join(dir, "src/lib.rs")) {
		return ""
	}
	if name := lib.said("name"); name != "" {
		return name
	}
	return under(doc.said("package", "name"))
}

func (r *reader) has(file string) bool {
	_, ok := r.files[file]
	return ok
}

// complete fills in what a package's manifest says, and its workspace.
func (r *reader) complete(c *crate) {
	file := path.Join(c.dir, "Cargo.toml")
	at := func(v *value) imports.Place { return imports.Place{File: file, Line: v.line} }
	r.owns(c.name, at(c.doc.at("package", "name")))
	if c.library != "" {
		named := c.doc.at("lib", "name")
		if named == nil {
			named = c.doc.at("package", "name")
		}
		r.owns(c.library, at(named))
	}
	workspace := r.workspace(c)
	c.edition = c.doc.said("package", "edition")
	if c.doc.at("package", "edition", "workspace") != nil {
		c.edition = workspace.said("package", "edition")
	}
	if c.edition == "" {
		c.edition = "2015"
	}
	for i := range c.names {
		c.names[i] = map[string]dep{}
	}
	r.dependencies(c, c.doc, workspace)
	if targets := c.doc.at("target"); targets != nil {
		for _, key := range targets.keys {
			if r.known.target(key) != no {
				r.dependencies(c, targets.table[key], workspace)
			}
		}
	}
}

// workspace is the workspace that a package belongs to, or nil.
func (r *reader) workspace(c *crate) *value {
	if at := c.doc.said("package", "workspace"); at != "" {
		if m, ok := r.manifests[path.Join(c.dir, at, "Cargo.toml")]; ok {
			return m.root.at("workspace")
		}
	}
	for dir := c.dir; ; dir = dirOf(dir) {
		if m, ok := r.manifests[path.Join(dir, "Cargo.toml")]; ok && m.root.at("workspace") != nil {
			return m.root.at("workspace")
		}
		if dir == "" {
			return nil
		}
	}
}

// dependencies reads the tables of dependencies that stand in v.
func (r *reader) dependencies(c *crate, v, workspace *value) {
	for section, of := range map[string]use{
		"dependencies": normal, "dev-dependencies": develop, "dev_dependencies": develop,
		"build-dependencies": build, "build_dependencies": build,
	} {
		table := v.at(section)
		if table == nil {
			continue
		}
		for key, said := range table.table {
			if said.at("workspace") != nil {
				if shared := workspace.at("dependencies", key); shared != nil {
					r.dependency(c, of, key, shared, workspace)
					continue
				}
			}
			r.dependency(c, of, key, said, nil)
		}
	}
}

// dependency notes what code calls a package. Without a name of its own it is what
// the package calls its library, which can be seen where it is of this module.
func (r *reader) dependency(c *crate, of use, key string, said, workspace *value) {
	if pack := said.said("package"); pack != "" {
		c.names[of][under(key)] = dep{pack: pack, fixed: true}
		return
	}
	if at := said.said("path"); at != "" && workspace == nil {
		if m, ok := r.manifests[path.Join(c.dir, at, "Cargo.toml")]; ok {
			if library := r.library(m.root, path.Join(c.dir, at)); library != "" {
				c.names[of][library] = dep{pack: key, fixed: true}
				return
			}
		}
	}
	c.names[of][under(key)] = dep{pack: key}
}

// named is the package that a name in code means, and whether it is one for tests alone.
func (c *crate) named(of use, name string) (d dep, tests, ok bool) {
	if of == build {
		d, ok = c.names[build][name]
		return d, false, ok
	}
	if d, ok = c.names[normal][name]; ok {
		return d, of == develop, true
	}
	d, ok = c.names[develop][name]
	return d, true, ok
}
