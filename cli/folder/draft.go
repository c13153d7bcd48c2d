package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	mesh "noxmesh"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// Drafted is the smallest right module.json for a folder, and why it is that.
type Drafted struct {
	Folder string   `json:"folder"`
	File   string   `json:"file"`
	Module string   `json:"module"`
	Text   string   `json:"text"`
	Why    []string `json:"why"`  // what was chosen, each with its reason
	Left   []string `json:"left"` // what was seen and left out, each with why
}

// Draft looks at a folder and drafts its module.json. The module is named after
// the folder where no name is given. It is never drafted over one that is there.
func Draft(dir, name string) (Drafted, error) {
	d := drafter{Drafted: Drafted{Folder: dir, File: filepath.Join(dir, manifest.Name), Why: []string{}, Left: []string{}}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return d.Drafted, notThere(err, "look at the folder %q", dir)
	}
	defer root.Close()
	if _, err := root.Lstat(manifest.Name); err == nil {
		return d.Drafted, fault.New(fault.Conflict, "there is a %s in %q already", manifest.Name, dir).With("mesh module check %s looks at it", dir)
	}
	if err := d.name(dir, name); err != nil {
		return d.Drafted, err
	}
	d.files = root.FS()
	d.ignored = ignored(d.files)
	d.units()
	d.program()
	d.pages()
	if len(d.source.Resources) == 0 {
		d.Why = append(d.Why, "nothing in the folder says what to put on a machine: add resources, or requires")
	}
	return d.done()
}

type drafter struct {
	Drafted
	source  manifest.Source
	files   fs.FS
	ignored []string
}

func (d *drafter) name(dir, name string) error {
	if name != "" && !mesh.ValidModuleName(name) {
		return fault.New(fault.Invalid, "%q is not a module's name", name).With("lower-case letters, digits and inner hyphens, at most 63")
	}
	if name == "" {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return fault.Wrap(fault.Unavailable, err, "find out what the folder %q is called", dir)
		}
		base := filepath.Base(whole)
		if name = manifest.NearName(base); name == "" {
			return fault.New(fault.Invalid, "no module can be named after the folder %q", base).With("name it with --name NAME: lower-case letters, digits and inner hyphens")
		}
		d.Why = append(d.Why, fmt.Sprintf("module %s: the folder is called %q", name, base))
	}
	d.Module, d.source.Module = name, name
	return nil
}

func (d *drafter) put(why string, r manifest.Resource) {
	d.source.Resources = append(d.source.Resources, r)
	d.Why = append(d.Why, why)
}

// units takes the units of systemd that lie in the folder, or in systemd/ of it.
func (d *drafter) units() {
	for _, dir := range []string{".", "systemd"} {
		entries, err := fs.ReadDir(d.files, dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			ext := path.Ext(e.Name())
			if !e.Type().IsRegular() || ext != ".service" && ext != ".timer" && ext != ".socket" {
				continue
			}
			id := manifest.NearName(strings.ReplaceAll(e.Name(), "@", "-at"))
			if id == "" || slices.ContainsFunc(d.source.Resources, func(r manifest.Resource) bool { return r.ID == id }) {
				d.Left = append(d.Left, path.Join(dir, e.Name())+": give it an id of its own")
				continue
			}
			from := path.Join(dir, e.Name())
			d.put("resource "+id+": "+from+" is a unit of systemd", manifest.Resource{ID: id, Type: "file", Path: "/etc/systemd/system/" + e.Name(), From: from})
			d.source.Capabilities = []string{"systemd"}
		}
	}
}

// program builds the commands of a Go module, where what it asks for is in the
// tree, or is named there with its hash.
func (d *drafter) program() {
	text, err := fs.ReadFile(d.files, "go.mod")
	if err != nil || !d.main() {
		return
	}
	switch {
	case requires(string(text)) && !d.has("vendor/modules.txt") && !d.has("go.sum"):
		d.Left = append(d.Left, "go.mod: it asks for other modules, and there is no go.sum, which says with their hashes what a build fetches; go mod tidy writes it")
		return
	case d.source.Build != nil:
		return
	}
	d.put("build, artifact bin: go.mod, and a package main", manifest.Resource{ID: "bin", Type: "archive", Artifact: "bin", Path: "/opt/" + d.Module + "/bin"})
	d.source.Build = &manifest.Build{
		Run:       [][]string{{"mkdir", "-p", "bin"}, {"go", "build", "-trimpath", "-buildvcs=false", "-o", "bin/", "./..."}},
		Test:      [][]string{{"go", "test", "./..."}},
		Artifacts: map[string]manifest.Artifact{"bin": {Type: "archive", Path: "bin"}},
	}
}

func (d *drafter) has(name string) bool {
	info, err := fs.Stat(d.files, name)
	return err == nil && info.Mode().IsRegular()
}

// requires reports whether a go.mod asks for other modules.
func requires(text string) bool {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == "require" {
			return true
		}
	}
	return false
}

// main reports whether there is a package main at the root or in cmd/.
func (d *drafter) main() bool {
	for _, pattern := range []string{"*.go", "cmd/*/*.go"} {
		names, _ := fs.Glob(d.files, pattern) // the pattern is right
		for _, name := range names {
			text, err := fs.ReadFile(d.files, name)
			if err != nil || strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly)
			if err == nil && f.Name.Name == "main" {
				return true
			}
		}
	}
	return false
}

// pages takes a folder of pages as it is committed.
func (d *drafter) pages() {
	for _, dir := range []string{"public", "site", "www", "html", "dist", "_site", "docs"} {
		if info, err := fs.Stat(d.files, dir+"/index.html"); err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch {
		case slices.Contains(d.ignored, dir):
			d.Left = append(d.Left, dir+"/: .gitignore leaves it out of a commit; say in build.run what makes it")
		case d.source.Build != nil:
			d.Left = append(d.Left, dir+"/: there is something else to put on a machine; add an artifact for it")
		default:
			d.put("artifact pages: "+dir+"/ has an index.html", manifest.Resource{ID: "pages", Type: "archive", Artifact: "pages", Path: "/srv/" + d.Module})
			d.source.Build = &manifest.Build{Artifacts: map[string]manifest.Artifact{"pages": {Type: "archive", Path: dir}}}
		}
	}
}

// ignored is the folders at the root that a .gitignore names in the plain way.
func ignored(files fs.FS) []string {
	text, _ := fs.ReadFile(files, ".gitignore") // none ignores nothing
	var out []string
	for line := range strings.Lines(string(text)) {
		out = append(out, strings.Trim(strings.TrimSpace(line), "/"))
	}
	return out
}

// done is the draft as text. One that the mesh would refuse is ours to mend.
func (d *drafter) done() (Drafted, error) {
	text, err := json.MarshalIndent(d.source, "", "  ")
	if err != nil {
		return d.Drafted, fault.Wrap(fault.Broken, err, "draft %s", manifest.Name)
	}
	d.Text = string(text) + "\n"
	if _, err := manifest.DecodeSource(manifest.Name, []byte(d.Text)); err != nil {
		return d.Drafted, fault.Wrap(fault.Broken, errors.New(err.Error()), "draft %s", manifest.Name)
	}
	return d.Drafted, nil
}
