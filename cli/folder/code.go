package folder

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/spoken"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// Name is a name that a module's code owns or asks for, and where.
type Name struct {
	Language string `json:"language"`
	Name     string `json:"name"`
	Test     bool   `json:"test,omitempty"` // only tests ask for it
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Owner    string `json:"owner,omitempty"` // the module that owns it: it is an edge there

	path string // in the repository, where that is what is asked for
}

// Path is what is asked for in the module's own repository; empty where it is a name.
func (n Name) Path() string { return n.path }

// String is the name's place, in the form that editors jump to.
func (n Name) String() string {
	return imports.Place{File: n.File, Line: n.Line}.String()
}

// Code looks at the code as the mesh would at a commit: which names it owns,
// which it asks for, and which files cannot be read.
func Code(c *Checked, _ manifest.Source, _ fs.FS) error {
	dir, err := filepath.Abs(c.Folder)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "find out where the folder %q is", c.Folder)
	}
	r := reader{dir: dir, root: repositoryOf(dir)}
	in := imports.Input{Platform: "linux/" + runtime.GOARCH, Folder: r.inRoot(dir)}
	r.above()
	r.below(dir, nil)
	if r.err != nil {
		return notThere(r.err, "read the code in %q", c.Folder)
	}
	in.Files = r.files
	found := imports.Read(spoken.Languages(), in)
	if !r.others(in.Folder) {
		for _, l := range spoken.Languages() {
			found[l.Name()] = found[l.Name()].Sorted(l.Owners)
		}
	}
	for _, language := range slices.Sorted(maps.Keys(found)) {
		for _, o := range found[language].Owns {
			c.Owns = append(c.Owns, Name{Language: language, Name: o.Name, File: r.shown(c.Folder, o.At.File), Line: o.At.Line})
		}
		for _, i := range found[language].Imports {
			name := Name{Language: language, Name: i.Name, Test: i.Test, File: r.shown(c.Folder, i.At.File), Line: i.At.Line}
			if i.Path != "" {
				name.Name, name.path = "./"+i.Path, i.Path
			}
			c.Asks = append(c.Asks, name)
		}
		for _, f := range found[language].Faults {
			c.Problems = append(c.Problems, Problem{File: r.shown(c.Folder, f.At.File), Line: f.At.Line, What: "it cannot be read as " + language + ": " + f.Why})
		}
	}
	return nil
}

// reader reads what of a folder would be in a commit, as far as that can be told
// without git: what a .gitignore names plainly would not.
type reader struct {
	dir, root string
	files     []imports.File
	err       error
}

// repositoryOf is the root of the repository that a folder is in, or the folder
// itself where it is in none.
func repositoryOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// inRoot is a path in the repository, by slashes; empty for its root.
func (r *reader) inRoot(file string) string {
	in, err := filepath.Rel(r.root, file)
	if err != nil || in == "." {
		return ""
	}
	return filepath.ToSlash(in)
}

// shown is the path of a file as the person would write it.
func (r *reader) shown(dir, file string) string {
	in, err := filepath.Rel(r.dir, filepath.Join(r.root, filepath.FromSlash(file)))
	if err != nil {
		return file
	}
	return filepath.Join(dir, in)
}

// others reports whether other modules stand in the folder: what begins with a
// name that this one owns may be theirs.
func (r *reader) others(folder string) bool {
	return slices.ContainsFunc(r.files, func(f imports.File) bool {
		return path.Base(f.Path) == manifest.Name && f.Path != path.Join(folder, manifest.Name)
	})
}

// above reads what is wanted of the folders that enclose this one.
func (r *reader) above() {
	for at := r.dir; at != r.root; {
		at = filepath.Dir(at)
		for _, e := range r.list(at) {
			if !e.IsDir() && imports.Wants(spoken.Languages(), e.Name(), true) {
				r.take(filepath.Join(at, e.Name()), e)
			}
		}
	}
}

// below reads what is wanted of a folder and of those in it.
func (r *reader) below(dir string, ignored []string) {
	ignored = append(slices.Clone(ignored), ignoredIn(os.DirFS(dir))...)
	for _, e := range r.list(dir) {
		file := filepath.Join(dir, e.Name())
		in := filepath.ToSlash(strings.TrimPrefix(file, r.dir+string(filepath.Separator)))
		switch {
		case e.Name() == ".git", isIgnored(ignored, in):
		case e.IsDir():
			if _, err := os.Lstat(filepath.Join(file, ".git")); err != nil { // a submodule is a repository of its own
				r.below(file, ignored)
			}
		case imports.Wants(spoken.Languages(), in, false):
			r.take(file, e)
		}
	}
}

func ignoredIn(files fs.FS) []string {
	return slices.DeleteFunc(ignored(files), func(pattern string) bool { return pattern == "" || strings.HasPrefix(pattern, "#") })
}

func isIgnored(patterns []string, in string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		whole, _ := path.Match(pattern, in) // a pattern that is none names nothing
		name, _ := path.Match(pattern, path.Base(in))
		return whole || name
	})
}

func (r *reader) list(dir string) []fs.DirEntry {
	entries, err := os.ReadDir(dir)
	r.err = errors.Join(r.err, err)
	return entries
}

// take reads one file, or where a link leads. Of one that is too large a little
// more than the limit is read, so that it is named as that.
func (r *reader) take(file string, e fs.DirEntry) {
	f := imports.File{Path: r.inRoot(file)}
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		to, err := os.Readlink(file)
		r.err = errors.Join(r.err, err)
		f.Link = filepath.ToSlash(to)
	case e.Type().IsRegular():
		text, err := os.ReadFile(file)
		r.err = errors.Join(r.err, err)
		f.Text = text[:min(len(text), imports.FileLimit+1)]
	default:
		return
	}
	r.files = append(r.files, f)
}
