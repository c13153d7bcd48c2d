package python

import (
	"path"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// Language reads Python. Its zero value is ready.
type Language struct{}

// Name is "python".
func (Language) Name() string { return "python" }

// Owners is each package that a dotted name lies in, the nearest first.
func (Language) Owners(name string) []string { return imports.Prefixes(name, ".") }

// Wants reports whether a file is Python, or says where a project's packages lie.
func (Language) Wants(file string, above bool) bool {
	switch base := path.Base(file); base {
	case "pyproject.toml", "setup.cfg", "setup.py", "__init__.py", "__init__.pyi":
		return above || !foreign(file)
	case "pyvenv.cfg":
		return !above
	default:
		return !above && (strings.HasSuffix(base, ".py") || strings.HasSuffix(base, ".pyi")) && !foreign(file)
	}
}

// foreign reports whether a file lies in a folder that another tool has filled or will fill.
func foreign(file string) bool {
	for dir := range strings.SplitSeq(parent(file), "/") {
		if dir == "node_modules" || dir == "__pycache__" || strings.Contains(dir, "{{") {
			return true
		}
	}
	return false
}

// Read is what the files say.
func (l Language) Read(in imports.Input) imports.Found {
	r := &reader{in: in, tree: newTree(in.Folder), projects: map[string]*settings{}, codes: map[string]code{}, words: wordsByName(), stdlib: stdlibNames()}
	files := r.wanted(l)
	for _, f := range files {
		if name := path.Base(f.Path); strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".pyi") {
			r.tree.add(f.Path)
			r.python(f)
		}
	}
	r.tree.sort()
	for _, f := range files {
		r.manifest(f)
	}
	o := &owner{tree: r.tree, projects: map[string]*settings{}, packages: map[string]string{}, roots: map[string][]string{}}
	for dir, s := range r.projects {
		if s.project {
			o.projects[dir] = s
		}
	}
	o.gather()
	r.found.Owns = o.owns
	r.owner = o
	for _, f := range files {
		r.ask(f.Path)
	}
	return r.found.Sorted(l.Owners)
}

// reader is one reading of a module.
type reader struct {
	in       imports.Input
	found    imports.Found
	tree     *tree
	owner    *owner
	projects map[string]*settings // by folder, whether a project or not
	codes    map[string]code      // by file
	words    map[string]word
	stdlib   map[string]bool
}

// wanted is the files that are read, in one order, without those of virtual environments.
func (r *reader) wanted(l Language) []imports.File {
	environments := map[string]bool{}
	var files []imports.File
	for _, f := range r.in.Files {
		above := !inside(f.Path, r.in.Folder)
		file := strings.TrimPrefix(strings.TrimPrefix(f.Path, r.in.Folder), "/")
		if above {
			file = path.Base(f.Path)
		}
		switch {
		case !l.Wants(file, above) || above && !inside(r.in.Folder, parent(f.Path)):
		case path.Base(file) == "pyvenv.cfg":
			environments[parent(f.Path)] = true
		default:
			files = append(files, f)
		}
	}
	files = slices.DeleteFunc(files, func(f imports.File) bool {
		for dir := f.Path; len(environments) > 0 && dir != ""; {
			if dir = parent(dir); environments[dir] {
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(files, func(a, b imports.File) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(files, func(a, b imports.File) bool { return a.Path == b.Path })
}

func (r *reader) fault(file string, line int, why string) {
	r.found.Faults = append(r.found.Faults, imports.Fault{At: imports.Place{File: file, Line: line}, Why: why})
}

// settingsOf is what is known of the project in a folder.
func (r *reader) settingsOf(dir string) *settings {
	if r.projects[dir] == nil {
		r.projects[dir] = &settings{}
	}
	return r.projects[dir]
}

// python reads a Python file.
func (r *reader) python(f imports.File) {
	above := !inside(f.Path, r.in.Folder)
	text, line, why := source(f.Text)
	var c code
	if why == "" {
		c = parse(text, r.words, nil)
		line, why = c.whyLine, c.why
	}
	if path.Base(f.Path) == "__init__.py" && c.namespace {
		r.tree.shared[parent(f.Path)] = true
	}
	if above {
		return // its faults are those of the module that it belongs to
	}
	if why != "" {
		r.fault(f.Path, line, why)
	}
	r.codes[f.Path] = c
}

// manifest reads a file that says where the packages of its folder's project lie.
// pyproject.toml comes before setup.cfg and setup.py, as setuptools has it.
func (r *reader) manifest(f imports.File) {
	base := path.Base(f.Path)
	if base != "pyproject.toml" && base != "setup.cfg" && base != "setup.py" {
		return
	}
	s := r.settingsOf(parent(f.Path))
	text, line, why := source(f.Text)
	switch {
	case why != "":
	case base == "pyproject.toml":
		var root *value
		root, line, why = parseTOML(text)
		s.pyproject(root)
	case base == "setup.cfg":
		var sections ini
		sections, line, why = parseCFG(string(text))
		s.cfg(sections)
	default:
		parse(text, r.words, s.setup)
		s.project = true
	}
	if why == "" && s.wide() {
		line, why = 0, "packages are looked for in more than 64 folders, of which 64 are read"
	}
	if why != "" && base != "setup.py" && inside(f.Path, r.in.Folder) {
		r.fault(f.Path, line, why)
	}
}
