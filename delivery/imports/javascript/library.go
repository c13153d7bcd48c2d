package javascript

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
	"noxmesh/internal/fault"
)

// Library is what each package of the tree ships: its package.json, what files
// says there and what its entries name, or else everything that no .npmignore
// leaves out; without tests, documents and what was installed. A .gitignore says
// nothing here: what a build makes is mostly in it.
func (l Language) Library(tree fs.FS) ([]string, error) {
	all, err := imports.Walk(tree, unshipped)
	if err != nil {
		return nil, err
	}
	ships, err := l.ships(tree, all)
	if err != nil {
		return nil, err
	}
	if len(ships) == 0 {
		return nil, fault.New(fault.Invalid, "there is no package.json with a name in the folder: it is what others import it by")
	}
	var files []string
	for _, file := range all {
		if in, dir := nearest(ships, file); in != nil && in.has(below(file, dir)) {
			files = append(files, file)
		}
	}
	return files, nil
}

// nearest is the package that a file lies in, and that package's folder.
func nearest(ships map[string]*shipment, file string) (*shipment, string) {
	dir := path.Dir(file)
	for ships[dir] == nil && dir != "." {
		dir = path.Dir(dir)
	}
	return ships[dir], dir
}

// unshipped reports whether nothing in a folder goes to others.
func unshipped(folder string) bool {
	name := path.Base(folder)
	return name == "node_modules" || name == ".git" || name == ".svn" || name == ".hg" || name == "CVS"
}

// below is a path in a folder that it lies in.
func below(file, folder string) string {
	if folder == "." {
		return file
	}
	return strings.TrimPrefix(file, folder+"/")
}

// shipment is what a package.json says of what is in its package.
type shipment struct {
	name             string
	limited          bool // files says what is in it
	wanted, unwanted [][]string
	entries          []string             // what main, types, exports and the like name; a * is anything
	ignores          map[string][]ignored // what the .npmignore of each folder leave out
}

// ships is each package of a tree that others import, by its folder.
func (l Language) ships(tree fs.FS, all []string) (map[string]*shipment, error) {
	var in imports.Input
	texts := map[string][]byte{}
	for _, file := range all {
		if base := path.Base(file); base != "package.json" && base != "pnpm-workspace.yaml" {
			continue
		}
		text, err := imports.Text(tree, file, imports.FileLimit)
		if err != nil {
			return nil, err
		}
		texts[file] = text
		in.Files = append(in.Files, imports.File{Path: file, Text: text})
	}
	ships := map[string]*shipment{}
	for _, o := range l.Read(in).Owns {
		v, p := decodeJSON(texts[o.At.File])
		if p.why != "" {
			return nil, fault.New(fault.Invalid, "%s: %s", o.At, p.why)
		}
		ships[path.Dir(o.At.File)] = newShipment(o.Name, v)
	}
	return ships, ignoreIn(tree, all, ships)
}

// ignoreIn lets each package know what its .npmignore leave out.
func ignoreIn(tree fs.FS, all []string, ships map[string]*shipment) error {
	for _, file := range all {
		if path.Base(file) != ".npmignore" {
			continue
		}
		in, dir := nearest(ships, file)
		if in == nil {
			continue
		}
		text, err := imports.Text(tree, file, imports.FileLimit)
		if err != nil {
			return err
		}
		folder := path.Dir(below(file, dir))
		if folder == "." {
			folder = ""
		}
		in.ignores[folder] = ignoredBy(string(text))
	}
	return nil
}

func newShipment(name string, v value) *shipment {
	limited := slices.ContainsFunc(v.fields, func(f field) bool { return f.name == "files" })
	s := &shipment{name: name, limited: limited, entries: []string{"index.js"}, ignores: map[string][]ignored{}}
	list := v.get("files").texts()
	for _, each := range list[:min(most, len(list))] {
		pattern, not := strings.CutPrefix(each.text, "!")
		for _, one := range braces(pattern) {
			pieces := strings.Split(strings.Trim(path.Clean("/"+one), "/"), "/")
			if not {
				s.unwanted = append(s.unwanted, pieces)
			} else {
				s.wanted = append(s.wanted, pieces)
			}
		}
	}
	for _, key := range []string{"main", "module", "types", "typings", "browser", "bin", "exports", "imports", "typesVersions"} {
		s.entry(v.get(key))
	}
	return s
}

// entry takes all that a value names, however deep.
func (s *shipment) entry(v value) {
	if v.isText && len(s.entries) < most {
		s.entries = append(s.entries, strings.Trim(path.Clean("/"+v.text), "/"))
	}
	for _, each := range v.list {
		s.entry(each)
	}
	for _, f := range v.fields {
		s.entry(f.value)
	}
}

// has reports whether a file is in the package, by its path there.
func (s *shipment) has(file string) bool {
	switch {
	case file == "package.json":
		return true
	case forTests(file) || strings.HasSuffix(strings.ToLower(file), ".md") || never(file):
		return false
	}
	for _, entry := range s.entries {
		if names(entry, file) {
			return true
		}
	}
	if s.leaves(file) {
		return false
	}
	if s.limited {
		return lists(s.wanted, file) && !lists(s.unwanted, file)
	}
	return !hidden(file)
}

// lists reports whether patterns name a file, or a folder that it lies in.
func lists(patterns [][]string, file string) bool {
	pieces := strings.Split(file, "/")
	for _, pattern := range patterns {
		if len(pattern) == 1 && pattern[0] == "" {
			return true // the package itself
		}
		for n := range pieces {
			if fits(pattern, pieces[:n+1]) {
				return true
			}
		}
	}
	return false
}

// names reports whether an entry names a file, as Node looks for it.
func names(entry, file string) bool {
	prefix, suffix, starred := strings.Cut(entry, "*")
	if starred {
		return len(file) >= len(prefix)+len(suffix) && strings.HasPrefix(file, prefix) && strings.HasSuffix(file, suffix)
	}
	rest, ok := strings.CutPrefix(file, entry)
	return ok && (rest == "" || rest == ".js" || rest == ".json" || rest == ".node" || rest == "/index.js" || rest == "/index.json" || rest == "/package.json")
}

// Wire links each package into a node_modules at the root, where everything looks
// that looks for a package as Node does. What the libraries want of others is
// looked for in the tree's node_modules too.
func (l Language) Wire(laying imports.Laying) (imports.Wiring, error) {
	w := imports.Wiring{
		Links: map[string]string{}, Top: map[string]string{"node_modules": path.Join(laying.Made, "node_modules")},
		Beside: map[string]string{"node_modules": path.Join(laying.Tree.At, "node_modules")},
	}
	for _, folder := range laying.Laid {
		all, err := imports.Walk(folder.Files, unshipped)
		if err != nil {
			return imports.Wiring{}, err
		}
		ships, err := l.ships(folder.Files, all)
		if err != nil {
			return imports.Wiring{}, err
		}
		for dir, s := range ships {
			at := path.Join("node_modules", s.name)
			if _, err := fs.Lstat(laying.Tree.Files, at); err == nil {
				return imports.Wiring{}, fault.New(fault.Invalid, "%q is in the tree, and the library of that package would not be found", at).
					With("take it out of the repository: the mesh builds against what the module itself makes")
			}
			w.Links[at] = path.Join(folder.At, dir)
		}
	}
	return w, nil
}
