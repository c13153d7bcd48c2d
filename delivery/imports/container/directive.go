package container

import (
	"slices"
	"strings"
	"unicode"
)

// directives reads "# escape=" before the first instruction, where it is one.
func (r *reader) directives(t *text) {
	var seen []string
	for n, line := range t.lines {
		key, value := directive(strings.TrimLeftFunc(strings.TrimRight(line, "\r"), unicode.IsSpace), "#")
		if key == "" {
			return
		}
		if slices.Contains(seen, key) {
			r.fault(n+1, "# %s= is said twice", key)
			return
		}
		seen = append(seen, key)
		if key != "escape" {
			continue
		}
		if value != "`" && value != `\` {
			r.fault(n+1, "# escape= is ` or \\, not %s", quote(value))
			return
		}
		t.escape = rune(value[0])
	}
}

// syntax reads "# syntax=": the image that the builder pulls to read the file. It
// may stand after a first line that says which program runs the file, and may be
// written as other languages write comments.
func (r *reader) syntax(file string) {
	lines := strings.SplitAfterN(strings.TrimPrefix(file, "\ufeff"), "\n", 8)
	first := 0
	if strings.HasPrefix(lines[0], "#!") {
		first = 1
	}
	for _, comment := range []string{"#", "//"} {
		for n, line := range lines[first:] {
			key, value := directive(strings.TrimRight(line, "\r\n"), comment)
			if key == "" {
				break
			}
			if key == "syntax" {
				value, _, _ = strings.Cut(value, " ")
				r.image(first+n+1, "# syntax=", value, nil)
				return
			}
		}
	}
}

// directive is what a comment tells the builder: "# key=value", or nothing.
func directive(line, comment string) (key, value string) {
	line, ok := strings.CutPrefix(line, comment)
	if !ok {
		return "", ""
	}
	key, value, ok = strings.Cut(strings.TrimLeftFunc(line, unicode.IsSpace), "=")
	key, value = strings.ToLower(strings.TrimRight(key, space)), strings.Trim(value, space)
	if !ok || value == "" || !slices.Contains([]string{"syntax", "escape", "check"}, key) {
		return "", ""
	}
	return key, value
}
