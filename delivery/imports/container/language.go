package container

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"noxmesh/delivery/imports"
)

// maxFaults is how many faults of one file are said.
const maxFaults = 10

// Language is container files.
type Language struct{}

// Name is "container".
func (Language) Name() string { return "container" }

// Wants is container files, by their names. Nothing above a module's folder says
// more about them.
func (Language) Wants(file string, above bool) bool {
	if above {
		return false
	}
	name := strings.ToLower(path.Base(file))
	for _, kind := range []string{"dockerfile", "containerfile"} {
		if name == kind || strings.HasSuffix(name, "."+kind) {
			return true
		}
		if rest, ok := strings.CutPrefix(name, kind+"."); ok && !other(path.Ext("."+rest)) {
			return true
		}
	}
	return false
}

// other reports whether a file that is named after a container file is something
// else, by how its name ends.
func other(extension string) bool {
	return slices.Contains([]string{
		".dockerignore", ".containerignore", ".md", ".rst", ".txt",
		".in", ".j2", ".jinja", ".jinja2", ".tmpl", ".tpl", ".template", ".erb", ".mustache",
		".bak", ".orig", ".rej", ".swp",
	}, extension)
}

// Whole says that an image has in it what it stands on.
func (Language) Whole() {}

// Owners is the name alone: an image is in no other.
func (Language) Owners(name string) []string { return []string{name} }

// Read is each image that the files ask for.
func (l Language) Read(in imports.Input) imports.Found {
	var found imports.Found
	for _, file := range in.Files {
		inFolder := strings.TrimPrefix(file.Path, in.Folder+"/")
		if in.Folder != "" && inFolder == file.Path || !l.Wants(inFolder, false) {
			continue
		}
		r := reader{file: file.Path, found: &found, budget: maxWork}
		r.read(file.Text, in.Platform)
	}
	return found.Sorted(l.Owners)
}

// reader reads one file.
type reader struct {
	file   string
	found  *imports.Found
	global map[string]string // what FROM may use
	local  map[string]string // what the stage's own instructions may use
	stages map[string]int    // by lower-case name, the number of the first one so named
	count  int               // of the stages of the whole file
	began  int               // of those, how many have begun
	budget int               // how much may still be filled in
	faults int               // so far
}

// fault says what cannot be read. A file that is something else altogether need not
// say so in each of its lines.
func (r *reader) fault(line int, format string, args ...any) {
	if r.faults++; r.faults > maxFaults {
		return
	}
	r.found.Faults = append(r.found.Faults, imports.Fault{
		At: imports.Place{File: r.file, Line: line}, Why: fmt.Sprintf(format, args...),
	})
}

func (r *reader) asks(line int, name string) {
	r.found.Imports = append(r.found.Imports, imports.Import{Name: name, At: imports.Place{File: r.file, Line: line}})
}

func (r *reader) read(text []byte, platform string) {
	if len(text) > imports.FileLimit {
		r.fault(0, "is larger than %d MiB, which no container file is", imports.FileLimit>>20)
		return
	}
	if i := invalid(text); i >= 0 {
		r.fault(1+bytes.Count(text[:i], []byte("\n")), "is not UTF-8: save it as UTF-8")
		return
	}
	r.syntax(string(text))
	all := r.instructions(string(text))
	r.names(all)
	r.platform(all, platform)
	for _, i := range all {
		r.instruction(i)
	}
	if r.count == 0 {
		r.fault(0, "has no FROM: a container file builds on an image, or on scratch")
	}
}

// invalid is where text stops to be UTF-8, or -1.
func invalid(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
}

// names notes the stages of the file, before any of them is read: --from may name
// each of them.
func (r *reader) names(all []instruction) {
	r.stages = map[string]int{}
	for _, i := range all {
		if i.name != "FROM" {
			continue
		}
		if words := blanks(i.rest); len(words) == 3 {
			if _, twice := r.stages[strings.ToLower(words[2])]; !twice {
				r.stages[strings.ToLower(words[2])] = r.count
			}
		}
		r.count++
	}
}

// platform is what a builder says of itself and of what it builds for.
func (r *reader) platform(all []instruction, platform string) {
	system, machine, _ := strings.Cut(platform, "/")
	machine, variant, _ := strings.Cut(machine, "/")
	r.global = map[string]string{"TARGETSTAGE": "default"}
	for _, of := range []string{"BUILD", "TARGET"} {
		r.global[of+"PLATFORM"], r.global[of+"OS"], r.global[of+"ARCH"] = platform, system, machine
		r.global[of+"VARIANT"], r.global[of+"OSVERSION"] = variant, ""
	}
	for _, i := range slices.Backward(all) {
		if i.name == "FROM" {
			if words := blanks(i.rest); len(words) == 3 {
				r.global["TARGETSTAGE"] = strings.ToLower(words[2])
			}
			return
		}
	}
}
