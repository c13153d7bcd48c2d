package python

import (
	"bytes"
	"unicode/utf8"
)

// stringPrefix reports whether a string may begin with these letters.
func stringPrefix(letters []byte) bool {
	switch len(letters) {
	case 1:
		return bytes.IndexByte([]byte("rubft"), letters[0]|0x20) >= 0
	case 2:
		a, b := letters[0]|0x20, letters[1]|0x20
		if b == 'r' {
			a, b = b, a
		}
		return a == 'r' && (b == 'b' || b == 'f' || b == 't')
	}
	return false
}

// literal reads a string whose prefix begins at begin and whose quote is next.
// Of one that is formatted it reads the quote alone.
func (l *lexer) literal(t *token, begin int) {
	q := quote{mark: l.text[l.at]}
	formatted, bare := false, false
	for _, c := range l.text[begin:l.at] {
		q.raw = q.raw || c|0x20 == 'r'
		formatted = formatted || c|0x20 == 'f' || c|0x20 == 't'
		bare = bare || c|0x20 == 'b'
	}
	q.triple = l.peek(1) == q.mark && l.peek(2) == q.mark
	l.at++
	if q.triple {
		l.at += 2
	}
	if !formatted {
		t.kind = kindString
		l.plain(q, bare)
		return
	}
	t.kind = kindFormat
	if l.formats >= maxFormats {
		l.fail(l.line, "more than %d f-strings lie within each other", maxFormats)
		return
	}
	l.formats++
	l.frames = append(l.frames, frame{what: 'f', quote: q, line: l.line})
}

// plain reads a string that is not formatted up to its closing quote.
func (l *lexer) plain(q quote, bare bool) {
	begun := l.line
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '\\':
			l.escape(q, bare)
		case c == '\n':
			if !q.triple {
				l.fail(begun, "the string is not closed on its line")
				return
			}
			l.line++
			l.at++
		case c == q.mark:
			if l.closes(q) {
				return
			}
		case bare && c >= utf8.RuneSelf:
			l.fail(l.line, "bytes hold something other than ASCII")
			return
		default:
			l.at++
		}
	}
	l.fail(begun, "the string is not closed before the end of the file")
}

// closes goes past the quote that is next, and reports whether it ends the string.
func (l *lexer) closes(q quote) bool {
	if !q.triple {
		l.at++
		return true
	}
	if l.peek(1) == q.mark && l.peek(2) == q.mark {
		l.at += 3
		return true
	}
	l.at++
	return false
}

// escape goes past a backslash and what it takes the meaning from.
func (l *lexer) escape(q quote, bare bool) {
	c := l.peek(1)
	l.at += 2
	if l.at > len(l.text) {
		l.at = len(l.text)
	}
	if c == '\n' {
		l.line++
	}
	if q.raw || bare && c != 'x' {
		return
	}
	digits := 0
	switch c {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case 'N':
		l.character()
		return
	}
	value := 0
	for i := range digits {
		d := hex(l.peek(i))
		if d < 0 {
			l.fail(l.line, "\\%c is not followed by %d hexadecimal digits", c, digits)
			return
		}
		value = value<<4 | d
	}
	if value > utf8.MaxRune {
		l.fail(l.line, "\\U names no character")
		return
	}
	l.at += digits
}

// character reads the name of a character, after \N.
func (l *lexer) character() {
	for i := 0; l.peek(0) == '{' && l.at+i < len(l.text) && i < 256; i++ {
		switch l.peek(i) {
		case '}':
			if i > 1 {
				l.at += i + 1
				return
			}
		case '\n':
			i = len(l.text)
		}
	}
	l.fail(l.line, "\\N is not followed by the name of a character in braces")
}

func hex(c byte) int {
	switch {
	case digit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// formatted reads the text of an f-string, or of a field's format, up to what ends it.
func (l *lexer) formatted() token {
	n := len(l.frames) - 1
	f := l.frames[n]
	spec := f.what == 's'
	for l.at < len(l.text) {
		t := token{start: int32(l.at), end: int32(l.at + 1), line: int32(l.line)}
		switch c := l.text[l.at]; {
		case c == '\\':
			l.escapeFormatted(f.quote)
		case c == '\n' && !f.quote.triple:
			if !spec {
				l.fail(f.line, "the string is not closed on its line")
				return t
			}
			l.frames[n].what = 'e'
			return l.next()
		case c == '\n':
			l.line++
			l.at++
		case c == f.quote.mark:
			if l.closes(f.quote) {
				return l.formatEnd(t, spec)
			}
		case c == '{' && (spec || l.peek(1) != '{'):
			t.kind = kindField
			l.push(frame{what: 'e', quote: f.quote, line: l.line})
			l.at++
			return t
		case c == '}' && (spec || l.peek(1) != '}'):
			return l.fieldEnd(t, spec)
		case c == '{' || c == '}':
			l.at += 2
		default:
			l.at++
		}
	}
	l.fail(f.line, "the string is not closed before the end of the file")
	return token{}
}

func (l *lexer) formatEnd(t token, spec bool) token {
	if spec {
		l.fail(l.line, "a field of the f-string is not closed")
		return t
	}
	t.kind, t.end = kindFormatEnd, int32(l.at)
	l.frames = l.frames[:len(l.frames)-1]
	l.formats--
	return t
}

func (l *lexer) fieldEnd(t token, spec bool) token {
	if !spec {
		l.fail(l.line, "a single } stands in an f-string")
		return t
	}
	t.kind = kindFieldEnd
	l.frames = l.frames[:len(l.frames)-1]
	l.at++
	return t
}

// escapeFormatted is escape where a brace keeps its meaning.
func (l *lexer) escapeFormatted(q quote) {
	if c := l.peek(1); c == '{' || c == '}' {
		l.at++
		return
	}
	l.escape(q, false)
}

// conversion reads !r, !s or !a.
func (l *lexer) conversion(t *token) {
	t.kind = kindConversion
	c := l.peek(1)
	l.at += 2
	if next := l.peek(0); c != 'r' && c != 's' && c != 'a' || next == '_' || letter(next) || digit(next) || next >= utf8.RuneSelf {
		l.fail(l.line, "! in an f-string is followed by r, s or a")
	}
}
