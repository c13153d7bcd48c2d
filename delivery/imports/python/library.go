package python

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
	"noxmesh/internal/fault"
)

// Library is the packages and modules that others import, with the data that
// lies in them and without their tests, and the files that say where they lie.
func (l Language) Library(tree fs.FS) ([]string, error) {
	all, err := imports.Walk(tree, unshipped)
	if err != nil {
		return nil, err
	}
	owns, err := l.owns(tree, all)
	if err != nil {
		return nil, err
	}
	if len(owns) == 0 {
		return nil, fault.New(fault.Invalid, "there is no package and no module that others could import").
			With("a package is a folder with an __init__.py, beside module.json, in src, or where pyproject.toml says")
	}
	gifts := map[string]bool{} // packages by folder, modules by path without suffix
	for _, o := range owns {
		gifts[lies(o)] = true
	}
	var files []string
	for _, file := range all {
		switch path.Base(file) {
		case "pyproject.toml", "setup.cfg", "setup.py":
			files = append(files, file)
			continue
		}
		if given(file, gifts) {
			files = append(files, file)
		}
	}
	return files, nil
}

// unshipped reports whether nothing in a folder goes to others.
func unshipped(folder string) bool {
	name := path.Base(folder)
	return foreign(folder+"/x") || strings.HasPrefix(name, ".") || testFolder(name)
}

// given reports whether a file is a module's that is owned, or lies in such a package.
func given(file string, gifts map[string]bool) bool {
	stem, code := strings.CutSuffix(file, ".py")
	if !code {
		stem, code = strings.CutSuffix(file, ".pyi")
	}
	base := path.Base(stem)
	if code && testFile(base) || strings.HasSuffix(file, ".pyc") {
		return false
	}
	if code && gifts[stem] {
		return true
	}
	for dir := parent(file); dir != ""; dir = parent(dir) {
		if gifts[dir] {
			return true
		}
	}
	return false
}

// lies is where a name lies: a package's folder, or a module's path without its suffix.
func lies(o imports.Own) string {
	stem := strings.TrimSuffix(strings.TrimSuffix(o.At.File, ".pyi"), ".py")
	if path.Base(stem) == "__init__" {
		return parent(stem)
	}
	return stem
}

// owns is what the module of a tree owns, by all files of it.
func (l Language) owns(tree fs.FS, all []string) ([]imports.Own, error) {
	var in imports.Input
	for _, file := range all {
		if !l.Wants(file, false) {
			continue
		}
		text, err := imports.Text(tree, file, imports.FileLimit)
		if err != nil {
			return nil, err
		}
		in.Files = append(in.Files, imports.File{Path: file, Text: text})
	}
	return l.Read(in).Owns, nil
}

// Wire puts the folders in which the packages lie on Python's path, before all
// that is installed. A package that lies under another name is linked.
func (l Language) Wire(laying imports.Laying) (imports.Wiring, error) {
	w := imports.Wiring{Links: map[string]string{}}
	var roots []string
	for _, folder := range laying.Laid {
		all, err := imports.Walk(folder.Files, unshipped)
		if err != nil {
			return imports.Wiring{}, err
		}
		owns, err := l.owns(folder.Files, all)
		if err != nil {
			return imports.Wiring{}, err
		}
		for _, o := range owns {
			at, name := lies(o), strings.ReplaceAll(o.Name, ".", "/")
			if root, ok := strings.CutSuffix("/"+at, "/"+name); ok {
				roots = append(roots, path.Join(folder.At, root))
				continue
			}
			if at+".py" == o.At.File || at+".pyi" == o.At.File {
				at, name = o.At.File, name+path.Ext(o.At.File)
			}
			w.Links[name] = path.Join(folder.At, at)
		}
	}
	if len(w.Links) > 0 {
		roots = append(roots, laying.Made)
	}
	slices.Sort(roots)
	w.Env = [][2]string{{"PYTHONPATH", strings.Join(slices.Compact(roots), ":")}}
	return w, nil
}
