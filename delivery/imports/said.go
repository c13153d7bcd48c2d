package imports

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Said is what the code of one folder says, in the least room: first every name,
// then, for whoever asks, where each is written and what cannot be read. The
// graph is made of the names alone, in one pass and with no room of their own.
// Nothing at all is the empty Said.
//
// It is text, and holds no NUL: the digit of its format, a checksum of what
// follows, how many faults there are, and of each language, by name:
//
//	its name · how many names it owns, and asks for · each of the first · each of
//	the others, with whether it is a path, and a test's
//
// and, when all have been, of each again: its files · how many faults · the place
// of each name and fault in that order, as the number of its file and the line ·
// what each fault is. A number is its five lowest bits first, each five as one
// byte from @ on, with 32 added where more follow. A text is the length of what
// it does not have in common with the beginning of the text before it, the length
// of what it has, and the former: names come sorted, and most of them are alike.
type Said string

// What begins a Said, and no JSON.
const (
	saidFormat = '2'
	saidWhole  = '1' // before: each text is whole, and there is no checksum
)

// Word is one name that a module owns or asks for, or a path that it asks for.
type Word struct {
	Language string
	Text     []byte // until the next one
	Owned    bool   // or else it is asked for
	Path     bool
	Test     bool
}

// Say is what was found, packed.
func Say(found map[string]Found) Said {
	languages := slices.Sorted(maps.Keys(found))
	if len(languages) == 0 {
		return ""
	}
	p, faults := packer{}, 0
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
	return sealed(string(p.said))
}

// packer writes a Said.
type packer struct {
	said []byte
	last string // the text before
}

const (
	digit     = '@'
	digitBits = 5
	digitMore = 1 << digitBits
	sumLength = 7 // digits
)

func (p *packer) number(n int) {
	for n >= digitMore {
		p.said = append(p.said, byte(digit+digitMore+n%digitMore))
		n >>= digitBits
	}
	p.said = append(p.said, byte(digit+max(n, 0)))
}

// text is a text and what else is to be known of it. The record holds neither
// NUL nor what is not UTF-8.
func (p *packer) text(s string, flags ...int) {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	alike := common(p.last, s)
	n := len(s) - alike
	for _, flag := range flags {
		n = n<<1 | flag
	}
	p.number(n)
	p.number(alike)
	p.said = append(p.said, s[alike:]...)
	p.last = s
}

// common is the length of the beginning that two texts have in common. No letter
// is cut in two.
func common(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n < len(b) && n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// sealed is a Said with what follows its checksum.
func sealed(text string) Said {
	is := sum(text)
	return Said(string(saidFormat) + string(is[:]) + text)
}

// sum is a checksum of all of a text, eight bytes at a time: it is taken of
// everything that the record holds at each start. Whatever becomes of one of the
// eights, the rest goes on from another number.
func sum(s string) (text [sumLength]byte) {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(len(s))
	for ; len(s) >= 8; s = s[8:] {
		h ^= uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h *= odd
		h ^= h >> 32
	}
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * odd
		h ^= h >> 32
	}
	h *= odd
	h ^= h >> 29
	for i := range text {
		text[i] = byte(digit + h%digitMore)
		h >>= digitBits
	}
	return text
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
