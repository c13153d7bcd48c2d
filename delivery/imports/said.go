package imports

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"noxmesh/internal/fault"
)

// Said is what the code of one folder says, in the least room: first every name,
// then, for whoever asks, where each is written and what cannot be read. The
// graph is made of the names alone, in one pass and without a copy. Nothing at
// all is the empty Said.
//
// It is text, and holds no NUL: the digit of its format, how many faults there
// are, and of each language, by name:
//
//	its name · how many names it owns, and asks for · each of the first · each of
//	the others, with whether it is a path, and a test's
//
// and, when all have been, of each again: its files · how many faults · the place
// of each name and fault in that order, as the number of its file and the line ·
// what each fault is. A number is its five lowest bits first, each five as one
// byte from @ on, with 32 added where more follow; a text follows its length.
type Said string

// saidFormat begins each Said, and no JSON.
const saidFormat = '1'

// Word is one name that a module owns or asks for, or a path that it asks for.
type Word struct {
	Language string
	Text     string
	Owned    bool // or else it is asked for
	Path     bool
	Test     bool
}

// Say is what was found, packed.
func Say(found map[string]Found) Said {
	languages := slices.Sorted(maps.Keys(found))
	if len(languages) == 0 {
		return ""
	}
	p, faults := packer{saidFormat}, 0
	for _, f := range found {
		faults += len(f.Faults)
	}
	p.number(faults)
	p.number(len(languages))
	for _, language := range languages {
		p.names(language, found[language])
	}
	for _, language := range languages {
		p.evidence(found[language])
	}
	return Said(p)
}

type packer []byte

const (
	digit     = '@'
	digitBits = 5
	digitMore = 1 << digitBits
)

func (p *packer) number(n int) {
	for n >= digitMore {
		*p = append(*p, byte(digit+digitMore+n%digitMore))
		n >>= digitBits
	}
	*p = append(*p, byte(digit+max(n, 0)))
}

// text is a text and what else is to be known of it. The record holds neither
// NUL nor what is not UTF-8.
func (p *packer) text(s string, flags ...int) {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	n := len(s)
	for _, flag := range flags {
		n = n<<1 | flag
	}
	p.number(n)
	*p = append(*p, s...)
}

func flag(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (p *packer) names(language string, f Found) {
	p.text(language)
	p.number(len(f.Owns))
	p.number(len(f.Imports))
	for _, o := range f.Owns {
		p.text(o.Name)
	}
	for _, i := range f.Imports {
		p.text(cmp.Or(i.Path, i.Name), flag(i.Path != ""), flag(i.Test))
	}
}

func (p *packer) evidence(f Found) {
	var files []string
	number := map[string]int{}
	var places []Place
	for _, o := range f.Owns {
		places = append(places, o.At)
	}
	for _, i := range f.Imports {
		places = append(places, i.At)
	}
	for _, fault := range f.Faults {
		places = append(places, fault.At)
	}
	for _, at := range places {
		if _, there := number[at.File]; !there {
			number[at.File] = len(files)
			files = append(files, at.File)
		}
	}
	p.number(len(files))
	for _, file := range files {
		p.text(file)
	}
	p.number(len(f.Faults))
	for _, at := range places {
		p.number(number[at.File])
		p.number(at.Line)
	}
	for _, fault := range f.Faults {
		p.text(fault.Why, flag(fault.Test))
	}
}

// ParseSaid is a text that has to be what Say makes.
func ParseSaid(text string) (Said, error) {
	if text != "" && !whole(text) {
		return "", fault.New(fault.Broken, "what is kept of a folder's code is damaged, or of a newer version")
	}
	return Said(text), nil
}

// Words is every name, in the order in which they are kept.
func (s Said) Words() iter.Seq[Word] {
	return func(yield func(Word) bool) {
		r := unpacker{left: string(s)}
		for range r.begin() {
			w := Word{Language: r.text()}
			owns, asks := r.number(), r.number()
			for range r.count(owns) {
				w.Owned, w.Text = true, r.text()
				if r.failed || !yield(w) {
					return
				}
			}
			for range r.count(asks) {
				flags := r.number()
				w.Owned, w.Path, w.Test, w.Text = false, flags&2 != 0, flags&1 != 0, r.cut(flags>>2)
				if r.failed || !yield(w) {
					return
				}
			}
		}
	}
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
		languages[n] = r.text()
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
	faults int // that there are
	failed bool
}

// begin is the number of languages.
func (r *unpacker) begin() int {
	if r.left == "" {
		return 0
	}
	if r.left[0] != saidFormat {
		r.failed = true
		return 0
	}
	r.left = r.left[1:]
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

func (r *unpacker) text() string { return r.cut(r.number()) }

func (r *unpacker) cut(n int) string {
	n = r.count(n)
	text := r.left[:n]
	r.left = r.left[n:]
	return text
}

func (r *unpacker) names() (f Found) {
	owns, asks := r.number(), r.number()
	for range r.count(owns) {
		f.Owns = append(f.Owns, Own{Name: r.text()})
	}
	for range r.count(asks) {
		flags := r.number()
		i := Import{Test: flags&1 != 0}
		if text := r.cut(flags >> 2); flags&2 != 0 {
			i.Path = text
		} else {
			i.Name = text
		}
		f.Imports = append(f.Imports, i)
	}
	return f
}

func (r *unpacker) evidence(f *Found) {
	files := make([]string, r.count(r.number()))
	for n := range files {
		files[n] = r.text()
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
		flags := r.number()
		f.Faults[n].Test, f.Faults[n].Why = flags&1 != 0, r.cut(flags>>1)
	}
}

// whole reports whether a text is what a packer wrote, to its end.
func whole(text string) bool {
	r := unpacker{left: text}
	named := make([]int, 0, 8) // names of each language
	for range r.begin() {
		r.text()
		owns, asks := r.count(r.number()), r.count(r.number())
		for range owns {
			r.text()
		}
		for range asks {
			r.cut(r.number() >> 2)
		}
		named = append(named, owns+asks)
	}
	for _, names := range named {
		files := r.number()
		for range r.count(files) {
			r.text()
		}
		faults := r.count(r.number())
		r.faults -= faults
		for range names + faults {
			r.failed = r.failed || r.number() >= files
			r.number()
		}
		for range faults {
			r.cut(r.number() >> 1)
		}
	}
	return !r.failed && r.left == "" && r.faults == 0
}
