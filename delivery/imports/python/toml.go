package python

import (
	"bytes"
	"fmt"
)

// value is one of a TOML document.
type value struct {
	kind  valueKind
	text  string            // of a string, and of what is none and no list or table: as it is written
	list  []*value          // of an array
	table map[string]*value // of a table
	made  made
}

type valueKind uint8

const (
	valueOther valueKind = iota // numbers, dates
	valueString
	valueBool
	valueList
	valueTable
)

// made is what wrote a table or an array, and so what may still add to it.
type made uint8

const (
	madeInline  made = iota // whole as it is
	madeAbove               // for the sake of a table below it: its own header may follow
	madeHeader              // by its header
	madeDotted              // by a key with dots
	madeMembers             // an array, by headers in double brackets
)

// toml reads a TOML document, strictly but for the inside of numbers and dates,
// which nothing here asks for.
type toml struct {
	text []byte
	at   int
	line int
	why  string
}

// maxNested is how deep arrays and inline tables may lie within each other.
const maxNested = 64

// parseTOML is the document's table, or where and why it is none.
func parseTOML(text []byte) (root *value, line int, why string) {
	t := &toml{text: text, line: 1}
	root = newTable(madeHeader)
	here := root
	for t.why == "" {
		t.blank()
		if t.at >= len(t.text) {
			return root, 0, ""
		}
		if t.peek(0) == '[' {
			here = t.header(root)
		} else {
			t.pair(here, 0)
		}
		t.lineEnd()
	}
	return newTable(madeHeader), max(1, min(t.line, bytes.Count(text, []byte("\n")))), t.why
}

func newTable(by made) *value { return &value{kind: valueTable, table: map[string]*value{}, made: by} }

func (t *toml) fail(format string, args ...any) {
	if t.why == "" {
		t.why = fmt.Sprintf(format, args...)
	}
}

func (t *toml) peek(i int) byte {
	if t.at+i < len(t.text) {
		return t.text[t.at+i]
	}
	return 0
}

// space goes past blanks and tabs.
func (t *toml) space() {
	for t.peek(0) == ' ' || t.peek(0) == '\t' {
		t.at++
	}
}

// blank goes past blanks, comments and ends of lines.
func (t *toml) blank() {
	for t.why == "" && t.at < len(t.text) {
		switch t.peek(0) {
		case ' ', '\t':
			t.at++
		case '\n':
			t.at++
			t.line++
		case '#':
			t.comment()
		default:
			return
		}
	}
}

func (t *toml) comment() {
	for t.at < len(t.text) && t.text[t.at] != '\n' {
		if control(t.text[t.at]) {
			t.fail("a comment holds a control character")
			return
		}
		t.at++
	}
}

func control(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

// lineEnd sees that nothing else stands on the line.
func (t *toml) lineEnd() {
	t.space()
	if t.peek(0) == '#' {
		t.comment()
	}
	if t.why == "" && t.at < len(t.text) && t.peek(0) != '\n' {
		t.fail("something follows the value on its line")
	}
}

// header reads [a.b] or [[a.b]], and returns the table that is meant.
func (t *toml) header(root *value) *value {
	t.at++
	member := t.peek(0) == '['
	if member {
		t.at++
	}
	keys := t.keys()
	t.space()
	if t.peek(0) != ']' || member && t.peek(1) != ']' {
		t.fail("the name of the table is not closed")
	}
	if t.at++; member {
		t.at++
	}
	here := root
	for i, key := range keys {
		if t.why != "" {
			return root
		}
		if i == len(keys)-1 {
			return t.open(here, key, member)
		}
		here = t.below(here, key)
	}
	return root
}

// below is the table key of a table that a header goes through.
func (t *toml) below(here *value, key string) *value {
	next := here.table[key]
	switch {
	case next == nil:
		next = newTable(madeAbove)
		here.table[key] = next
	case next.kind == valueList && next.made == madeMembers:
		next = next.list[len(next.list)-1]
	case next.kind != valueTable || next.made == madeInline:
		t.fail("%q is no table that can be added to", key)
		return newTable(madeHeader)
	}
	return next
}

// open is the table that a header begins.
func (t *toml) open(here *value, key string, member bool) *value {
	next := here.table[key]
	switch {
	case member && next == nil:
		next = &value{kind: valueList, made: madeMembers}
		here.table[key] = next
		fallthrough
	case member && next.kind == valueList && next.made == madeMembers:
		last := newTable(madeHeader)
		next.list = append(next.list, last)
		return last
	case member || next != nil && (next.kind != valueTable || next.made != madeAbove):
		t.fail("%q is there already", key)
		return newTable(madeHeader)
	case next == nil:
		next = newTable(madeHeader)
		here.table[key] = next
	}
	next.made = madeHeader
	return next
}

// pair reads key = value into a table.
func (t *toml) pair(here *value, depth int) {
	keys := t.keys()
	t.space()
	if t.peek(0) != '=' {
		t.fail("a key is not followed by =")
		return
	}
	t.at++
	t.space()
	v := t.value(depth)
	for i, key := range keys {
		if t.why != "" {
			return
		}
		next := here.table[key]
		switch {
		case i == len(keys)-1 && next == nil:
			here.table[key] = v
		case i < len(keys)-1 && next == nil:
			next = newTable(madeDotted)
			here.table[key] = next
		case i == len(keys)-1 || next.kind != valueTable || next.made != madeDotted:
			t.fail("%q is there already", key)
		}
		here = next
	}
}

// keys reads a.b."c".
func (t *toml) keys() []string {
	var keys []string
	for t.why == "" {
		t.space()
		switch t.peek(0) {
		case '"', '\'':
			keys = append(keys, t.quoted(false))
		default:
			begin := t.at
			for bare(t.peek(0)) {
				t.at++
			}
			if begin == t.at {
				t.fail("a key is expected")
			}
			keys = append(keys, string(t.text[begin:t.at]))
		}
		t.space()
		if len(keys) > maxNested {
			t.fail("a key has more than %d parts", maxNested)
		}
		if t.peek(0) != '.' {
			break
		}
		t.at++
	}
	return keys
}

func bare(c byte) bool { return letter(c) || digit(c) || c == '_' || c == '-' }

// at is the value below v by these keys; nil where there is none.
func (v *value) at(keys ...string) *value {
	for _, key := range keys {
		if v == nil || v.kind != valueTable {
			return nil
		}
		v = v.table[key]
	}
	return v
}

// string is the text of a string; empty for anything else.
func (v *value) string() string {
	if v == nil || v.kind != valueString {
		return ""
	}
	return v.text
}

// strings is the text of each string of an array, or of the one string.
func (v *value) strings() []string {
	if v == nil {
		return nil
	}
	if v.kind == valueString {
		return []string{v.text}
	}
	var all []string
	for _, one := range v.list {
		if one.kind == valueString {
			all = append(all, one.text)
		}
	}
	return all
}

// no reports whether v is false, and not only missing.
func (v *value) no() bool { return v != nil && v.kind == valueBool && v.text == "false" }
