package javascript

import (
	"unicode"
	"unicode/utf8"
)

// kind is what a token is: a punctuator with more than one meaning is its own byte.
type kind uint16

// The other kinds of token.
const (
	end     kind = iota + 256 // of the file, or of what can be read
	word                      // a name or a keyword
	private                   // #name
	text                      // a string
	number
	template // the ` that begins one
	operator // stands between two operands, and is nothing else
	arrow    // =>
	spread   // ...
	chain    // ?.
	step     // ++ and --
)

// token is one word of the language.
type token struct {
	kind        kind
	start, stop int
	line        int
	fresh       bool // the first of its line
	escaped     bool // a word that is written with \u, which is no keyword
}

// next goes on to the next token.
func (p *parser) next() {
	p.last = p.tok.stop
	if p.why != "" {
		return
	}
	fresh := p.trivia()
	p.tok = token{kind: end, start: p.pos, line: p.line, fresh: fresh}
	kind := p.scan()
	if p.why != "" {
		return
	}
	p.tok.kind, p.tok.stop = kind, p.pos
}

// at is a byte that lies ahead, or 0.
func (p *parser) at(ahead int) byte {
	if p.pos+ahead < len(p.src) {
		return p.src[p.pos+ahead]
	}
	return 0
}

// trivia goes past spaces and comments, and says whether a line ended there.
func (p *parser) trivia() bool {
	fresh := p.pos == 0
	for p.why == "" && p.pos < len(p.src) {
		size, newline := p.blank()
		switch {
		case size > 0:
			p.pos += size
			fresh = fresh || newline
		case p.html && fresh && p.starts("-->"), p.html && p.starts("<!--"):
			p.sawHTML = true
			p.endLine()
		case p.starts("//"):
			p.lineComment()
		case p.starts("/*"):
			fresh = p.comment() || fresh
		default:
			return fresh
		}
	}
	return fresh
}

// blank is the length of the space that comes next, if one does, and whether it ends a line.
func (p *parser) blank() (int, bool) {
	switch c := p.src[p.pos]; {
	case c == '\n':
		p.line++
		return 1, true
	case c == '\r':
		return 1, true
	case c == ' ', c == '\t', c == '\v', c == '\f':
		return 1, false
	case c < utf8.RuneSelf:
		return 0, false
	}
	return wide(p.src[p.pos:])
}

// wide is the length of the space beyond ASCII that a text begins with, and whether it ends a line.
func wide(src []byte) (int, bool) {
	r, size := utf8.DecodeRune(src)
	switch {
	case r == '\u2028', r == '\u2029':
		return size, true
	case r == '\ufeff', unicode.Is(unicode.Zs, r):
		return size, false
	}
	return 0, false
}

// starts reports whether s comes next.
func (p *parser) starts(s string) bool {
	return len(p.src)-p.pos >= len(s) && string(p.src[p.pos:p.pos+len(s)]) == s
}

// endLine goes to the end of the line.
func (p *parser) endLine() {
	for p.pos < len(p.src) && p.src[p.pos] != '\n' && p.src[p.pos] != '\r' && !p.starts("\u2028") && !p.starts("\u2029") {
		p.pos++
	}
}

func (p *parser) lineComment() {
	start := p.pos
	p.endLine()
	if p.tok.stop == 0 {
		p.reference(string(p.src[start:p.pos]))
	}
}

// comment goes past a comment, and says whether a line ended within it.
func (p *parser) comment() bool {
	start, line, ended := p.pos, p.line, false
	for p.pos += 2; p.pos < len(p.src); p.pos++ {
		switch {
		case p.starts("*/"):
			p.pos += 2
			if p.tok.stop == 0 {
				p.pragma(string(p.src[start:p.pos]), line)
			}
			return ended
		case p.src[p.pos] == '\n':
			p.line++
			ended = true
		case p.src[p.pos] == '\r', p.starts("\u2028"), p.starts("\u2029"):
			ended = true
		}
	}
	p.failAt(line, "the comment does not end")
	return ended
}

func (p *parser) scan() kind {
	if p.pos >= len(p.src) {
		return end
	}
	switch c := p.src[p.pos]; {
	case partOfWord(c) && !digit(c), c == '\\':
		return p.scanWord()
	case digit(c), c == '.' && digit(p.at(1)):
		return p.scanNumber()
	case c == '"', c == '\'':
		return p.scanText(c)
	case c == '`':
		p.pos++
		return template
	case c == '#':
		p.pos++
		p.scanWord()
		return private
	}
	return p.scanPunctuator()
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// partOfWord reports whether a name may have the byte in it; beyond ASCII all do that are no space.
func partOfWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || digit(c) || c == '_' || c == '$' || c >= utf8.RuneSelf
}

func (p *parser) scanWord() kind {
	start := p.pos
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '\\' && p.at(1) == 'u':
			p.tok.escaped = true
			p.pos += 2
			p.scanBraced()
		case c >= utf8.RuneSelf:
			if size, _ := wide(p.src[p.pos:]); size > 0 {
				return p.wordFrom(start)
			}
			_, size := utf8.DecodeRune(p.src[p.pos:])
			p.pos += size
		case partOfWord(c):
			p.pos++
		default:
			return p.wordFrom(start)
		}
	}
	return p.wordFrom(start)
}

// scanBraced goes past the {61} of \u{61}.
func (p *parser) scanBraced() {
	if p.at(0) != '{' {
		return
	}
	for p.pos < len(p.src) && p.src[p.pos] != '}' && p.src[p.pos] != '\n' {
		p.pos++
	}
	if p.at(0) == '}' {
		p.pos++
	}
}

func (p *parser) wordFrom(start int) kind {
	if p.pos == start {
		p.fail("%q belongs to nothing", rune(p.at(0)))
	}
	return word
}

func (p *parser) scanNumber() kind {
	based := p.src[p.pos] == '0' && (p.at(1)|0x20 == 'x' || p.at(1)|0x20 == 'b' || p.at(1)|0x20 == 'o')
	dot := based
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case c == '.' && !dot:
			dot = true
		case !based && c|0x20 == 'e' && (p.at(1) == '-' || p.at(1) == '+'):
			dot = true
			p.pos++
		case !based && c|0x20 == 'e':
			dot = true
		case !partOfWord(c) || c >= utf8.RuneSelf:
			return number
		}
		p.pos++
	}
	return number
}

func (p *parser) scanText(quote byte) kind {
	for p.pos++; p.pos < len(p.src); p.pos++ {
		switch p.src[p.pos] {
		case quote:
			p.pos++
			return text
		case '\n', '\r':
			p.fail("the string does not end on its line")
			return end
		case '\\':
			p.escape()
		}
	}
	p.fail("the string does not end")
	return end
}

// escape goes to the last byte of what a backslash begins.
func (p *parser) escape() {
	p.pos++
	if p.at(0) == '\r' && p.at(1) == '\n' {
		p.pos++
	}
	if p.at(0) == '\n' {
		p.line++
	}
}
