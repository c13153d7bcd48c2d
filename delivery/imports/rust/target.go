package rust

import (
	"path"
	"slices"
	"strings"
)

// root is a file with which the compiler begins.
type root struct {
	file string
	use  use
}

// roots is where the compiler begins in a package: what its manifest names, and
// what Cargo finds by itself.
func (r *reader) roots(c *crate) []root {
	var all []root
	add := func(file string, of use) {
		if file = path.Join(c.dir, file); r.has(file) {
			all = append(all, root{file, of})
		}
	}
	switch script := c.doc.said("package", "build"); script {
	case "false":
	case "", "true":
		add("build.rs", build)
	default:
		add(script, build)
	}
	if lib := c.doc.said("lib", "path"); lib != "" {
		add(lib, normal)
	} else {
		add("src/lib.rs", normal)
	}
	for _, kind := range []struct {
		name, auto, dir string
		use             use
	}{
		{"bin", "autobins", "src/bin", normal},
		{"test", "autotests", "tests", develop},
		{"bench", "autobenches", "benches", develop},
		{"example", "autoexamples", "examples", develop},
	} {
		for _, file := range r.named(c, kind.name, kind.dir) {
			add(file, kind.use)
		}
		if c.doc.said("package", kind.auto) == "false" {
			continue
		}
		for _, file := range r.discovered(c, kind.dir) {
			add(file, kind.use)
		}
		if kind.name == "bin" {
			add("src/main.rs", normal)
		}
	}
	slices.SortStableFunc(all, func(a, b root) int { return int(a.use) - int(b.use) })
	return all
}

// named is the files of the targets of a kind that a manifest lists.
func (r *reader) named(c *crate, kind, dir string) []string {
	list := c.doc.at(kind)
	if list == nil {
		return nil
	}
	var files []string
	for _, one := range list.list {
		if file := one.said("path"); file != "" {
			files = append(files, file)
			continue
		}
		name := one.said("name")
		files = append(files, path.Join(dir, name+".rs"), path.Join(dir, name, "main.rs"))
		if kind == "bin" {
			files = append(files, "src/main.rs")
		}
	}
	return files
}

// discovered is the files of a folder, and main.rs of each folder in it.
func (r *reader) discovered(c *crate, dir string) []string {
	prefix := path.Join(c.dir, dir) + "/"
	var files []string
	for _, file := range r.under(prefix) {
		rest := strings.TrimPrefix(file, prefix)
		name, deeper, _ := strings.Cut(rest, "/")
		if deeper == "" && strings.HasSuffix(name, ".rs") || deeper == "main.rs" {
			files = append(files, path.Join(dir, rest))
		}
	}
	return files
}

// under is the files whose paths begin with prefix.
func (r *reader) under(prefix string) []string {
	from, _ := slices.BinarySearch(r.paths, prefix)
	to := from
	for to < len(r.paths) && strings.HasPrefix(r.paths[to], prefix) {
		to++
	}
	return r.paths[from:to]
}
