package python

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// The bounds of CPython's own tokenizer.
const (
	maxBrackets = 200
	maxFormats  = 150
	maxIndents  = 100
)

// lexer cuts a file into logical lines. It stops at the first fault.
type lexer struct {
	text    []byte
	words   map[string]word
	at      int
	line    int
	indents []indent
	frames  []frame
	formats int // of the frames, those that are f-strings
	why     string
	whyLine int
}

// indent is how far a block is indented, with tabs to the eighth column and with tabs as one.
type indent struct{ wide, narrow int }

// frame is a bracket or an f-string that is open.
type frame struct {
	what  byte // ( [ {, f in the text of an f-string, e in a field of it, s in that field's format
	quote quote
	line  int
}

// quote is how a string is written.
type quote struct {
	mark   byte
	triple bool
	raw    bool
}

func (l *lexer) fail(line int, format string, args ...any) {
	if l.why == "" {
		l.why, l.whyLine = fmt.Sprintf(format, args...), max(1, min(line, bytes.Count(l.text, []byte("\n"))))
	}
	l.at = len(l.text)
}

// peek is the byte at i after where the lexer stands, 0 behind the end.
func (l *lexer) peek(i int) byte {
	if l.at+i < len(l.text) {
		return l.text[l.at+i]
	}
	return 0
}

// begin goes to the first token of the next logical line, and says by how many
// blocks it is deeper (1) or less deep (negative) than the one before.
func (l *lexer) begin() (deeper int, more bool) {
	for l.at < len(l.text) {
		in := l.measure()
		switch c := l.peek(0); {
		case l.why != "":
			return 0, false
		case c == '#':
			l.comment()
		case c == '\n':
			l.at++
			l.line++
		case l.at < len(l.text):
			return l.settle(in), l.why == ""
		}
	}
	return 1 - len(l.indents), false
}

// measure reads the white space that a line begins with.
func (l *lexer) measure() indent {
	in, carried := indent{}, indent{}
	for {
		switch l.peek(0) {
		case ' ':
			in.wide++
			in.narrow++
		case '\t':
			in.wide = (in.wide/8 + 1) * 8
			in.narrow++
		case '\f':
			in = indent{}
		case '\\':
			if carried.wide == 0 {
				carried = in
			}
			if !l.continued() {
				return in
			}
			continue
		default:
			if carried.wide > 0 {
				return carried
			}
			return in
		}
		l.at++
	}
}

// continued goes past a backslash and the end of its line.
func (l *lexer) continued() bool {
	switch {
	case l.peek(1) != '\n':
		l.fail(l.line, "a backslash is followed by something other than the end of its line")
	case l.at+2 >= len(l.text):
		l.fail(l.line, "the file ends after a backslash")
	default:
		l.at += 2
		l.line++
		return true
	}
	return false
}

// settle compares the indentation of a line with the blocks that are open.
func (l *lexer) settle(in indent) int {
	top := l.indents[len(l.indents)-1]
	if in.wide > top.wide {
		if len(l.indents) >= maxIndents {
			l.fail(l.line, "more than %d blocks lie within each other", maxIndents)
		}
		if in.narrow <= top.narrow {
			l.fail(l.line, "tabs and spaces are mixed so that the indentation depends on the width of a tab")
		}
		l.indents = append(l.indents, in)
		return 1
	}
	closed := 0
	for in.wide < top.wide {
		closed++
		l.indents = l.indents[:len(l.indents)-1]
		top = l.indents[len(l.indents)-1]
	}
	if in.wide != top.wide {
		l.fail(l.line, "the indentation is that of no block that is open")
	} else if in.narrow != top.narrow {
		l.fail(l.line, "tabs and spaces are mixed so that the indentation depends on the width of a tab")
	}
	return -closed
}

func (l *lexer) comment() {
	for l.at < len(l.text) && l.text[l.at] != '\n' {
		l.at++
	}
}

// rest reads the tokens up to the end of the logical line into tokens; the last of them is kindEnd.
func (l *lexer) rest(tokens []token) []token {
	for {
		t := l.next()
		if l.why != "" {
			t.kind = kindEnd
		}
		tokens = append(tokens, t)
		if t.kind == kindEnd {
			return tokens
		}
	}
}

// next is the next token of the logical line.
func (l *lexer) next() token {
	if n := len(l.frames); n > 0 && (l.frames[n-1].what == 'f' || l.frames[n-1].what == 's') {
		return l.formatted()
	}
	if !l.space() {
		return token{kind: kindEnd, start: int32(l.at), end: int32(l.at), line: int32(max(l.line-1, 1))}
	}
	t := token{start: int32(l.at), line: int32(l.line)}
	switch c := l.peek(0); {
	case c >= utf8.RuneSelf || c == '_' || letter(c):
		l.name(&t)
	case digit(c) || c == '.' && digit(l.peek(1)):
		t.kind = kindNumber
		l.number()
	case c == '"' || c == '\'':
		l.literal(&t, int(t.start))
	default:
		l.sign(&t, c)
	}
	t.end = int32(l.at)
	return t
}

// space goes past what stands between tokens, and reports whether there is another on this logical line.
func (l *lexer) space() bool {
	for l.at < len(l.text) {
		switch l.text[l.at] {
		case ' ', '\t', '\f':
			l.at++
		case '#':
			l.comment()
		case '\\':
			if !l.continued() {
				return false
			}
		case '\n':
			l.at++
			l.line++
			if len(l.frames) == 0 {
				return false
			}
		default:
			return true
		}
	}
	if n := len(l.frames); n > 0 {
		f := l.frames[n-1]
		if f.what == 'e' {
			f.what = '{'
		}
		l.fail(f.line, "%q is never closed", string(f.what))
	}
	return false
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// name reads an identifier or keyword, or the string of which it is the prefix.
func (l *lexer) name(t *token) {
	t.kind = kindName
	begin, plain := l.at, true
	for l.at < len(l.text) {
		c := l.text[l.at]
		if c < utf8.RuneSelf {
			if c != '_' && !letter(c) && !digit(c) {
				break
			}
			l.at++
			continue
		}
		r, n := utf8.DecodeRune(l.text[l.at:])
		if !nameRune(r, l.at == begin) {
			l.fail(l.line, "%q is no part of Python here", string(r))
			return
		}
		plain = false
		l.at += n
	}
	if c := l.peek(0); plain && (c == '"' || c == '\'') && stringPrefix(l.text[begin:l.at]) {
		l.literal(t, begin)
		return
	}
	if w := l.words[string(l.text[begin:l.at])]; plain && w != wordNone {
		t.kind, t.word = kindKeyword, w
	}
}

// nameRune reports whether an identifier may hold r, or begin with it.
func nameRune(r rune, first bool) bool {
	if unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start) {
		return true
	}
	return !first && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}

// sign reads a bracket or an operator.
func (l *lexer) sign(t *token, c byte) {
	switch c {
	case '(', '[', '{':
		t.kind = kindOpen
		l.push(frame{what: c, line: l.line})
		l.at++
		return
	case ')', ']', '}':
		t.kind = kindClose
		l.close(t, c)
		l.at++
		return
	}
	if n := len(l.frames); n > 0 && l.frames[n-1].what == 'e' {
		if c == ':' {
			t.kind = kindSpec
			l.frames[n-1].what = 's'
			l.at++
			return
		}
		if c == '!' && l.peek(1) != '=' {
			l.conversion(t)
			return
		}
	}
	k, n := operator(l.text[l.at:])
	if n == 0 {
		l.fail(l.line, "%q is no part of Python here", string(rune(c)))
		return
	}
	t.kind = k
	l.at += n
}

func (l *lexer) push(f frame) {
	if len(l.frames)-l.formats >= maxBrackets {
		l.fail(l.line, "more than %d brackets lie within each other", maxBrackets)
	}
	l.frames = append(l.frames, f)
}

// close ends the innermost bracket, which must be the one that c ends.
func (l *lexer) close(t *token, c byte) {
	n := len(l.frames)
	if n == 0 {
		l.fail(l.line, "%q closes nothing", string(c))
		return
	}
	f := l.frames[n-1]
	if f.what == 'e' && c == '}' {
		t.kind = kindFieldEnd
		l.frames = l.frames[:n-1]
		return
	}
	if f.what == 'e' {
		f.what = '{'
	}
	if want := map[byte]byte{'(': ')', '[': ']', '{': '}'}[f.what]; want != c {
		l.fail(l.line, "%q does not close the %q of line %d", string(c), string(f.what), f.line)
		return
	}
	l.frames = l.frames[:n-1]
}
