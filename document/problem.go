package document

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// problemLimit is how many faults of one document are said: enough to mend a
// file that a person wrote, few enough that no hostile one costs anything.
const problemLimit = 50

// Problem is one fault of a document: where it is and what would be right.
type Problem struct {
	File   string // the file or the message
	Line   int    // from 1; 0 where there is no text to point into
	Column int    // from 1, in characters
	Path   string // "resources[0].path"; empty for the document itself
	What   string // what is wrong, or the fault in one word
	Want   string // what would be right, as a phrase; may be empty

	unknown bool // an unknown key
	misfit  bool // the value is missing or of another kind
	key     bool // the position is the key's, not the value's
}

// String is the problem on one line, in the form that editors jump to.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Line > 0 && p.Column > 0 {
		fmt.Fprintf(&b, ":%d", p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString("at " + p.Path + ": ")
	}
	b.WriteString(p.What)
	if p.Want != "" {
		b.WriteString("; " + p.Want)
	}
	return b.String()
}

// Short is text as it is shown in a problem: valid, and not longer than a line.
func Short(s string) string {
	const longest = 80
	s = strings.ToValidUTF8(s, "\ufffd")
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	return string([]rune(s)[:longest]) + "…"
}

// Printable is text from elsewhere that a sentence holds without quotes: short,
// and nothing that a terminal obeys.
func Printable(s string) string { return visible(Short(s)) }

// visible is s with all that is not a character to see written as an escape.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// shortPath is a path as it is shown: of one that a hostile key makes long, its
// two ends.
func shortPath(path string) string {
	const longest = 200
	if utf8.RuneCountInString(path) <= longest {
		return path
	}
	r := []rune(path)
	return string(r[:longest/2]) + "…" + string(r[len(r)-longest/2+1:])
}

// Problems is everything that was found wrong with one document, in its order.
type Problems []Problem

// Error is one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// ProblemsOf is what err says of a document, or nil where it is about something else.
func ProblemsOf(err error) Problems {
	var p Problems
	if errors.As(err, &p) {
		return p
	}
	return nil
}
