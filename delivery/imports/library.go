package imports

import (
	"errors"
	"io"
	"io/fs"
	slashpath "path"
	"unicode/utf8"

	"noxmesh/internal/fault"
)

// Library is a language in which a module can give others something to be built
// against. Its methods keep nothing.
type Library interface {
	// Library is which files of a module's tree others compile against, sorted:
	// what only tests and people read is not among them. A tree that has none is
	// fault.Invalid.
	Library(tree fs.FS) ([]string, error)

	// Wire is how the language's own tools are made to find what is laid out for
	// a build. A tree that cannot be wired is fault.Invalid.
	Wire(l Laying) (Wiring, error)
}

// Laying is what is laid out for one build in one language.
type Laying struct {
	Tree Folder   // of the module that is built
	Laid []Folder // libraries, by their modules
	Made string   // the folder in which a Wiring's files will be
}

// Folder is a tree, and the path at which commands see it.
type Folder struct {
	At    string
	Files fs.FS
}

// Wiring is what commands find beside their tree, and are told.
type Wiring struct {
	Env    [][2]string       // variables of each command
	Files  map[string]string // texts by path below Made
	Links  map[string]string // where links lead, by path below Made
	Top    map[string]string // the same, by name directly below the root
	Beside map[string]string // the same, by name directly beside the modules that are laid out, as none of them can be called
}

// Walk is each file of a tree, sorted: regular, or a link to one that is. What
// lies in a folder that is another module's, with a module.json of its own, is
// not among them, and neither is its own, nor what lies in a folder that skip is
// true of.
func Walk(tree fs.FS, skip func(folder string) bool) ([]string, error) {
	var all []string
	err := fs.WalkDir(tree, ".", func(file string, e fs.DirEntry, err error) error {
		switch {
		case !utf8.ValidString(file):
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case err != nil:
			return fault.Wrap(fault.Unavailable, err, "look at %q", file)
		case e.IsDir():
			if file != "." && (skip(file) || another(tree, file)) {
				return fs.SkipDir
			}
			return nil
		}
		if file != manifestName && Regular(tree, file, e.Type()) {
			all = append(all, file)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Regular reports whether a name of this type is a regular file, or a link to
// one in the tree.
func Regular(tree fs.FS, file string, kind fs.FileMode) bool {
	if kind&fs.ModeSymlink == 0 {
		return kind.IsRegular()
	}
	info, err := fs.Stat(tree, file)
	return err == nil && info.Mode().IsRegular()
}

// another reports whether a folder is another module's.
func another(tree fs.FS, folder string) bool {
	_, err := fs.Stat(tree, slashpath.Join(folder, manifestName))
	return err == nil
}

// Text is a file of the tree, which is regular and has at most this many bytes.
func Text(tree fs.FS, file string, most int64) ([]byte, error) {
	info, err := fs.Stat(tree, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Wrap(fault.NotFound, err, "read %q", file)
	case err != nil:
		return nil, fault.Wrap(fault.Unavailable, err, "look at %q", file)
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.Invalid, "%q is no regular file", file)
	case info.Size() > most:
		return nil, fault.New(fault.Invalid, "%q has %d bytes, at most %d are read", file, info.Size(), most)
	}
	f, err := tree.Open(file)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "read %q", file)
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "read %q", file)
	}
	return text, nil
}
