package python

import (
	"bytes"
	"unicode/utf8"
)

// number reads a number, as strictly as CPython does.
func (l *lexer) number() {
	if l.peek(0) == '0' {
		switch l.peek(1) | 0x20 {
		case 'x':
			l.based(16)
			return
		case 'o':
			l.based(8)
			return
		case 'b':
			l.based(2)
			return
		}
	}
	begin := l.at
	if l.peek(0) != '.' {
		l.digits()
	}
	whole := l.at
	if l.peek(0) == '.' {
		l.at++
		if digit(l.peek(0)) {
			l.digits()
		}
	}
	l.exponent()
	if l.peek(0)|0x20 == 'j' {
		l.at++
	}
	if l.at == whole && l.text[begin] == '0' && len(bytes.Trim(l.text[begin:whole], "0_")) > 0 {
		l.fail(l.line, "a number begins with 0; octal numbers are written 0o")
		return
	}
	l.numberEnd()
}

// digits reads decimal digits, of which single underscores may part two.
func (l *lexer) digits() {
	for digit(l.peek(0)) {
		l.at++
		if l.peek(0) == '_' {
			l.at++
			if !digit(l.peek(0)) {
				l.fail(l.line, "an underscore in a number stands between two digits")
			}
		}
	}
}

// exponent reads the e10 of a number, where that is what follows.
func (l *lexer) exponent() {
	if l.peek(0)|0x20 != 'e' {
		return
	}
	switch {
	case digit(l.peek(1)):
		l.at++
	case (l.peek(1) == '+' || l.peek(1) == '-') && digit(l.peek(2)):
		l.at += 2
	default:
		return
	}
	l.digits()
}

// based reads a number that begins with 0x, 0o or 0b.
func (l *lexer) based(base int) {
	l.at += 2
	count := 0
	for {
		mark := l.at
		if l.peek(0) == '_' {
			l.at++
		}
		if d := hex(l.peek(0)); d < 0 || d >= base {
			l.at = mark
			break
		}
		l.at++
		count++
	}
	if count == 0 || digit(l.peek(0)) || l.peek(0) == '_' {
		l.fail(l.line, "a number is not written in its base")
		return
	}
	l.numberEnd()
}

// numberEnd sees that no name is glued to a number; some keywords may be.
func (l *lexer) numberEnd() {
	c := l.peek(0)
	if c < utf8.RuneSelf && c != '_' && !letter(c) {
		return
	}
	i := 0
	for i < 5 && letter(l.peek(i)) {
		i++
	}
	for _, glued := range []string{"and", "else", "for", "if", "in", "is", "not", "or"} {
		if i >= len(glued) && string(l.text[l.at:l.at+len(glued)]) == glued {
			return
		}
	}
	l.fail(l.line, "a name is glued to a number")
}
