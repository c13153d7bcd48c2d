package sim

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"noxmesh/delivery/artifact"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/invariant"
	"noxmesh/manifest"
)

// linked is where a node has what the program of site was linked of.
const linked = "/opt/site/linked.txt"

// libraries are the modules that give something to others, in the order of their names.
var libraries = []string{kit, motd}

// code adds what a commit's module imports, and what others import of it: the
// latter is another in every second edition. What is tested of it is another in each commit.
func (w *world) code(c *commit) {
	imports := map[string]string{motd: "\nimport _ \"example.com/kit\"\n", site: "\nimport _ \"example.com/motd\"\n"}[c.module]
	name, rest := c.module, fmt.Sprintf("\nconst Edition = %d\n", c.edition/2)
	if c.module == site {
		name, rest = "main", "\nfunc main() {}\n"
	}
	c.files["go.mod"] = "module example.com/" + c.module + "\n\ngo 1.24\n"
	c.files[c.module+".go"] = "package " + name + "\n" + imports + rest
	c.files[c.module+"_test.go"] = fmt.Sprintf("package %s\n\nconst commit = %d\n", name, w.edition)
}

// linkProgram is what make does: the program holds what is laid out for it.
func linkProgram(tree string) error {
	var program strings.Builder
	for _, m := range libraries {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(tree), "laid", m, "go", m+".go"))
		if err != nil && !os.IsNotExist(err) {
			return err // it is not there where nobody knows yet whose it is
		}
		program.Write(text)
	}
	return os.WriteFile(filepath.Join(tree, "public", filepath.Base(linked)), []byte(program.String()), 0o644)
}

// linkedOf is what the program is linked of that was built against these.
func (w *world) linkedOf(inputs []manifest.Input) string {
	var program strings.Builder
	for _, in := range inputs {
		program.WriteString(w.given[in.Digest])
	}
	return program.String()
}

// learn keeps what a node has that runs this content, and what others compile
// against.
func (w *world) learn(made manifest.Built) {
	content, err := made.ContentDigest()
	if err != nil {
		return
	}
	id, err := made.BuildDigest()
	w.must(err)
	for _, c := range w.forge.repositories[made.Module].commits {
		if c.id != made.Built.Commit {
			continue
		}
		for _, l := range made.Built.Libraries {
			w.given[l.Digest] = c.files[made.Module+".go"]
		}
		if made.Module == site {
			one := *c
			one.on = maps.Clone(c.on)
			one.on[linked] = w.linkedOf(made.Built.Closure)
			c = &one
		}
		w.content[content], w.made[id] = c, made
	}
}

// sound is that nothing is declared that was built against what no tests let
// through: another has judged what goes out with it.
func (w *world) sound(record invariant.Record) {
	fit, known := map[document.Digest]bool{}, map[document.Digest]invariant.Build{}
	for _, b := range record.Builds {
		known[b.ID] = b
		for _, l := range w.made[b.ID].Built.Libraries {
			fit[l.Digest] = fit[l.Digest] || b.Fit
		}
	}
	for _, d := range record.Declared {
		for _, in := range w.made[d.Build].Built.Closure {
			if !fit[in.Digest] && known[d.Build].Finding == "" {
				w.find(invariant.I2, d.Module+" on "+d.Node, "it was built against %s %s, and no verdict says that this is fit", in.Module, in.Digest.Short())
			}
		}
	}
}

// compiled is that everything is built against what is given now, where all is
// out: so the record has it, and so do the nodes.
func (w *world) compiled() {
	var builds []artifact.Build
	w.must(w.main().db.Read(w.ctx, func(tx *db.Tx) (err error) {
		builds, err = deliverystore.AllBuilds(tx)
		return err
	}))
	head := func(b artifact.Build) bool {
		return !b.Gone && b.Manifest.Built.Tree == w.forge.repositories[b.Module].head.tree
	}
	now := map[string]document.Digest{} // by module: its library
	for _, b := range builds {
		for _, l := range b.Manifest.Built.Libraries {
			if head(b) {
				now[b.Module] = l.Digest
			}
		}
	}
	for m, against := range map[string][]string{motd: {kit}, site: libraries} {
		if !slices.ContainsFunc(builds, func(b artifact.Build) bool {
			return b.Module == m && head(b) && slices.EqualFunc(b.Manifest.Built.Closure, against, func(in manifest.Input, of string) bool { return in.Module == of && in.Digest == now[of] })
		}) {
			w.find(invariant.I1, m, "all is said to be out, and no build of it is against what %v give now", against)
		}
	}
	var want strings.Builder
	for _, m := range libraries {
		want.WriteString(w.forge.repositories[m].head.files[m+".go"])
	}
	for _, n := range w.nodes {
		if got := n.read(linked); got != want.String() && !n.touched[linked] && n.foreign[linked] == "" {
			w.find(invariant.I1, n.name, "all is said to be out, and what runs is linked of %q, want %q", got, want.String())
		}
	}
}
