package container

import (
	"slices"

	"noxmesh/delivery/imports"
)

// File is a container file that is read whole, in the order of its lines.
type File struct {
	Steps  []Step
	Global map[string]string // what FROM may use
	escape rune
	budget *int // how much may still be filled in
}

// Step is one instruction.
type Step struct {
	Line      int
	Name      string   // in upper case
	Flags     []string // --from=builder
	Rest      string   // what stands after the flags
	Documents bool     // a here-document follows
}

// Whole is the file, and what is wrong with it, each by its line.
func Whole(file string, text []byte, platform string) (File, []imports.Fault) {
	var found imports.Found
	r := reader{file: file, found: &found, budget: maxWork}
	r.read(text, platform)
	if len(found.Faults) > 0 {
		return File{}, found.Faults
	}
	r.began = 0
	all := r.instructions(string(text))
	r.platform(all, platform)
	f := File{escape: '\\', budget: new(maxWork)}
	for n, i := range all {
		if n == 0 || f.escape != i.escape {
			f.escape = i.escape
		}
		if i.name == "ARG" && !slices.ContainsFunc(f.Steps, func(s Step) bool { return s.Name == "FROM" }) {
			r.arg(i)
		}
		f.Steps = append(f.Steps, Step{i.line, i.name, i.flags, i.rest, i.documents() && len(documents(i.rest)) > 0})
	}
	f.Global = r.global
	return f, found.Faults
}

// Words is the words of a step, with their quotes.
func (f File) Words(s string) []string { return words(s, f.escape) }

// Fill is a text without its quotes, with its variables filled in. One that has no
// value is empty.
func (f File) Fill(text string, of func(name string) (string, bool)) (string, error) {
	value, _, err := filled(text, f.escape, f.budget, of)
	return value, err
}
