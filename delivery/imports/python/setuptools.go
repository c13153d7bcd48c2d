package python

import (
	"path"
	"strings"

	"noxmesh/delivery/imports"
)

// setuptools is what setuptools gives: what the settings say, or what lies in src, or beside the project's file.
func (o *owner) setuptools(dir string, s *settings) []gift {
	root := join(dir, path.Clean("/" + s.dirs[""])[1:])
	if s.packages != nil || s.modules != nil || s.find != nil {
		return o.listed(dir, root, s)
	}
	var gifts []gift
	for name, at := range s.dirs {
		if name != "" && dottedName(name) {
			gifts = append(gifts, gift{path: join(dir, path.Clean("/" + at)[1:]), name: name, shared: true})
		}
	}
	if src := join(dir, "src"); root == dir && len(gifts) == 0 && o.tree.isFolder(src) && o.tree.regular(src) == "" {
		root = src
	}
	switch {
	case root != dir:
		return append(gifts, gift{path: root, all: true, modules: true, shared: true})
	case len(gifts) == 0:
		return o.flat(dir)
	}
	return gifts
}

// listed is the packages and modules that the settings write out, or say where to find.
func (o *owner) listed(dir, root string, s *settings) []gift {
	var gifts []gift
	for _, name := range s.packages {
		if dottedName(name) {
			gifts = append(gifts, gift{path: o.placed(dir, root, s, name), name: name})
		}
	}
	for _, name := range s.modules {
		if dottedName(name) {
			gifts = append(gifts, gift{path: join(root, strings.ReplaceAll(name, ".", "/")), name: name})
		}
	}
	if s.find == nil {
		return gifts
	}
	where := s.find.where
	if len(where) == 0 {
		where = []string{"."}
	}
	for _, each := range where {
		at := join(dir, path.Clean("/" + each)[1:])
		gifts = append(gifts, gift{path: at, all: true, shared: s.find.shared, include: s.find.include, exclude: s.find.exclude})
	}
	return gifts
}

// placed is where a package lies that is written out by name.
func (o *owner) placed(dir, root string, s *settings, name string) string {
	for _, prefix := range imports.Prefixes(name, ".") {
		if at, ok := s.dirs[prefix]; ok {
			rest := strings.TrimPrefix(strings.TrimPrefix(name, prefix), ".")
			return join(join(dir, path.Clean("/" + at)[1:]), strings.ReplaceAll(rest, ".", "/"))
		}
	}
	return join(root, strings.ReplaceAll(name, ".", "/"))
}

// flat is what lies beside a project's file: packages, or else modules.
func (o *owner) flat(dir string) []gift {
	for _, name := range o.tree.below[dir] {
		if at := join(dir, name); o.tree.isFolder(at) && !beside(name, true) && o.projects[at] == nil && identifier(name) {
			return []gift{{path: dir, all: true, shared: true, skip: beside}}
		}
	}
	return []gift{{path: dir, all: true, modules: true, skip: beside}}
}

// beside is what setuptools takes for no part of a project that has its packages beside its file.
func beside(name string, folder bool) bool {
	if strings.HasPrefix(name, "_") && folder {
		return true
	}
	switch name {
	case "test", "tests", "example", "examples", "build", "tasks", "fabfile", "benchmark", "benchmarks", "exercise", "exercises":
		return true
	case "ci", "bin", "debian", "doc", "docs", "documentation", "manpages", "news", "newsfragments", "changelog",
		"unit_test", "unit_tests", "scripts", "tools", "util", "utils", "python", "htmlcov", "site_scons":
		return folder
	case "setup", "conftest", "toxfile", "noxfile", "pavement", "dodo", "conanfile", "manage", "SConstruct", "Sconstruct", "sconstruct":
		return !folder
	}
	return !folder && testFile(name)
}
