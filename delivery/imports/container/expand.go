package container

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxValue = 4 << 10  // bytes of a value: an image's name has no more than 255
	maxWork  = 16 << 20 // bytes that filling in one file may come to
	maxDepth = 32       // of ${A:-${B:-…}}
)

// expansion is a text in which variables are filled in, as a builder does it.
type expansion struct {
	text    string
	at      int
	escape  rune
	env     func(name string) (string, bool)
	quotes  bool // quotes stay where they are
	escapes bool // escapes stay where they are
	unsets  bool // variables stay where they are, where they have no value
	unset   []string
	word    []byte
	depth   int
	budget  *int
}

// filled is text with its variables filled in, and those that had no value and no default.
func filled(text string, escape rune, budget *int, env func(string) (string, bool)) (value string, unset []string, err error) {
	x := &expansion{text: text, escape: escape, env: env, budget: budget}
	value, err = x.until(end, false, nil)
	return value, x.unset, err
}

// words is the text in words, which are parted after variables are filled in.
func (x *expansion) words() ([]string, error) {
	x.env = func(string) (string, bool) { return "", false }
	list := &parted{word: &x.word}
	_, err := x.until(end, x.escapes, list)
	return list.done(), err
}

// parted is words as they are found. All that are found in one text share the word
// that has begun: a default that is looked at in the middle of a word ends it.
type parted struct {
	word *[]byte
	all  []string
	in   bool
}

func (p *parted) add(s string, parts bool) {
	if p == nil {
		return
	}
	for _, c := range s {
		if parts && unicode.IsSpace(c) {
			if p.in && len(*p.word) > 0 {
				p.all, *p.word, p.in = append(p.all, string(*p.word)), (*p.word)[:0], false
			}
			continue
		}
		*p.word, p.in = utf8.AppendRune(*p.word, c), true
	}
}

func (p *parted) done() []string {
	if len(*p.word) > 0 {
		p.all, *p.word = append(p.all, string(*p.word)), (*p.word)[:0]
	}
	return p.all
}

func (x *expansion) peek() rune {
	if x.at >= len(x.text) {
		return end
	}
	c, _ := utf8.DecodeRuneInString(x.text[x.at:])
	return c
}

func (x *expansion) next() rune {
	c := x.peek()
	if c != end {
		x.at += utf8.RuneLen(c)
	}
	return c
}

// until is the text up to a rune, filled in. Where escapes are kept, one that
// stands in quotes is doubled: what is read is a pattern.
func (x *expansion) until(stop rune, escapes bool, list *parted) (string, error) {
	if x.depth++; x.depth > maxDepth {
		return "", fmt.Errorf("variables stand in each other more than %d deep", maxDepth)
	}
	defer func() { x.depth-- }()
	x.word = x.word[:0]
	var out strings.Builder
	for x.peek() != end {
		c := x.peek()
		if c == stop {
			x.next()
			return out.String(), nil
		}
		piece, parts, err := x.piece(escapes)
		if err != nil {
			return "", err
		}
		if err := x.pay(len(piece), out.Len()); err != nil {
			return "", err
		}
		out.WriteString(piece)
		list.add(piece, parts)
	}
	if stop != end {
		return "", fmt.Errorf("%q is missing", string(stop))
	}
	return out.String(), nil
}

// pay refuses what grows beyond all reason. A text that is only parted may be as
// long as a file.
func (x *expansion) pay(piece, before int) error {
	*x.budget -= piece
	if *x.budget < 0 {
		return errors.New("filling in the variables of this file comes to too much")
	}
	if !x.unsets && piece+before > maxValue {
		return fmt.Errorf("comes to more than %d bytes", maxValue)
	}
	return nil
}

// piece is the next piece of text, and whether spaces in it part words.
func (x *expansion) piece(escapes bool) (string, bool, error) {
	switch c := x.peek(); {
	case c == '$':
		s, err := x.dollar()
		return s, true, err
	case c == '\'':
		s, err := x.single(escapes && !x.escapes)
		return s, false, err
	case c == '"':
		s, err := x.double(escapes, escapes && !x.escapes)
		return s, false, err
	case c == '<':
		return x.arrow(), false, nil
	case c != x.escape:
		return string(x.next()), true, nil
	}
	x.next()
	piece := ""
	if escapes {
		piece = string(x.escape)
	}
	if c := x.next(); c != end {
		piece += string(c)
	}
	return piece, false, nil
}

// arrow is < or <<, with the blanks after it, which belong to the word.
func (x *expansion) arrow() string {
	from := x.at
	x.next()
	if x.peek() != '<' {
		return "<"
	}
	x.next()
	for c := x.peek(); c == ' ' || c == '\t' || c == '\r'; c = x.peek() {
		x.next()
	}
	return x.text[from:x.at]
}

// single is what stands in single quotes, where nothing is special.
func (x *expansion) single(pattern bool) (string, error) {
	from := x.at
	n := strings.IndexByte(x.text[from+1:], '\'')
	if n < 0 {
		return "", errors.New("a single quote is not closed")
	}
	x.at += n + 2
	if x.quotes {
		return x.text[from:x.at], nil
	}
	inside := x.text[from+1 : x.at-1]
	if pattern {
		inside = strings.ReplaceAll(inside, string(x.escape), string(x.escape)+string(x.escape))
	}
	return inside, nil
}

// double is what stands in double quotes: variables are filled in, and only a few
// runes can be escaped.
func (x *expansion) double(escapes, pattern bool) (string, error) {
	var out strings.Builder
	x.next()
	for {
		if err := x.pay(0, out.Len()); err != nil {
			return "", err
		}
		switch c := x.peek(); c {
		case end:
			return "", errors.New("a double quote is not closed")
		case '"':
			x.next()
			if x.quotes {
				return `"` + out.String() + `"`, nil
			}
			return out.String(), nil
		case '$':
			value, err := x.dollar()
			if err != nil {
				return "", err
			}
			out.WriteString(value)
		case x.escape:
			out.WriteString(x.escaped(escapes, pattern))
		default:
			out.WriteRune(x.next())
		}
	}
}

// escaped is an escape in double quotes, and what it escapes.
func (x *expansion) escaped(escapes, pattern bool) string {
	escape := string(x.next())
	c := x.peek()
	switch {
	case c == end:
		return ""
	case c == '"' || c == '$' || c == x.escape:
		x.next()
		if escapes {
			return escape + string(c)
		}
		return string(c)
	case pattern || escapes && !x.quotes:
		return escape + escape
	}
	return escape
}

// name is the name of a variable, or a digit's or a sign's that a shell gives one.
func (x *expansion) name() string {
	from := x.at
	switch c := x.peek(); {
	case unicode.IsDigit(c):
		for unicode.IsDigit(x.peek()) {
			x.next()
		}
	case c != end && strings.ContainsRune("@*#?-$!", c):
		x.next()
	default:
		for c := x.peek(); c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c); c = x.peek() {
			x.next()
		}
	}
	return x.text[from:x.at]
}

// dollar is the value of a variable.
func (x *expansion) dollar() (string, error) {
	from := x.at
	x.next()
	if x.peek() != '{' {
		name := x.name()
		if name == "" {
			return "$", nil
		}
		return x.value(name, from), nil
	}
	x.next()
	name := x.name()
	switch c := x.next(); {
	case name == "" && (c == '}' || c == ':'):
		return "", errors.New("${ has no name after it")
	case c == '}':
		return x.value(name, from), nil
	case c == ':':
		return x.modified(name, x.next(), true, from)
	case c == '/':
		return x.replaced(name, from)
	default:
		return x.modified(name, c, false, from)
	}
}

// value is that of a variable with no default, which began at from.
func (x *expansion) value(name string, from int) string {
	value, ok := x.env(name)
	if ok {
		return value
	}
	if x.unsets {
		return x.text[from:x.at]
	}
	if !slices.Contains(x.unset, name) {
		x.unset = append(x.unset, name)
	}
	return ""
}
