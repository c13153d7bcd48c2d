package python

import (
	"bytes"
	"unicode/utf8"
)

// value reads a value.
func (t *toml) value(depth int) *value {
	if depth > maxNested {
		t.fail("more than %d arrays and tables lie within each other", maxNested)
		return &value{}
	}
	switch t.peek(0) {
	case '"', '\'':
		return &value{kind: valueString, text: t.quoted(true)}
	case '[':
		return t.array(depth)
	case '{':
		return t.inline(depth)
	}
	begin := t.at
	for bare(t.peek(0)) || t.peek(0) == '+' || t.peek(0) == '.' || t.peek(0) == ':' || t.peek(0) == ' ' && t.at-begin == 10 && digit(t.peek(1)) {
		t.at++
	}
	text := string(t.text[begin:t.at])
	switch {
	case text == "true" || text == "false":
		return &value{kind: valueBool, text: text}
	case text == "":
		t.fail("a value is expected")
	case !digit(text[0]) && text[0] != '+' && text[0] != '-' && text != "inf" && text != "nan":
		t.fail("%q is no value; a string is written in quotes", text)
	}
	return &value{text: text}
}

// array reads [a, b].
func (t *toml) array(depth int) *value {
	v := &value{kind: valueList}
	t.at++
	for t.blank(); t.why == ""; t.blank() {
		if t.peek(0) == ']' {
			t.at++
			return v
		}
		v.list = append(v.list, t.value(depth+1))
		t.blank()
		if t.peek(0) == ',' {
			t.at++
		} else if t.peek(0) != ']' {
			t.fail("an array is not closed, or a comma is missing in it")
		}
	}
	return v
}

// inline reads {a = 1, b = 2}; as of TOML 1.1 over several lines.
func (t *toml) inline(depth int) *value {
	v := newTable(madeInline)
	t.at++
	for t.blank(); t.why == ""; t.blank() {
		if t.peek(0) == '}' {
			t.at++
			seal(v)
			return v
		}
		t.pair(v, depth+1)
		t.blank()
		if t.peek(0) == ',' {
			t.at++
		} else if t.peek(0) != '}' {
			t.fail("an inline table is not closed, or a comma is missing in it")
		}
	}
	return v
}

// seal shuts the tables that keys with dots made in an inline table.
func seal(v *value) {
	for _, below := range v.table {
		if below.kind == valueTable && below.made == madeDotted {
			below.made = madeInline
			seal(below)
		}
	}
}

// quoted reads a string of any of the four kinds, or of the two that a key may be.
func (t *toml) quoted(multi bool) string {
	mark := t.peek(0)
	if multi && t.peek(1) == mark && t.peek(2) == mark {
		t.at += 3
		return t.lines(mark)
	}
	t.at++
	begin := t.at
	var out []byte // once something is not as it is written
	for t.why == "" {
		c := t.peek(0)
		switch {
		case t.at >= len(t.text) || control(c):
			t.fail("a string is not closed on its line")
		case c == mark && out == nil:
			t.at++
			return string(t.text[begin : t.at-1])
		case c == mark:
			t.at++
			return string(out)
		case c == '\\' && mark == '"':
			if out == nil {
				out = append([]byte{}, t.text[begin:t.at]...)
			}
			out = t.escape(out)
		default:
			if out != nil {
				out = append(out, c)
			}
			t.at++
		}
	}
	return ""
}

// lines reads a string in three quotes.
func (t *toml) lines(mark byte) string {
	if t.peek(0) == '\n' {
		t.at++
		t.line++
	}
	end := []byte{mark, mark, mark}
	out := []byte{}
	for t.why == "" {
		c := t.peek(0)
		switch {
		case t.at >= len(t.text):
			t.fail("a string in three quotes is not closed")
		case c == mark && bytes.HasPrefix(t.text[t.at:], end):
			for i := 0; i < 2 && t.peek(3) == mark; i++ {
				out = append(out, mark)
				t.at++
			}
			t.at += 3
			return string(out)
		case c == '\\' && mark == '"' && t.folded():
		case c == '\\' && mark == '"':
			out = t.escape(out)
		case control(c) && c != '\n':
			t.fail("a string holds a control character")
		default:
			if c == '\n' {
				t.line++
			}
			out = append(out, c)
			t.at++
		}
	}
	return ""
}

// folded goes past a backslash at the end of a line and the white space after it, where that is what is next.
func (t *toml) folded() bool {
	i := 1
	for t.peek(i) == ' ' || t.peek(i) == '\t' {
		i++
	}
	if t.peek(i) != '\n' {
		return false
	}
	for t.at += i; t.peek(0) == ' ' || t.peek(0) == '\t' || t.peek(0) == '\n'; t.at++ {
		if t.peek(0) == '\n' {
			t.line++
		}
	}
	return true
}

// escape reads a backslash and what it stands for.
func (t *toml) escape(out []byte) []byte {
	c := t.peek(1)
	t.at += 2
	digits := 0
	switch c {
	case 'b':
		return append(out, '\b')
	case 't':
		return append(out, '\t')
	case 'n':
		return append(out, '\n')
	case 'f':
		return append(out, '\f')
	case 'r':
		return append(out, '\r')
	case 'e':
		return append(out, 0x1b)
	case '"', '\\':
		return append(out, c)
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		t.fail("a backslash in a string stands before something that it cannot")
		return out
	}
	var r rune
	for range digits {
		d := hex(t.peek(0))
		if d < 0 {
			t.fail("\\%c is not followed by %d hexadecimal digits", c, digits)
			return out
		}
		r = r<<4 | rune(d)
		t.at++
	}
	if !utf8.ValidRune(r) {
		t.fail("\\%c names no character", c)
		return out
	}
	return utf8.AppendRune(out, r)
}
