package python

import (
	"path"
	"slices"
	"strings"
)

// tree is which Python files there are, from the root of the repository ("").
type tree struct {
	folder string // the module's
	files  map[string]bool
	below  map[string][]string // the folders and modules in each folder, by name
	shared map[string]bool     // folders whose __init__ says that they are shared
}

func newTree(folder string) *tree {
	return &tree{folder: folder, files: map[string]bool{}, below: map[string][]string{}, shared: map[string]bool{}}
}

// add puts a file in.
func (t *tree) add(file string) {
	t.files[file] = true
	dir, base := parent(file), path.Base(file)
	name := strings.TrimSuffix(strings.TrimSuffix(base, ".pyi"), ".py")
	_, known := t.below[dir]
	t.below[dir] = append(t.below[dir], name)
	for !known && dir != "" {
		base = path.Base(dir)
		dir = parent(dir)
		_, known = t.below[dir]
		t.below[dir] = append(t.below[dir], base)
	}
}

// sort puts what is in each folder in one order, each once.
func (t *tree) sort() {
	for dir, names := range t.below {
		slices.Sort(names)
		t.below[dir] = slices.Compact(names)
	}
}

// parent is the folder that a path is in; empty for the root.
func parent(file string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i]
	}
	return ""
}

// inside reports whether a path is a folder or lies in it.
func inside(file, folder string) bool {
	return folder == "" || file == folder || strings.HasPrefix(file, folder) && file[len(folder)] == '/'
}

// join is a path in a folder.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	if name == "" {
		return dir
	}
	return dir + "/" + name
}

// either is the file of these that is there, with .py before .pyi; empty where there is none.
func (t *tree) either(stem string) string {
	if t.files[stem+".py"] {
		return stem + ".py"
	}
	if t.files[stem+".pyi"] {
		return stem + ".pyi"
	}
	return ""
}

// isFolder reports whether Python files lie in a folder, or below it.
func (t *tree) isFolder(dir string) bool { return len(t.below[dir]) > 0 }

// regular is the file that makes a folder a package of its own; empty where it is
// none, or shares its name with others.
func (t *tree) regular(dir string) string {
	if t.shared[dir] {
		return ""
	}
	return t.either(join(dir, "__init__"))
}

// base is the first folder from dir upwards that is no package of its own: what
// pytest, and a script's own folder, put on the path.
func (t *tree) base(dir string) string {
	for dir != "" && t.either(join(dir, "__init__")) != "" {
		dir = parent(dir)
	}
	return dir
}

// provides reports whether a name that is looked for in a folder is found there:
// up to a module or a package that is nobody else's. A package that encloses the
// module is not its own.
func (t *tree) provides(dir, name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		dir = join(dir, part)
		encloses := dir != t.folder && inside(t.folder, dir)
		if !encloses && (t.regular(dir) != "" || t.either(dir) != "") {
			return true
		}
		if !t.isFolder(dir) {
			return false
		}
	}
	return false
}
