package imports

import (
	"iter"

	"noxmesh/internal/fault"
)

// ParseSaid is a text that has to be what Say makes.
func ParseSaid(text string) (Said, error) {
	if !whole(text) {
		return "", fault.New(fault.Broken, "what is kept of a folder's code is damaged, or of a newer version")
	}
	return Said(text), nil
}

// Words is every name, in the order in which they are kept. They are put together
// in room, which is as long as most names, and may be used for others afterwards.
func (s Said) Words(room []byte) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		r := unpacker{left: string(s), last: room[:0]}
		for range r.begin() {
			if !r.words(yield) {
				return
			}
		}
	}
}

// words yields the names of one language.
func (r *unpacker) words(yield func(Word) bool) bool {
	w := Word{Language: r.language(), Owned: true}
	owns, asks := r.number(), r.number()
	for range r.count(owns) {
		w.Text = r.text()
		if r.failed || !yield(w) {
			return false
		}
	}
	w.Owned = false
	for range r.count(asks) {
		var flags int
		w.Text, flags = r.flagged(2)
		w.Path, w.Test = flags&2 != 0, flags&1 != 0
		if r.failed || !yield(w) {
			return false
		}
	}
	return true
}

// Faulty reports whether there is anything that could not be read.
func (s Said) Faulty() bool {
	r := unpacker{left: string(s)}
	r.begin()
	return r.faults > 0
}

// Found is all of it.
func (s Said) Found() map[string]Found {
	r := unpacker{left: string(s)}
	languages := make([]string, r.begin())
	found := make(map[string]Found, len(languages))
	for n := range languages {
		languages[n] = string(r.text())
		found[languages[n]] = r.names()
	}
	for _, language := range languages {
		f := found[language]
		r.evidence(&f)
		found[language] = f
	}
	return found
}

// unpacker reads what a packer wrote. What is read after it has failed is nothing.
type unpacker struct {
	left   string
	last   []byte // the text before
	alike  bool   // each text may begin like that
	faults int    // that there are
	failed bool
}

// begin is the number of languages.
func (r *unpacker) begin() int {
	switch {
	case r.left == "":
		return 0
	case r.left[0] == saidWhole:
		r.left = r.left[1:]
	case r.left[0] == saidFormat && len(r.left) > sumLength:
		r.left, r.alike = r.left[1+sumLength:], true
	default:
		r.failed = true
		return 0
	}
	r.faults = r.number()
	return r.count(r.number())
}

func (r *unpacker) number() (n int) {
	if len(r.left) > 0 && r.left[0]-digit < digitMore {
		n, r.left = int(r.left[0]-digit), r.left[1:]
		return n
	}
	return r.longer()
}

// longer is a number of several digits.
func (r *unpacker) longer() (n int) {
	const most = 32 // bits
	for at, shift := 0, 0; at < len(r.left) && shift < most; at, shift = at+1, shift+digitBits {
		b := int(r.left[at]) - digit
		n |= b % digitMore << shift
		if b < digitMore {
			r.failed = r.failed || b < 0
			r.left = r.left[at+1:]
			return max(n, 0)
		}
	}
	r.failed, r.left = true, ""
	return 0
}

// count is the number of things that follow, of a byte each at least.
func (r *unpacker) count(n int) int {
	if n > len(r.left) {
		r.failed, r.left = true, ""
		return 0
	}
	return n
}

// text is a text, until the next one.
func (r *unpacker) text() []byte {
	text, _ := r.flagged(0)
	return text
}

// language is the name of one, without a copy where it is the first.
func (r *unpacker) language() string {
	was := r.left
	text := r.text()
	if at := len(was) - len(r.left) - len(text); at >= 0 && was[at:at+len(text)] == string(text) {
		return was[at : at+len(text)]
	}
	return string(text)
}

// flagged is a text with so many flags.
func (r *unpacker) flagged(bits int) (text []byte, flags int) {
	n, alike := r.number(), 0
	if r.alike {
		alike = r.number()
	}
	if alike > len(r.last) {
		r.failed, r.left, alike = true, "", 0
	}
	r.last = append(r.last[:alike], r.cut(n>>bits)...)
	return r.last, n & (1<<bits - 1)
}

func (r *unpacker) cut(n int) string {
	n = r.count(n)
	text := r.left[:n]
	r.left = r.left[n:]
	return text
}

func (r *unpacker) names() (f Found) {
	owns, asks := r.number(), r.number()
	for range r.count(owns) {
		f.Owns = append(f.Owns, Own{Name: string(r.text())})
	}
	for range r.count(asks) {
		text, flags := r.flagged(2)
		i := Import{Test: flags&1 != 0}
		if flags&2 != 0 {
			i.Path = string(text)
		} else {
			i.Name = string(text)
		}
		f.Imports = append(f.Imports, i)
	}
	return f
}

func (r *unpacker) evidence(f *Found) {
	files := make([]string, r.count(r.number()))
	for n := range files {
		files[n] = string(r.text())
	}
	faults := r.count(r.number())
	place := func() (at Place) {
		n := r.number()
		if at.Line = r.number(); n < len(files) {
			at.File = files[n]
		}
		return at
	}
	for n := range f.Owns {
		f.Owns[n].At = place()
	}
	for n := range f.Imports {
		f.Imports[n].At = place()
	}
	for range faults {
		f.Faults = append(f.Faults, Fault{At: place()})
	}
	for n := range f.Faults {
		why, flags := r.flagged(1)
		f.Faults[n].Test, f.Faults[n].Why = flags != 0, string(why)
	}
}

// whole reports whether a text is what a packer wrote, to its end.
func whole(text string) bool {
	switch {
	case text == "":
		return true
	case text[0] == saidFormat && len(text) > sumLength:
		is := sum(text[1+sumLength:])
		return text[1:1+sumLength] == string(is[:])
	case text[0] == saidWhole:
		return wholeBefore(text)
	}
	return false
}

// wholeBefore is whole for the format that has no checksum.
func wholeBefore(text string) bool {
	r := unpacker{left: text}
	named := make([]int, 0, 8) // names of each language
	for range r.begin() {
		r.text()
		owns, asks := r.count(r.number()), r.count(r.number())
		r.pass(owns, 0)
		r.pass(asks, 2)
		named = append(named, owns+asks)
	}
	for _, names := range named {
		files := r.number()
		r.pass(r.count(files), 0)
		faults := r.count(r.number())
		r.faults -= faults
		for range names + faults {
			r.failed = r.failed || r.number() >= files
			r.number()
		}
		r.pass(faults, 1)
	}
	return !r.failed && r.left == "" && r.faults == 0
}

// pass goes past so many texts with so many flags.
func (r *unpacker) pass(texts, flags int) {
	for range texts {
		r.flagged(flags)
	}
}
