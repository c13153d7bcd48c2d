package rust

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNested is how deep tables and lists may stand in each other.
const maxNested = 64

// value is a value of TOML: a text, a list or a table. Of numbers and dates only the
// text is kept: no manifest means anything by them here.
type value struct {
	line  int
	text  string
	list  []*value
	table map[string]*value
	keys  []string // of the table, in order
}

// at is what stands at a path of keys, or nil.
func (v *value) at(keys ...string) *value {
	for _, key := range keys {
		if v == nil {
			return nil
		}
		v = v.table[key]
	}
	return v
}

// said is the text at a path of keys, or "".
func (v *value) said(keys ...string) string {
	if v = v.at(keys...); v == nil {
		return ""
	}
	return v.text
}

// toml is a document of TOML as it is read.
type toml struct {
	text string
	at   int
	line int
	root *value
}

type tomlError struct {
	line int
	why  string
}

func (e tomlError) Error() string { return e.why }

func (d *toml) wrong(format string, args ...any) error {
	return tomlError{d.line, fmt.Sprintf(format, args...)}
}

// decodeTOML is the table that a document is.
func decodeTOML(text string) (*value, error) {
	d := &toml{text: strings.TrimPrefix(text, "\ufeff"), line: 1, root: &value{line: 1, table: map[string]*value{}}}
	into := d.root
	for {
		d.gap(true)
		if d.at == len(d.text) {
			return d.root, nil
		}
		var err error
		if d.text[d.at] == '[' {
			into, err = d.header()
		} else {
			err = d.pair(into, 0)
		}
		if err == nil {
			err = d.lineEnd()
		}
		if err != nil {
			return nil, err
		}
	}
}

// gap reads over blanks, and where lines are told too over comments and empty lines.
func (d *toml) gap(lines bool) {
	for d.at < len(d.text) {
		switch c := d.text[d.at]; {
		case c == ' ' || c == '\t':
		case lines && (c == '\n' || c == '\r'):
			if c == '\n' {
				d.line++
			}
		case lines && c == '#':
			for d.at+1 < len(d.text) && d.text[d.at+1] != '\n' {
				d.at++
			}
		default:
			return
		}
		d.at++
	}
}

func (d *toml) lineEnd() error {
	d.gap(false)
	if rest := d.text[d.at:]; rest != "" && !strings.ContainsRune("#\r\n", rune(rest[0])) {
		return d.wrong("there is more on a line that is over: %s", shown(rest))
	}
	return nil
}

// shown is the beginning of a text on one line, for people.
func shown(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return strconv.Quote(strings.TrimSpace(s))
}

// take reads over a text if it comes next.
func (d *toml) take(s string) bool {
	if !strings.HasPrefix(d.text[d.at:], s) {
		return false
	}
	d.at += len(s)
	return true
}

// header is [table] or [[one more of tables]].
func (d *toml) header() (*value, error) {
	closing := "]"
	d.at++
	if d.take("[") {
		closing = "]]"
	}
	keys, err := d.key()
	if err != nil {
		return nil, err
	}
	if !d.take(closing) {
		return nil, d.wrong("%s is missing behind %s", closing, strings.Join(keys, "."))
	}
	if closing == "]" {
		return d.into(d.root, keys)
	}
	last := len(keys) - 1
	in, err := d.into(d.root, keys[:last])
	if err != nil {
		return nil, err
	}
	list, ok := in.table[keys[last]]
	if !ok {
		list = &value{line: d.line}
		in.put(keys[last], list)
	}
	if list.table != nil || list.text != "" {
		return nil, d.wrong("%s is no list", strings.Join(keys, "."))
	}
	one := &value{line: d.line, table: map[string]*value{}}
	list.list = append(list.list, one)
	return one, nil
}

func (v *value) put(key string, to *value) {
	if _, ok := v.table[key]; !ok {
		v.keys = append(v.keys, key)
	}
	v.table[key] = to
}

// into is the table at a path, made where there is none. Of a list it is the last.
func (d *toml) into(v *value, keys []string) (*value, error) {
	if len(keys) > maxNested {
		return nil, d.wrong("tables stand in each other more than %d deep", maxNested)
	}
	for _, key := range keys {
		next, ok := v.table[key]
		if !ok {
			next = &value{line: d.line, table: map[string]*value{}}
			v.put(key, next)
		}
		if n := len(next.list); n > 0 {
			next = next.list[n-1]
		}
		if next.table == nil {
			return nil, d.wrong("%q is no table", key)
		}
		v = next
	}
	return v, nil
}

// key is a key with its dots, and what stands around it.
func (d *toml) key() ([]string, error) {
	var keys []string
	for {
		d.gap(false)
		part, err := d.keyPart()
		if err != nil {
			return nil, err
		}
		keys = append(keys, part)
		d.gap(false)
		if !d.take(".") {
			return keys, nil
		}
	}
}

func (d *toml) keyPart() (string, error) {
	if rest := d.text[d.at:]; rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		return d.quoted()
	}
	from := d.at
	for d.at < len(d.text) {
		c, n := utf8.DecodeRuneInString(d.text[d.at:])
		if !bare(c) {
			break
		}
		d.at += n
	}
	if from == d.at {
		return "", d.wrong("a key is missing before %s", shown(d.text[d.at:]))
	}
	return d.text[from:d.at], nil
}

func bare(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c > 0x7f
}

// pair is key = value.
func (d *toml) pair(into *value, depth int) error {
	line := d.line
	keys, err := d.key()
	if err != nil {
		return err
	}
	if !d.take("=") {
		return d.wrong("= is missing behind %s", strings.Join(keys, "."))
	}
	v, err := d.value(depth)
	if err != nil {
		return err
	}
	in, err := d.into(into, keys[:len(keys)-1])
	if err != nil {
		return err
	}
	v.line = line
	in.put(keys[len(keys)-1], v)
	return nil
}

func (d *toml) value(depth int) (*value, error) {
	if depth > maxNested {
		return nil, d.wrong("values stand in each other more than %d deep", maxNested)
	}
	d.gap(false)
	v := &value{line: d.line}
	var err error
	switch rest := d.text[d.at:]; {
	case rest == "":
		return nil, d.wrong("a value is missing")
	case rest[0] == '"' || rest[0] == '\'':
		v.text, err = d.quoted()
	case rest[0] == '[':
		err = d.items(v, "]", func() error {
			item, err := d.value(depth + 1)
			v.list = append(v.list, item)
			return err
		})
	case rest[0] == '{':
		v.table = map[string]*value{}
		err = d.items(v, "}", func() error { return d.pair(v, depth+1) })
	default:
		n := strings.IndexAny(rest+"\n", ",]}#\r\n\t")
		if v.text = strings.TrimSpace(rest[:n]); v.text == "" {
			return nil, d.wrong("a value is missing before %s", shown(rest))
		}
		d.at += n
	}
	return v, err
}

// items is what stands between two brackets, with commas.
func (d *toml) items(v *value, closing string, item func() error) error {
	d.at++
	for {
		d.gap(true)
		if d.take(closing) {
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		d.gap(true)
		if !d.take(",") && !strings.HasPrefix(d.text[d.at:], closing) {
			return d.wrong("%s is missing: the bracket in line %d is not closed", closing, v.line)
		}
	}
}

// quoted is a text in quotes, of one line or of several.
func (d *toml) quoted() (string, error) {
	from, quote := d.line, d.text[d.at:d.at+1]
	if d.take(strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	} else {
		d.at++
	}
	var out strings.Builder
	for d.at < len(d.text) {
		if d.take(quote) {
			return out.String() + d.more(quote), nil
		}
		c := d.text[d.at]
		d.at++
		switch {
		case c == '\n' && len(quote) == 1:
			return "", d.wrong("a text is not closed on its line")
		case c == '\\' && quote[0] == '"':
			if err := d.escaped(&out); err != nil {
				return "", err
			}
			continue
		case c == '\n':
			d.line++
		}
		out.WriteByte(c)
	}
	return "", d.wrong("the text that begins in line %d is not closed", from)
}

// more is the quotes that may still stand at the end of a text of several lines.
func (d *toml) more(quote string) string {
	more := ""
	for len(quote) == 3 && len(more) < 2 && d.take(quote[:1]) {
		more += quote[:1]
	}
	return more
}

// escaped is what an escape stands for; of its value only what a name may hold matters.
func (d *toml) escaped(out *strings.Builder) error {
	if d.at == len(d.text) {
		return nil
	}
	c := d.text[d.at]
	d.at++
	digits := map[byte]int{'u': 4, 'U': 8, 'x': 2}[c]
	switch {
	case digits > 0:
		if d.at+digits > len(d.text) {
			return d.wrong("an escape is cut off")
		}
		n, err := strconv.ParseUint(d.text[d.at:d.at+digits], 16, 32)
		if err != nil {
			return d.wrong("\\%c is followed by %d digits", c, digits)
		}
		d.at += digits
		out.WriteRune(rune(n))
	case c == '\n':
		d.line++
	case strings.IndexByte(`"\btnfre`, c) >= 0:
		out.WriteByte(c)
	case c != ' ' && c != '\t' && c != '\r':
		return d.wrong("\\%c is no escape", c)
	}
	return nil
}
