package mounts

import (
	"path"
	"strconv"
	"strings"
)

// Entry is a line of fstab: what is mounted where.
type Entry struct {
	Source, Path, Type, Options string

	rest string // how often it is dumped, and when it is checked, as it is written
}

// Table is the text of fstab.
type Table struct{ lines []string }

// ParseTable is a table, whatever its text is.
func ParseTable(text string) Table {
	var t Table
	for line := range strings.Lines(text) {
		t.lines = append(t.lines, line)
	}
	return t
}

// String is the table's text.
func (t Table) String() string { return strings.Join(t.lines, "") }

// Of is the lines about this path.
func (t Table) Of(p string) []Entry {
	var all []Entry
	for _, line := range t.lines {
		if e, ok := parseEntry(line); ok && e.Path == p {
			all = append(all, e)
		}
	}
	return all
}

// With is the table with this line for its path: in the place of the first one that
// it has, or at its end.
func (t Table) With(e Entry) Table {
	out := Table{lines: make([]string, 0, len(t.lines)+1)}
	done := false
	for _, line := range t.lines {
		old, ok := parseEntry(line)
		if ok && old.Path == e.Path && !done {
			e.rest, done = old.rest, true
			line = e.line()
		}
		out.lines = append(out.lines, line)
	}
	if done {
		return out
	}
	if n := len(out.lines); n > 0 && !strings.HasSuffix(out.lines[n-1], "\n") {
		out.lines[n-1] += "\n"
	}
	out.lines = append(out.lines, e.line())
	return out
}

// Without is the table without the lines about this path.
func (t Table) Without(p string) Table {
	var out Table
	for _, line := range t.lines {
		if e, ok := parseEntry(line); !ok || e.Path != p {
			out.lines = append(out.lines, line)
		}
	}
	return out
}

// Same reports whether two lines mount the same in the same way.
func (e Entry) Same(o Entry) bool {
	return e.Source == o.Source && e.Path == o.Path && e.Type == o.Type && e.Options == o.Options
}

// String is the line, as far as it says what is mounted.
func (e Entry) String() string {
	return escape(e.Source) + " " + escape(e.Path) + " " + escape(e.Type) + " " + escape(e.Options)
}

// Shown is String for whoever may see no password.
func (e Entry) Shown() string {
	options := strings.Split(e.Options, ",")
	for i, option := range options {
		if key, _, ok := strings.Cut(option, "="); ok && strings.HasPrefix(key, "pass") {
			options[i] = key + "=***"
		}
	}
	e.Options = strings.Join(options, ",")
	return e.String()
}

func (e Entry) line() string {
	rest := e.rest
	if rest == "" {
		rest = "0 0"
	}
	return e.String() + " " + rest + "\n"
}

// parseEntry reads a line, where it is one.
func parseEntry(line string) (Entry, bool) {
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	if len(fields) < 3 || fields[0][0] == '#' {
		return Entry{}, false
	}
	e := Entry{Source: unescape(fields[0]), Path: unescape(fields[1]), Type: unescape(fields[2]), Options: "defaults"}
	if len(fields) > 3 {
		e.Options = unescape(fields[3])
	}
	if len(fields) > 4 {
		e.rest = strings.Join(fields[4:], " ")
	}
	if strings.HasPrefix(e.Path, "/") {
		e.Path = path.Clean(e.Path)
	}
	return e, true
}

// escape is a word as it stands in fstab.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r', '\\', '#':
			b.WriteString(`\` + string([]byte{'0' + c>>6, '0' + c>>3&7, '0' + c&7}))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescape is a word of fstab or of the kernel's, as it is meant.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
