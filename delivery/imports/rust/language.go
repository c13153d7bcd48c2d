package rust

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"noxmesh/delivery/imports"
)

const (
	maxDepth = 1000 // of brackets in each other
	maxPath  = 100  // names in one path
)

// Language is Rust.
type Language struct{}

// Name is "rust".
func (Language) Name() string { return "rust" }

// Wants is Rust's files and Cargo's manifests; above the module's folder a manifest
// may be its workspace's.
func (Language) Wants(file string, above bool) bool {
	return path.Base(file) == "Cargo.toml" || !above && strings.HasSuffix(file, ".rs")
}

// Owners is the name alone: a package is in no other.
func (Language) Owners(name string) []string { return []string{name} }

// Read is what the packages of a folder own, and which others their code asks for.
func (l Language) Read(in imports.Input) imports.Found {
	system, machine, _ := strings.Cut(in.Platform, "/")
	machine, _, _ = strings.Cut(machine, "/")
	r := &reader{
		in: in, known: conditions{system: system, machine: machine, test: perhaps},
		files: map[string][]byte{}, manifests: map[string]manifest{}, listed: map[string]bool{}, seen: map[visit]*module{},
	}
	for _, file := range in.Files {
		if path.Base(file.Path) == "Cargo.toml" {
			r.listed[file.Path] = true
		}
	}
	for _, file := range in.Files {
		switch {
		case path.Base(file.Path) == "Cargo.toml":
			r.manifest(file)
		case inside(file.Path, in.Folder) && l.Wants(file.Path, false):
			r.files[file.Path] = file.Text
			r.paths = append(r.paths, file.Path)
		}
	}
	slices.Sort(r.paths)
	for _, c := range r.crates() {
		r.crate(c)
	}
	return r.found.Sorted(l.Owners)
}

// reader reads the files of one module.
type reader struct {
	in        imports.Input
	known     conditions
	found     imports.Found
	files     map[string][]byte
	paths     []string
	listed    map[string]bool // each manifest, also those that are not read
	manifests map[string]manifest
	seen      map[visit]*module
	pending   []pending
	mentions  []mention
}

func (r *reader) fault(file string, line int, why string) {
	r.found.Faults = append(r.found.Faults, imports.Fault{At: imports.Place{File: file, Line: line}, Why: why})
}

func (r *reader) owns(name string, at imports.Place) {
	r.found.Owns = append(r.found.Owns, imports.Own{Name: name, At: at})
}

// vendored reports whether a file is a copy of somebody else's, or was compiled: it
// lies in vendor or target beside a manifest.
func (r *reader) vendored(file string) bool {
	for dir := dirOf(file); dir != "" && inside(file, r.in.Folder); dir = dirOf(dir) {
		if base := path.Base(dir); base == "vendor" || base == "target" {
			if r.listed[path.Join(dirOf(dir), "Cargo.toml")] {
				return true
			}
		}
	}
	return false
}

func (r *reader) manifest(file imports.File) {
	if r.vendored(file.Path) || !r.readable(file.Path, file.Text) {
		return
	}
	root, err := decodeTOML(string(file.Text))
	if at := (tomlError{}); errors.As(err, &at) {
		r.fault(file.Path, at.line, at.why)
		return
	}
	r.manifests[file.Path] = manifest{file: file.Path, root: root}
}

// readable reports whether a file is text of a size that is read.
func (r *reader) readable(file string, text []byte) bool {
	if len(text) > imports.FileLimit {
		r.fault(file, 0, fmt.Sprintf("is larger than %d MiB: it is not read", imports.FileLimit>>20))
		return false
	}
	if utf8.Valid(text) {
		return true
	}
	line := 1
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		if c == utf8.RuneError && n == 1 {
			break
		}
		line += bytes.Count(text[:n], []byte("\n"))
		text = text[n:]
	}
	r.fault(file, line, "is not UTF-8: save it as UTF-8")
	return false
}

// crate reads the code of a package, from each file with which the compiler begins.
func (r *reader) crate(c *crate) {
	clear(r.seen)
	r.mentions = nil
	for _, root := range r.roots(c) {
		m := &module{inFile: root.file, dir: dirOf(root.file), aliases: map[string]bool{}}
		m.root = m
		m.scope = &scope{module: m}
		r.load(pending{c: c, use: root.use, file: root.file, scope: m.scope, state: state{tests: root.use == develop}})
		for len(r.pending) > 0 {
			next := r.pending[len(r.pending)-1]
			r.pending = r.pending[:len(r.pending)-1]
			r.walk(next)
		}
	}
	r.resolve(c)
}

// walk reads one file.
func (r *reader) walk(p pending) {
	text := r.files[p.file]
	if !r.readable(p.file, text) {
		return
	}
	tokens, w := lex(string(text))
	if w != nil {
		r.fault(p.file, w.line, w.why)
		return
	}
	(&walker{reader: r, pending: p, tokens: tokens}).walk(0, len(tokens), p.scope, p.state)
}
