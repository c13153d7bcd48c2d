package golang

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// reading is one module's folder while it is read.
type reading struct {
	folder   string
	platform platform
	folders  map[string]*folder // with Go files, by their paths from the repository's root
	modules  paths[*module]     // by their folders
	named    paths[*module]     // those of ./... by their names
	inside   []*module          // those of ./... and what is not aside
	found    imports.Found

	pending [2][]*folder // aside, and asked for: by code, by tests alone
}

// folder is one with Go files.
type folder struct {
	path   string
	files  []imports.File
	module *module // the one that it belongs to; nil outside of any
	aside  bool    // no ./... names it: it is read where it is imported
	read   bool
}

// module is a Go module: a go.mod.
type module struct {
	folder string
	file   string
	modfile
	wrong    imports.Fault   // with its go.mod; nothing where Why is empty
	provides paths[provider] // what it knows of who provides a package, by module path
	ignored  [2]paths[bool]  // from its folder on, and anywhere
}

// provider is a folder that a module's packages come from, or another repository.
type provider struct {
	local  bool
	folder string
}

func newReading(in imports.Input) *reading {
	os, arch, _ := strings.Cut(in.Platform, "/")
	r := &reading{folder: strings.Trim(in.Folder, "/"), platform: platform{os, arch}, folders: map[string]*folder{}}
	files := slices.Clone(in.Files)
	slices.SortFunc(files, func(a, b imports.File) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), bytes.Compare(a.Text, b.Text))
	})
	files = slices.CompactFunc(files, func(a, b imports.File) bool { return a.Path == b.Path })
	var works paths[modfile]
	for _, f := range files {
		rest, in := below(f.Path, r.folder)
		if _, above := below(r.folder, folderOf(f.Path)); !in && !above || !(Language{}).Wants(cmp.Or(rest, f.Path), !in) {
			continue
		}
		if why := unreachable(f.Path); why != "" {
			r.fault(f.Path, 0, why)
			continue
		}
		switch path.Base(f.Path) {
		case "go.mod":
			r.addModule(f)
		case "go.work":
			work, wrong := readModfile(f)
			works.put(folderOf(f.Path), work)
			if wrong.Why != "" && !aside(folderOf(rest)) {
				r.found.Faults = append(r.found.Faults, wrong)
			}
		default:
			r.addSource(f)
		}
	}
	for _, m := range r.inside {
		m.learn(works)
	}
	r.place()
	return r
}

// readModfile reads a go.mod or a go.work, and says what is wrong with it.
func readModfile(f imports.File) (m modfile, wrong imports.Fault) {
	line, why := unread(f)
	if len(f.Text) > imports.FileLimit {
		line, why = 0, fmt.Sprintf("is larger than %d MiB, and is not read", imports.FileLimit>>20)
	}
	if why == "" {
		m, line, why = parseModfile(f.Text)
	}
	if why == "" && m.path == "" && path.Base(f.Path) == "go.mod" {
		line, why = 1, "names no module: write module and its path in the first line"
	}
	return m, imports.Fault{At: imports.Place{File: f.Path, Line: line}, Why: why}
}

func (r *reading) fault(file string, line int, why string) {
	r.found.Faults = append(r.found.Faults, imports.Fault{At: imports.Place{File: file, Line: line}, Why: why})
}

func (r *reading) addModule(f imports.File) {
	m := &module{folder: folderOf(f.Path), file: f.Path}
	m.modfile, m.wrong = readModfile(f)
	r.inside = append(r.inside, m)
	r.modules.put(m.folder, m)
	for _, pattern := range m.ignores {
		from, fixed := strings.CutPrefix(pattern, "./")
		switch from = strings.Trim(from, "/"); {
		case from == "":
		case fixed:
			m.ignored[0].put(from, true)
		default:
			m.ignored[1].put(from, true)
		}
	}
}

func (r *reading) addSource(f imports.File) {
	at := folderOf(f.Path)
	if r.folders[at] == nil {
		r.folders[at] = &folder{path: at}
	}
	if r.platform.named(path.Base(f.Path)) {
		r.folders[at].files = append(r.folders[at].files, f)
	}
}

// learn is what a module knows of who provides a package: itself, what it
// requires, and what it or the go.work that joins it replaces by a folder.
func (m *module) learn(works paths[modfile]) {
	if m.path != "" {
		m.provides.put(m.path, provider{local: true, folder: m.folder})
	}
	if work, rest, ok := works.longest(m.folder); ok && work.joins(rest) {
		at := strings.TrimSuffix(strings.TrimSuffix(m.folder, rest), "/")
		m.replace(at, work.replaces)
	}
	m.replace(m.folder, m.replaces)
	for name := range m.requires {
		m.provides.put(name, provider{})
	}
}

// replace takes folders instead of modules: first for the version that is
// required, then for each.
func (m *module) replace(from string, by []replacement) {
	for _, versioned := range []bool{true, false} {
		for _, r := range by {
			if (r.at != "") != versioned || versioned && m.requires[r.path] != r.at {
				continue
			}
			to := path.Join(from, r.folder)
			if outside := to == ".." || strings.HasPrefix(to, "../") || r.folder[0] == '/'; outside {
				m.provides.put(r.path, provider{})
				continue
			}
			if to == "." {
				to = ""
			}
			m.provides.put(r.path, provider{local: true, folder: to})
		}
	}
}

// joins reports whether a go.work uses the module in a folder below it.
func (m modfile) joins(rest string) bool {
	return slices.ContainsFunc(m.uses, func(use string) bool { return path.Clean(use) == path.Clean(rest) })
}

// takesOut reports whether its go.mod takes a folder below its own out of ./...
func (m *module) takesOut(rest string) bool {
	if _, _, ok := m.ignored[0].longest(rest); ok {
		return true
	}
	for more := rest != ""; more; _, rest, more = strings.Cut(rest, "/") {
		if _, _, ok := m.ignored[1].longest(rest); ok {
			return true
		}
	}
	return false
}

// place gives each folder its module, and tells apart what ./... names.
func (r *reading) place() {
	for at, f := range r.folders {
		rest, _ := below(at, r.folder)
		f.module, _, _ = r.modules.longest(at)
		f.aside = aside(rest)
		if m := f.module; m != nil {
			rest, _ := below(at, m.folder)
			f.aside = f.aside || m.takesOut(rest)
		}
	}
	around, _, _ := r.modules.longest(r.folder)
	for _, m := range r.inside {
		rest, in := below(m.folder, r.folder)
		if m == around || in && !aside(rest) {
			r.blame(m)
		}
	}
	r.inside = slices.DeleteFunc(r.inside, func(m *module) bool {
		rest, in := below(m.folder, r.folder)
		return !in || aside(rest) || m.path == ""
	})
	for _, m := range r.inside {
		r.named.put(m.path, m)
	}
}

// blame says what is wrong with a module's go.mod.
func (r *reading) blame(m *module) {
	if m != nil && m.wrong.Why != "" {
		r.found.Faults = append(r.found.Faults, m.wrong)
	}
}
