package ignore

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Limit is how many bytes such a file may have, and how many lines say something.
const (
	Limit    = 1 << 20
	maxLines = 10_000
	maxLine  = 4096
)

// List is what is left out of a folder. The zero list leaves nothing out.
type List struct {
	patterns []pattern
	back     bool // something is taken back
}

// pattern is one line.
type pattern struct {
	back bool // it takes back
	fits func(string) bool
}

// Refusal is a line that is no pattern.
type Refusal struct {
	Path string
	Line int
	Why  string
}

// Error is the refusal with its place.
func (r *Refusal) Error() string { return fmt.Sprintf("%s:%d: %s", r.Path, r.Line, r.Why) }

// Read reads a file. A line that is no pattern is named.
func Read(file string, text []byte) (List, error) {
	var l List
	if len(text) > Limit || !utf8.Valid(text) {
		return l, fault.New(fault.Invalid, "%s: want UTF-8 of at most %d bytes", file, Limit)
	}
	for n, line := range strings.Split(string(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "#") {
			continue
		}
		p, is, err := parse(line)
		if err == nil && is && len(l.patterns) == maxLines {
			err = fault.New(fault.Invalid, "more than %d lines", maxLines)
		}
		if err != nil {
			return List{}, &fault.Error{Kind: fault.Invalid, Err: &Refusal{file, n + 1, err.Error()}}
		}
		if is {
			l.patterns, l.back = append(l.patterns, p), l.back || p.back
		}
	}
	return l, nil
}

// parse reads one line; not is: it says nothing.
func parse(line string) (p pattern, is bool, err error) {
	line = strings.TrimSpace(line)
	if len(line) > maxLine {
		return p, false, fault.New(fault.Invalid, "a pattern of more than %d bytes", maxLine)
	}
	line, p.back = strings.CutPrefix(line, "!")
	line = strings.TrimSpace(line)
	switch {
	case line == "" && p.back:
		return p, false, fault.New(fault.Invalid, "! takes back nothing: a pattern follows it")
	case line == "":
		return p, false, nil
	}
	if line = path.Clean(line); len(line) > 1 {
		line = strings.TrimSpace(strings.TrimPrefix(line, "/"))
	}
	if !p.back { // as Docker has it: /!x is !x
		line, p.back = strings.CutPrefix(line, "!")
	}
	if p.back && (line == "" || line == "/") {
		return p, false, fault.New(fault.Invalid, "! takes back nothing: a pattern follows it")
	}
	if _, err := path.Match(line, "."); err != nil {
		return p, false, fault.New(fault.Invalid, "%q is no pattern: an open [ or a \\ at its end", document.Short(line))
	}
	p.fits, err = compile(line)
	return p, true, err
}

// compile is a pattern as what it fits.
func compile(line string) (func(string) bool, error) {
	rest, begins := strings.CutPrefix(line, "**")
	switch {
	case !strings.ContainsAny(line, `*?[]\`):
		return func(file string) bool { return file == line }, nil
	case begins && !strings.ContainsAny(rest, `*?[]\`): // of a name too: **.go
		name, folder := strings.CutPrefix(rest, "/")
		return func(file string) bool { return strings.HasSuffix(file, rest) || folder && file == name }, nil
	}
	if begin, ends := strings.CutSuffix(line, "**"); ends && !strings.ContainsAny(begin, `*?[]\`) {
		return func(file string) bool { return strings.HasPrefix(file, begin) }, nil
	}
	re, err := regexp.Compile("^" + expression(line) + "$")
	if err != nil {
		return nil, fault.New(fault.Invalid, "%q is no pattern", document.Short(line))
	}
	return re.MatchString, nil
}

// expression is a pattern as a regular expression.
func expression(line string) string {
	var b strings.Builder
	for at := 0; at < len(line); {
		c, n := utf8.DecodeRuneInString(line[at:])
		at += n
		switch {
		case c == '*' && strings.HasPrefix(line[at:], "*"):
			at += len("*")
			if strings.HasPrefix(line[at:], "/") {
				at += len("/")
			}
			if at == len(line) {
				b.WriteString(".*")
			} else {
				b.WriteString("(.*/)?")
			}
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '\\' && at < len(line):
			c, n = utf8.DecodeRuneInString(line[at:])
			at += n
			b.WriteString(regexp.QuoteMeta(string(c)))
		case strings.ContainsRune(".+()|{}$", c):
			b.WriteString(`\` + string(c))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Empty reports whether nothing is left out.
func (l List) Empty() bool { return len(l.patterns) == 0 }

// Leaves reports whether a path below the folder is left out.
func (l List) Leaves(file string) bool {
	out := false
	for _, p := range l.patterns {
		if p.back == out && p.over(file) {
			out = !p.back
		}
	}
	return out
}

// Back reports whether below a folder that is left out there may be what is not.
func (l List) Back() bool { return l.back }

// over reports whether a pattern fits a path, or a folder above it.
func (p pattern) over(file string) bool {
	for {
		if p.fits(file) {
			return true
		}
		at := strings.LastIndexByte(file, '/')
		if at < 0 {
			return false
		}
		file = file[:at]
	}
}

// Names is where what is left out of a folder is said for a container file, by
// paths of the tree, the first that is there: beside the file before in the folder.
func Names(file, folder string) []string {
	return append(Beside(file), Within(folder)...)
}

// Beside is those of the container file alone.
func Beside(file string) []string { return []string{file + ".containerignore", file + ".dockerignore"} }

// Within is those of the folder.
func Within(folder string) []string {
	return []string{path.Join(folder, ".containerignore"), path.Join(folder, ".dockerignore")}
}
