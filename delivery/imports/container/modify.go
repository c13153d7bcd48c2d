package container

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// modified is ${name-…}, ${name+…}, ${name?…}, ${name#…} and ${name%…}. Behind a
// colon an empty value is none.
func (x *expansion) modified(name string, sign rune, colon bool, from int) (string, error) {
	if sign == end || !strings.ContainsRune("-+?#%", sign) || colon && (sign == '#' || sign == '%') {
		return "", fmt.Errorf("${%s has none of - + ? # %% / after it that is known here", name)
	}
	// What the default leaves open counts only if it is the default that is used.
	before := slices.Clip(x.unset)
	pattern := sign == '#' || sign == '%'
	word, err := x.until('}', pattern, nil)
	if err != nil {
		return "", err
	}
	value, set := x.env(name)
	if !set && x.unsets {
		return x.text[from:x.at], nil
	}
	has := set && (value != "" || !colon)
	switch {
	case sign == '-' && !has, sign == '+' && has:
		return word, nil
	case sign == '+':
		x.unset = before
		return "", nil
	case sign == '-' || sign == '?' && has:
		x.unset = before
		return value, nil
	case sign == '?':
		return "", missing{name, word}
	case !set:
		x.unset = append(x.unset, name)
	}
	return x.trimmed(value, word, sign)
}

// missing is ${name?why} without a value.
type missing struct{ name, why string }

func (m missing) Error() string {
	if m.why == "" {
		return "ARG " + m.name + " has no default"
	}
	return "ARG " + m.name + " has no default: " + quote(m.why)
}

// trimmed is a value without the beginning (#) or the end (%) that fits a pattern,
// the shortest, or where the sign is doubled the longest.
func (x *expansion) trimmed(value, word string, sign rune) (string, error) {
	word, longest := strings.CutPrefix(word, string(sign))
	p, err := newPattern(word)
	if err != nil {
		return "", err
	}
	runes := []rune(value)
	if sign == '%' {
		slices.Reverse(runes)
		slices.Reverse(p)
	}
	if err := x.pay(len(value), 0); err != nil {
		return "", err
	}
	if n := p.fits(runes, longest); n > 0 {
		runes = runes[n:]
	}
	if sign == '%' {
		slices.Reverse(runes)
	}
	return string(runes), nil
}

// replaced is ${name/pattern/with}, and with // each time that the pattern fits.
func (x *expansion) replaced(name string, from int) (string, error) {
	every := x.peek() == '/'
	if every {
		x.next()
	}
	word, err := x.until('/', true, nil)
	if err != nil {
		return "", err
	}
	with, err := x.until('}', true, nil)
	if err != nil {
		return "", err
	}
	p, err := newPattern(word)
	if err != nil {
		return "", err
	}
	value, set := x.env(name)
	if !set && x.unsets {
		return x.text[from:x.at], nil
	}
	if !set {
		x.unset = append(x.unset, name)
	}
	var out strings.Builder
	for runes := []rune(value); len(runes) > 0; {
		n := p.fits(runes, true)
		if err := x.pay(len(runes)+len(with), out.Len()); err != nil {
			return "", err
		}
		if n <= 0 {
			out.WriteRune(runes[0])
			runes = runes[1:]
			continue
		}
		out.WriteString(with)
		if runes = runes[n:]; !every {
			out.WriteString(string(runes))
			break
		}
	}
	return out.String(), nil
}

// maxPattern is how long a pattern may be: one bit each is kept of how far it fits.
const maxPattern = 63

const (
	anyRune  = -2 // ?
	anyRunes = -3 // *
)

// pattern is a shell's: runes, or signs for any of them.
type pattern []rune

func newPattern(word string) (pattern, error) {
	var p pattern
	for at := 0; at < len(word); {
		c, n := utf8.DecodeRuneInString(word[at:])
		at += n
		switch c {
		case '*':
			c = anyRunes
		case '?':
			c = anyRune
		case '\\':
			c, n = utf8.DecodeRuneInString(word[at:])
			at += n
			if n == 0 || !strings.ContainsRune(`}/*?\`, c) {
				return nil, errors.New("the pattern " + quote(word) + ` escapes what needs none: only * ? \ } and / do`)
			}
		}
		p = append(p, c)
	}
	if len(p) > maxPattern {
		return nil, fmt.Errorf("the pattern %s is longer than %d", quote(word), maxPattern)
	}
	return p, nil
}

// fits is how many of the runes, from the first on, the pattern fits: the fewest or
// the most; -1 if it does not. Each bit of at is a place in the pattern that has been reached.
func (p pattern) fits(runes []rune, most bool) int {
	best := -1
	at := p.skip(1)
	for n := 0; ; n++ {
		if at&(1<<len(p)) != 0 {
			if best = n; !most {
				return best
			}
		}
		if n == len(runes) || at == 0 {
			return best
		}
		var next uint64
		for i, c := range p {
			switch {
			case at&(1<<i) == 0:
			case c == anyRunes:
				next |= 1 << i
			case c == anyRune || c == runes[n]:
				next |= 1 << (i + 1)
			}
		}
		at = p.skip(next)
	}
}

// skip adds what is reached without a rune: any of them may be none.
func (p pattern) skip(at uint64) uint64 {
	for i, c := range p {
		if c == anyRunes && at&(1<<i) != 0 {
			at |= 1 << (i + 1)
		}
	}
	return at
}
