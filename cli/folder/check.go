package folder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// fileLimit is the largest file that a resource takes from the repository.
const fileLimit = 256 << 20

// Checked is what was found in one folder.
type Checked struct {
	Folder   string    `json:"folder"`
	File     string    `json:"file"`
	Module   string    `json:"module,omitempty"` // empty where module.json is refused
	Good     bool      `json:"good"`
	Problems []Problem `json:"problems"`
	In       *Name     `json:"in,omitempty"` // the image that its commands run in; none: the builder's own root file system
	Owns     []Name    `json:"owns"`         // what others write to import it
	Asks     []Name    `json:"asks"`         // what its code imports and does not own: an edge where another module owns it
	Owners   Owners    `json:"owners"`
}

// Owners says whether a mesh has said who owns what the code asks for.
type Owners struct {
	Known   bool     `json:"known"`
	Why     string   `json:"why,omitempty"`     // where it is not known
	Against []string `json:"against,omitempty"` // in words, each name that several own
}

// Problem is one fault, with its place in the file.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Path   string `json:"path,omitempty"` // "resources[0].from"
	What   string `json:"what"`
	Want   string `json:"want,omitempty"`
}

// String is the problem on one line, in the form that editors jump to.
func (p Problem) String() string {
	return document.Problem{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, What: p.What, Want: p.Want}.String()
}

// A Look is one more way to look at a folder whose module.json is read: it adds
// to what was found.
type Look func(c *Checked, m manifest.Source, files fs.FS) error

// Check looks at a folder as it lies there. That something is wrong in it is no
// error; that it cannot be looked at is.
func Check(dir string, looks ...Look) (Checked, error) {
	c := Checked{Folder: dir, File: filepath.Join(dir, manifest.Name), Problems: []Problem{}, Owns: []Name{}, Asks: []Name{}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return c, notThere(err, "look at the folder %q", dir)
	}
	defer root.Close()
	data, err := readManifest(root, dir)
	if err != nil {
		return c, err
	}
	m, err := manifest.DecodeSource(c.File, data)
	if problems := document.ProblemsOf(err); problems != nil {
		for _, p := range problems {
			c.Problems = append(c.Problems, Problem{p.File, p.Line, p.Column, p.Path, p.What, p.Want})
		}
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Module = m.Module
	c.images(m, data)
	c.files(m, root, data)
	c.containers(m, root, data)
	for _, look := range looks {
		if err := look(&c, m, root.FS()); err != nil {
			return c, err
		}
	}
	c.Good = len(c.Problems) == 0
	return c, nil
}

// images is the images that the module asks for and makes, by their names in full.
func (c *Checked) images(m manifest.Source, data []byte) {
	line := func(path string) int {
		line, _ := document.Locate(data, path)
		return line
	}
	lines := manifest.LinesOf(data, m)
	for _, i := range m.AskedImages() {
		asked := Name{Language: inImages, Name: i.Name, File: c.File, Line: lines.OfImage(i.Artifact)}
		if i.Artifact != "" {
			c.Asks = append(c.Asks, asked)
			continue
		}
		if r, _ := image.Parse(m.Build.In); !r.IsOwn() {
			asked.Name = r.String()
		}
		c.In = &asked
	}
	for _, name := range slices.Sorted(maps.Keys(m.Images())) {
		c.Owns = append(c.Owns, Name{Language: inImages, Name: name, File: c.File, Line: line(document.Join("build.artifacts", m.Images()[name]))})
	}
}

// OfMesh reports whether it is the name of an image that a module of the mesh makes,
// or none does.
func (n Name) OfMesh() bool {
	r, _ := image.Parse(n.Name)
	return n.Language == inImages && r.IsOwn()
}

// inImages is the language in which images ask for each other.
const inImages = "container"

func notThere(err error, format string, args ...any) error {
	kind := fault.Unavailable
	if errors.Is(err, fs.ErrNotExist) {
		kind = fault.NotFound
	}
	return fault.Wrap(kind, err, format, args...)
}

func readManifest(root *os.Root, dir string) ([]byte, error) {
	info, err := root.Lstat(manifest.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "there is no %s in %q", manifest.Name, dir).With("mesh module init %s writes one", dir)
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, fault.New(fault.Invalid, "%s in %q is no regular file", manifest.Name, dir).With("the mesh reads it from a commit, where a link is not followed")
	}
	if err == nil && info.Size() > int64(manifest.Limits.Bytes) {
		return nil, fault.New(fault.Invalid, "%s in %q has %d bytes, at most %d are read", manifest.Name, dir, info.Size(), manifest.Limits.Bytes)
	}
	var data []byte
	if err == nil {
		data, err = root.ReadFile(manifest.Name)
	}
	if err != nil {
		return nil, notThere(err, "read %s in %q", manifest.Name, dir)
	}
	return data, nil
}

// files looks for what the manifest names of the folder. What a command of the
// build would leave behind cannot be looked for.
func (c *Checked) files(m manifest.Source, root *os.Root, data []byte) {
	for i, r := range m.Resources {
		if r.From == "" {
			continue
		}
		if what, want := badFile(root, r.From); what != "" {
			c.wrong(data, document.At("resources", i)+".from", what, want)
		}
	}
	if m.Build == nil || len(m.Build.Run) > 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.Build.Artifacts)) {
		folder := cmp.Or(m.Build.Artifacts[name].Path, ".") // of a library the whole folder
		if what, want := badFolder(root, folder); what != "" {
			c.wrong(data, document.Join("build.artifacts", name)+".path", what, want)
		}
	}
}

func (c *Checked) wrong(data []byte, path, what, want string) {
	line, column := document.Locate(data, path)
	c.Problems = append(c.Problems, Problem{c.File, line, column, path, what, want})
}

func badFile(root *os.Root, name string) (what, want string) {
	info, err := root.Lstat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no file %q in the folder", name), near(root, name)
	case err != nil:
		return fmt.Sprintf("%q cannot be looked at: %s", name, reason(err)), "want a file in the module's folder"
	case !info.Mode().IsRegular():
		return fmt.Sprintf("%q is no regular file", name), "want a file; a link is not followed"
	case info.Size() > fileLimit:
		return fmt.Sprintf("%q has %d bytes", name, info.Size()), fmt.Sprintf("at most %d are taken", fileLimit)
	case isPointer(root, name):
		return fmt.Sprintf("%q is a pointer of git LFS, and not the file", name), "put the file itself into the repository, or have the build make it"
	}
	return "", ""
}

func isPointer(root *os.Root, name string) bool {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, imports.PointerLimit)
	n, _ := f.Read(b) // too short to be one
	return imports.Pointer(b[:n])
}

func badFolder(root *os.Root, name string) (what, want string) {
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no folder %q, and no command in build.run makes it", name), near(root, name)
	case err != nil:
		return fmt.Sprintf("%q cannot be looked at: %s", name, reason(err)), "want a folder in the module's folder"
	case !info.IsDir():
		return fmt.Sprintf("%q is no folder", name), "want a folder"
	}
	return "", ""
}

// near is what else lies where this was looked for, and may have been meant.
func near(root *os.Root, name string) string {
	dir, base := filepath.Split(filepath.FromSlash(name))
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(filepath.Clean(dir)))
	if err != nil {
		return "it is written from the module's folder on"
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return document.Nearest(base, names, "it is written from the module's folder on")
}

// reason is an error without the name that is said already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return strings.TrimSpace(err.Error())
}
