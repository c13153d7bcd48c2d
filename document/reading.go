package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"noxmesh/internal/fault"
)

// Reading is one document while it is looked at: what has been found wrong with
// it so far. Whoever knows the document's own rules adds to it, and Err is
// everything at once.
type Reading struct {
	file     string
	data     []byte
	problems Problems
	sound    bool
	format   int64 // what stands under the key format of a sound document, or 0
}

// Look begins a reading of a value that is not text yet: its problems have a
// path and no line.
func Look(file string) *Reading { return &Reading{file: file, sound: true} }

// Sound reports whether the value that was read can be looked at: there may be
// keys in the text that it does not have, and nothing else is wrong so far.
func (r *Reading) Sound() bool { return r.sound }

// Fault adds a problem of the value at path. Want is what would be right, as a
// phrase, or empty.
func (r *Reading) Fault(path, want, format string, args ...any) {
	r.put(Problem{Path: path, What: fmt.Sprintf(format, args...), Want: want})
}

// FaultKey adds a problem of the key at path.
func (r *Reading) FaultKey(path, want, format string, args ...any) {
	r.put(Problem{Path: path, What: fmt.Sprintf(format, args...), Want: want, key: true})
}

// Later says of unknown keys that a later version has them. The table is by
// path with the indexes left open, "resources[].unit".
func (r *Reading) Later(table map[string]string) {
	for i, p := range r.problems {
		if says, ok := table[patternOf(p.Path)]; ok && p.unknown {
			r.problems[i].What, r.problems[i].Want = says, ""
		}
	}
}

// Like says of values that are missing or of another kind what one may look
// like. The table is by path, with the indexes and what a person names left
// open: "resources[].mode", "settings.*.type".
func (r *Reading) Like(table map[string]string) {
	for i, p := range r.problems {
		if !p.misfit {
			continue
		}
		for pattern, example := range table {
			if matches(pattern, patternOf(p.Path)) {
				r.problems[i].Want += ", as " + example
			}
		}
	}
}

// matches reports whether a pattern is another one, with any key in place of "*".
func matches(open, pattern string) bool {
	a, b := strings.Split(open, "."), strings.Split(pattern, ".")
	return slices.EqualFunc(a, b, func(x, y string) bool { return x == y || x == "*" })
}

// Err is all problems, in the order of the text, as a fault.Invalid; nil where
// there are none.
func (r *Reading) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	out := slices.Clone(r.problems)
	r.place(out)
	for i := range out {
		out[i].Path = shortPath(out[i].Path)
	}
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &fault.Error{Kind: fault.Invalid, Err: out}
}

// place finds where the problems are that were only given a path.
func (r *Reading) place(problems Problems) {
	if r.data == nil {
		return
	}
	var paths []string
	for _, p := range problems {
		if p.Line == 0 {
			paths = append(paths, p.Path)
		}
	}
	if paths == nil {
		return
	}
	found := locate(r.data, paths)
	for i, p := range problems {
		if p.Line > 0 {
			continue
		}
		at := found[p.Path].value
		if p.key && found[p.Path].key >= 0 {
			at = found[p.Path].key
		}
		problems[i].Line, problems[i].Column = lineColumn(r.data, at)
	}
}

func (r *Reading) put(p Problem) {
	switch {
	case len(r.problems) > problemLimit:
		return
	case len(r.problems) == problemLimit:
		p = Problem{Path: p.Path, Line: p.Line, Column: p.Column, What: "more is wrong from here on", Want: "mend the faults before it first"}
	}
	p.File, p.What, p.Want = r.file, visible(p.What), visible(p.Want)
	r.problems = append(r.problems, p)
}

// Full reports whether no more problems are taken, so that nothing needs to be
// looked at any more.
func (r *Reading) Full() bool { return len(r.problems) > problemLimit }

// Take adds the problems of a part that was looked at by itself, which stands at
// path.
func (r *Reading) Take(part *Reading, path string) {
	for _, p := range part.problems {
		switch {
		case p.Path == "":
			p.Path = path
		case p.Path[0] == '[':
			p.Path = path + p.Path
		default:
			p.Path = path + "." + p.Path
		}
		r.put(p)
	}
}
