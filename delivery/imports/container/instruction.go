package container

import (
	"encoding/json"
	"strings"
	"unicode"
)

// instruction is one instruction of a container file.
type instruction struct {
	line   int
	name   string       // in upper case
	flags  []string     // --from=builder
	rest   string       // what stands after the flags
	later  *instruction // of ONBUILD, what is run later
	escape rune
}

// text is a container file in lines, of which some have been read.
type text struct {
	lines  []string
	read   int
	escape rune
}

// instructions is the file's instructions in order, each on one line, without
// comments and without the bodies of here-documents.
func (r *reader) instructions(file string) []instruction {
	t := &text{lines: strings.Split(strings.TrimPrefix(file, "\ufeff"), "\n"), escape: '\\'}
	r.directives(t)
	var all []instruction
	for {
		line, number, ok := t.logical()
		if !ok {
			return all
		}
		i, why := t.split(line, number, true)
		if why != "" {
			r.fault(number, "%s", why)
		}
		all = append(all, i)
		if !i.documents() || !strings.Contains(line, "<<") {
			continue
		}
		for _, d := range documents(line) {
			if !t.skip(d) {
				r.fault(number, "the here-document that ends with %q does not end", d.end)
				return all
			}
		}
	}
}

// logical is the next instruction with the lines it goes on in, and the number of
// the first of them.
func (t *text) logical() (line string, number int, ok bool) {
	for t.read < len(t.lines) {
		number = t.read + 1
		first := strings.TrimLeftFunc(t.next(), unicode.IsSpace)
		if first == "" || first[0] == '#' {
			continue
		}
		first, more := t.continues(first)
		if !more {
			return first, number, true
		}
		return t.joined(first), number, true
	}
	return "", 0, false
}

// joined is a line and those that it goes on in. Comments and empty lines between
// them do not end it.
func (t *text) joined(first string) string {
	var b strings.Builder
	b.WriteString(first)
	for more := true; more && t.read < len(t.lines); {
		line := t.next()
		bare := strings.TrimLeftFunc(line, unicode.IsSpace)
		if bare == "" || bare[0] == '#' {
			continue
		}
		line, more = t.continues(line)
		b.WriteString(line)
	}
	return b.String()
}

func (t *text) next() string {
	line := strings.TrimRight(t.lines[t.read], "\r")
	t.read++
	return line
}

// continues is a line without the escape at its end, and whether there was one. Two
// escapes are none.
func (t *text) continues(line string) (string, bool) {
	bare := strings.TrimRight(line, " \t")
	escape := string(t.escape)
	if !strings.HasSuffix(bare, escape) || strings.HasSuffix(bare, escape+escape) {
		return line, false
	}
	return strings.TrimSuffix(bare, escape), true
}

// skip reads over a here-document, and reports whether it ends.
func (t *text) skip(d document) bool {
	for t.read < len(t.lines) {
		line := t.next()
		if d.tabs {
			line = strings.TrimLeft(line, "\t")
		}
		if line == d.end {
			return true
		}
	}
	return false
}

// split is a line as an instruction, and why it is none.
func (t *text) split(line string, number int, outer bool) (i instruction, why string) {
	i.line, i.escape = number, t.escape
	line = strings.TrimSpace(line)
	name, rest := line, ""
	if at := strings.IndexAny(line, blank); at >= 0 {
		name, rest = line[:at], strings.TrimLeft(line[at:], blank)
	}
	i.name = strings.ToUpper(name)
	i.flags, i.rest = flags(rest, t.escape)
	switch {
	case !known(i.name):
		return instruction{line: number}, "there is no instruction " + quote(name)
	case (i.name == "ONBUILD" || i.name == "FROM" || i.name == "MAINTAINER") && !outer:
		return instruction{line: number}, "ONBUILD cannot be followed by " + i.name
	case i.name == "ONBUILD":
		later, why := t.split(i.rest, number, false)
		i.later = &later
		return i, why
	}
	return i, ""
}

func known(name string) bool {
	switch name {
	case "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL",
		"MAINTAINER", "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR":
		return true
	}
	return false
}

// documents reports whether here-documents may follow: after RUN, COPY and ADD,
// where their words are not given as JSON.
func (i instruction) documents() bool {
	if i.later != nil {
		i = *i.later
	}
	if i.name != "RUN" && i.name != "COPY" && i.name != "ADD" {
		return false
	}
	rest := strings.TrimLeftFunc(i.rest, unicode.IsSpace)
	if !strings.HasPrefix(rest, "[") {
		return true
	}
	var words []string
	return json.Unmarshal([]byte(rest), &words) != nil
}

// document is a here-document: it ends with a line of its own.
type document struct {
	end  string
	tabs bool // tabs before its lines are left out
}

// documents is the here-documents that a line announces, in their order.
func documents(line string) []document {
	words, err := (&expansion{text: line, escape: '\\', quotes: true, escapes: true, unsets: true, budget: new(maxWork)}).words()
	if err != nil {
		return nil
	}
	var all []document
	for _, word := range words {
		word, ok := strings.CutPrefix(strings.TrimLeft(word, "0123456789"), "<<")
		if !ok {
			continue
		}
		word, tabs := strings.CutPrefix(word, "-")
		word = strings.TrimLeft(word, "\t\n\f\r ")
		if word == "" || strings.Contains(word, "<") {
			continue
		}
		end, err := (&expansion{text: word, escape: '\\', unsets: true, budget: new(maxWork)}).words()
		if err == nil && len(end) == 1 {
			all = append(all, document{end: end[0], tabs: tabs})
		}
	}
	return all
}
