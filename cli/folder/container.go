package folder

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"noxmesh/delivery/ignore"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/recipe"
	"noxmesh/document"
	"noxmesh/manifest"
)

// containers finds what a builder would refuse of the container files that images are
// made as, by its own rules and words.
func (c *Checked) containers(m manifest.Source, root *os.Root, data []byte) {
	if m.Build == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.Build.Artifacts)) {
		made := m.Build.Artifacts[name]
		if made.File == "" {
			continue
		}
		if what, want := recipe.Called(made.File); what != "" {
			c.wrong(data, document.Join("build.artifacts", name)+".file", "\""+made.File+"\" "+what, want)
			continue
		}
		if what, want := badFile(root, made.File); what != "" {
			c.wrong(data, document.Join("build.artifacts", name)+".file", what, want)
			continue
		}
		text, err := root.ReadFile(filepath.FromSlash(made.File))
		if err == nil && len(text) <= imports.FileLimit {
			_, err = recipe.Read(made.File, text, "linux/"+runtime.GOARCH, recipe.Stands)
		}
		c.refused(made.File, err)
		c.leftOut(root, ignore.Names(made.File, cmp.Or(made.Path, ".")))
	}
}

// leftOut reads the list that says what the container file does not see.
func (c *Checked) leftOut(root *os.Root, names []string) {
	for _, name := range names {
		info, err := root.Lstat(filepath.FromSlash(name))
		if err != nil {
			continue
		}
		var text []byte
		if info.Mode().IsRegular() && info.Size() <= ignore.Limit {
			text, err = root.ReadFile(filepath.FromSlash(name))
		}
		if err == nil {
			_, err = ignore.Read(name, text)
		}
		c.refused(name, err)
		return
	}
}

// refused puts down why a file is refused, with its place.
func (c *Checked) refused(file string, err error) {
	if err == nil {
		return
	}
	p := Problem{File: filepath.Join(c.Folder, filepath.FromSlash(file)), What: err.Error()}
	if r, is := errors.AsType[*recipe.Refusal](err); is {
		if r.Unread {
			return // Code says so
		}
		p.Line, p.What = r.Line, r.Why
	}
	if r, is := errors.AsType[*ignore.Refusal](err); is {
		p.Line, p.What = r.Line, r.Why
	}
	c.Problems = append(c.Problems, p)
}
