package golang

import (
	"cmp"
	"encoding/json"
	"go/version"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"noxmesh/delivery/imports"
	"noxmesh/internal/fault"
)

// Wire joins the tree's Go modules and what is laid out by a go.work beside them.
//
// Of what stands in a go.mod about a module that is laid out, nothing counts:
// neither which version of it is required, which may be none that exists, nor
// the folder that replaces it where somebody works on both. So the go command is
// shown these go.mod files without that; of a library's, only what it is called
// and which Go it is written in. What other modules the build needs is what the
// tree's own go.mod requires, from the vendor folder of the tree where it has
// one: a go.work has a vendor folder beside itself, or none.
func (Language) Wire(l imports.Laying) (imports.Wiring, error) {
	w := wiring{laying: l, laid: map[string]bool{}, overlay: map[string]string{}, made: imports.Wiring{Files: map[string]string{}, Links: map[string]string{}}}
	for _, folder := range l.Laid {
		if err := w.lay(folder); err != nil {
			return imports.Wiring{}, err
		}
	}
	if err := w.join(); err != nil {
		return imports.Wiring{}, err
	}
	return w.made, w.finish()
}

// wiring is one Wire under way.
type wiring struct {
	laying  imports.Laying
	laid    map[string]bool // the modules that are laid out, by their paths
	uses    []string        // their folders, and those of the tree's, as commands see them
	replace []string        // the go.work's lines
	goes    string          // the newest Go that any of them is written in
	overlay map[string]string
	made    imports.Wiring
}

// least is the Go of a go.work where no module says more: the one that asks
// what vendor/modules.txt says before it looks into a vendor folder.
const least = "1.23"

// lay takes the modules of a library.
func (w *wiring) lay(folder imports.Folder) error {
	files, err := modfiles(folder.Files)
	if err != nil {
		return err
	}
	for _, file := range files {
		all, m, err := read(folder, file)
		if err != nil {
			return err
		}
		if w.laid[m.path] {
			continue
		}
		w.laid[m.path] = true
		w.use(path.Join(folder.At, path.Dir(file)), all)
		w.show(path.Join(folder.At, file), kept(all, func(d directive) bool {
			return d.words[0] == "module" || d.words[0] == "go" || d.words[0] == "ignore"
		}))
	}
	return nil
}

// join takes the tree's modules: those of its go.work, or the one at its top
// where that has a vendor folder, or each.
func (w *wiring) join() error {
	tree := w.laying.Tree
	vendor, err := text(tree, "vendor/modules.txt")
	if err != nil {
		return err
	}
	work, err := text(tree, "go.work")
	if err != nil {
		return err
	}
	var files []string
	switch {
	case work != nil:
		files, err = w.follow(string(work))
	case vendor != nil:
		files = []string{"go.mod"}
	default:
		files, err = modfiles(tree.Files)
	}
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, file := range files {
		all, m, err := read(tree, file)
		if err != nil {
			return err
		}
		if known[m.path] || w.laid[m.path] {
			continue
		}
		known[m.path] = true
		w.use(path.Join(tree.At, path.Dir(file)), all)
		w.show(path.Join(tree.At, file), kept(all, func(d directive) bool { return !w.about(d) && d.words[0] != "retract" }))
	}
	if vendor != nil {
		w.vendor(string(vendor))
	}
	return nil
}

// follow is the go.mod files that the tree's go.work names. What it replaces is
// replaced here too.
func (w *wiring) follow(text string) (files []string, err error) {
	all, line, why := directives(text)
	if why != "" {
		return nil, fault.New(fault.Invalid, "go.work:%d: %s", line, why)
	}
	for _, d := range all {
		switch verb, args := d.words[0], d.words[1:]; {
		case verb == "use" && len(args) == 1:
			file := path.Join(args[0], "go.mod")
			if !fs.ValidPath(file) {
				return nil, fault.New(fault.Invalid, "go.work:%d: it uses %q, outside of the module's folder", d.line, args[0])
			}
			files = append(files, file)
		case verb == "replace" && !w.about(d):
			words := slices.Clone(d.words)
			if last := len(words) - 1; local(words[last]) {
				words[last] = path.Join(w.laying.Tree.At, words[last])
			}
			w.replace = append(w.replace, written(words))
		case verb == "go" && len(args) == 1:
			w.newest(args[0])
		case verb == "godebug":
			w.replace = append(w.replace, written(d.words))
		}
	}
	return files, nil
}

// about reports whether a line is about a module that is laid out.
func (w *wiring) about(d directive) bool {
	return len(d.words) > 1 && (d.words[0] == "require" || d.words[0] == "replace" || d.words[0] == "exclude") && w.laid[d.words[1]]
}

func (w *wiring) use(folder string, all []directive) {
	w.uses = append(w.uses, folder)
	for _, d := range all {
		if d.words[0] == "go" && len(d.words) == 2 {
			w.newest(d.words[1])
		}
	}
}

func (w *wiring) newest(goes string) {
	if version.Compare("go"+goes, "go"+w.goes) > 0 {
		w.goes = goes
	}
}

// show lets the go command see other lines in place of a go.mod.
func (w *wiring) show(file string, lines string) {
	name := "go.mod." + strconv.Itoa(len(w.overlay)+1)
	w.made.Files[name] = lines
	w.overlay[file] = path.Join(w.laying.Made, name)
}

// vendor makes the go.work's vendor folder of the tree's: what is laid out is no
// longer in its list.
func (w *wiring) vendor(list string) {
	var lines strings.Builder
	lines.WriteString("## workspace\n")
	dropped := false
	var modules []string
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == "#" {
			if dropped = w.laid[fields[1]]; !dropped {
				modules = append(modules, fields[1])
			}
		}
		if !dropped && strings.TrimSpace(line) != "## workspace" {
			lines.WriteString(line)
		}
	}
	w.made.Files["vendor/modules.txt"] = lines.String()
	slices.Sort(modules)
	last := ""
	for _, m := range slices.Compact(modules) {
		if last != "" && strings.HasPrefix(m, last+"/") || !fs.ValidPath(m) || m == "." {
			continue
		}
		last = m
		w.made.Links["vendor/"+m] = path.Join(w.laying.Tree.At, "vendor", m)
	}
}

// finish writes the go.work and what the go command is told of it.
func (w *wiring) finish() error {
	w.newest(least)
	var work strings.Builder
	work.WriteString("go " + w.goes + "\n")
	for _, folder := range w.uses {
		work.WriteString(written([]string{"use", folder}) + "\n")
	}
	for _, line := range w.replace {
		work.WriteString(line + "\n")
	}
	w.made.Files["go.work"] = work.String()
	shown, err := json.Marshal(map[string]map[string]string{"Replace": w.overlay})
	if err != nil {
		return fault.Wrap(fault.Broken, err, "write what the go command is shown")
	}
	w.made.Files["overlay.json"] = string(shown)
	w.made.Env = [][2]string{
		{"GOWORK", path.Join(w.laying.Made, "go.work")},
		{"GOFLAGS", "-overlay=" + path.Join(w.laying.Made, "overlay.json")},
	}
	return nil
}

// modfiles is each go.mod of the modules that ./... would go through, the outer ones first.
func modfiles(tree fs.FS) ([]string, error) {
	all, err := imports.Walk(tree, func(folder string) bool { return path.Base(folder) == "vendor" || apart(path.Base(folder)) })
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(file string) bool { return path.Base(file) != "go.mod" })
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	return all, nil
}

// text is a file of the tree, or nil where there is none.
func text(tree imports.Folder, file string) ([]byte, error) {
	text, err := imports.Text(tree.Files, file, maxSize)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	return text, err
}

// read is what a go.mod says.
func read(folder imports.Folder, file string) ([]directive, modfile, error) {
	text, err := imports.Text(folder.Files, file, maxSize)
	if err != nil {
		return nil, modfile{}, err
	}
	m, wrong := readModfile(imports.File{Path: file, Text: text})
	if wrong.Why != "" {
		return nil, modfile{}, fault.New(fault.Invalid, "%s: %s", wrong.At, wrong.Why)
	}
	all, _, _ := directives(string(text)) // readModfile has said what is wrong with them
	return all, m, nil
}

// kept is a go.mod of those lines that keep is true of.
func kept(all []directive, keep func(directive) bool) string {
	var text strings.Builder
	for _, d := range all {
		if keep(d) {
			text.WriteString(written(d.words) + "\n")
		}
	}
	return text.String()
}

// written is words as a line of a go.mod.
func written(words []string) string {
	var line strings.Builder
	for i, word := range words {
		if i > 0 {
			line.WriteByte(' ')
		}
		if word == "" || strings.ContainsAny(word, " \t()[]{},\"`'\\") || strings.Contains(word, "//") {
			word = strconv.Quote(word)
		}
		line.WriteString(word)
	}
	return line.String()
}
