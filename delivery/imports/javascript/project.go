package javascript

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"noxmesh/delivery/imports"
)

// project is what is known while one module's folder is read.
type project struct {
	folder  string
	texts   map[string][]byte
	folders map[string]bool    // each that a file lies in, at any depth
	packs   map[string][]*pack // of each folder, the nearest first
	configs map[string]*config // of each folder
	drafts  map[string]draft   // of each configuration
	values  map[string]value
	broken  map[string]bool
	found   imports.Found
}

// Read is what the files say.
func (l Language) Read(in imports.Input) imports.Found {
	p := &project{
		folder: strings.Trim(path.Clean("/"+in.Folder), "/"), texts: map[string][]byte{}, folders: map[string]bool{},
		packs: map[string][]*pack{}, configs: map[string]*config{}, drafts: map[string]draft{}, values: map[string]value{}, broken: map[string]bool{},
	}
	var files []string
	for _, f := range in.Files {
		inside, within := p.within(f.Path)
		for d := path.Dir(f.Path); !p.folders[d]; d = path.Dir(d) {
			p.folders[d] = true
		}
		if !l.Wants(inside, !within) {
			continue
		}
		p.texts[f.Path] = f.Text
		if within && code(path.Base(f.Path)) {
			files = append(files, f.Path)
		}
	}
	slices.Sort(files)
	p.own()
	for _, file := range slices.Compact(files) {
		p.read(file)
	}
	return p.found.Sorted(l.Owners)
}

// within is a path in the module's folder, and whether it lies there.
func (p *project) within(file string) (string, bool) {
	if p.folder == "" {
		return file, !strings.HasPrefix(file, "../") && file != ".."
	}
	if file == p.folder {
		return ".", true
	}
	inside, within := strings.CutPrefix(file, p.folder+"/")
	if !within {
		return file, false
	}
	return inside, true
}

func (p *project) fault(file string, line int, format string, args ...any) {
	at := imports.Place{File: file, Line: line}
	p.found.Faults = append(p.found.Faults, imports.Fault{At: at, Why: fmt.Sprintf(format, args...)})
}

// readable reports whether a file is text of a size that is read; where not, it is a fault.
func (p *project) readable(file string) bool {
	src := p.texts[file]
	switch {
	case len(src) > imports.FileLimit:
		p.fault(file, 0, "the file has %d bytes, and no more than %d are read: leave out what was generated", len(src), imports.FileLimit)
	case !utf8.Valid(src):
		p.fault(file, 1+bytes.Count(src[:invalid(src)], []byte("\n")), "the text is not UTF-8: save the file as UTF-8")
	default:
		return true
	}
	return false
}

// invalid is where the first byte lies that is not UTF-8.
func invalid(src []byte) int {
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return 0
}

// read keeps what a file of code asks for.
func (p *project) read(file string) {
	if !p.readable(file) {
		return
	}
	inside, _ := p.within(file)
	folder := path.Dir(file)
	a := asker{project: p, file: file, test: forTests(inside), above: p.above(folder), config: p.configure(folder)}
	if component(file) {
		a.component()
		return
	}
	a.code(p.texts[file], dialectOf(file))
}

// component keeps what the scripts of a component ask for, its template and its styles.
func (a asker) component() {
	parts, typed := partsOf(a.file, a.texts[a.file]), false
	if parts.tooMany {
		a.fault(a.file, 0, "there are more than %d scripts, and no more are read: a component has two at most", mostScripts)
	}
	for _, s := range parts.scripts {
		d, is := s.dialect()
		typed = typed || d.ts
		switch {
		case s.from != "":
			a.ask(ask{name: s.from, line: s.line})
		case s.open:
			a.fault(a.file, s.line, "the script does not end: </script> would be right")
		case !is:
			a.fault(a.file, s.line, "the script is in %q, which is not read: lang is ts, tsx, jsx or js", short([]byte(s.lang)))
		default:
			a.code(s.text, d)
		}
	}
	for _, each := range parts.pieces {
		a.piece(each, typed)
	}
}

// code keeps what a text of JavaScript or TypeScript asks for.
func (a asker) code(text []byte, d dialect) {
	src := understood(text, d)
	if src.why != "" {
		a.fault(a.file, src.where, "%s", src.why)
	}
	if src.element > 0 {
		a.elements(src)
	}
	for _, each := range src.asks {
		a.ask(each)
	}
}

// understood is what a file says. One that is no JavaScript may have types in it all
// the same, as Flow writes them; where it is neither, the fault is that of JavaScript.
func understood(src []byte, d dialect) *parser {
	p := parse(src, d)
	if p.why == "" || d.ts {
		return p
	}
	d.ts, d.html = true, false
	if typed := parse(src, d); typed.why == "" {
		return typed
	}
	return p
}

// json is a file of JSON; the same fault is told once.
func (p *project) json(file string) (value, bool) {
	if v, known := p.values[file]; known {
		return v, !p.broken[file]
	}
	if _, is := p.texts[file]; !is {
		return value{}, false
	}
	p.values[file], p.broken[file] = value{}, true
	if !p.readable(file) {
		return value{}, false
	}
	v, src := decodeJSON(p.texts[file])
	if src.why != "" {
		p.fault(file, src.where, "%s", src.why)
		return value{}, false
	}
	p.values[file], p.broken[file] = v, false
	return v, true
}
