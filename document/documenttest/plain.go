package documenttest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Plain fails where an error cannot be shown to a person as it is: it has at
// most 60 lines of at most 2 KiB, valid, and nothing that a terminal obeys.
func Plain(t reporter, err error) {
	t.Helper()
	for _, text := range []string{err.Error(), fault.HintOf(err)} {
		if n := strings.Count(text, "\n"); n > 60 {
			t.Errorf("an error of %d lines", n)
		}
		for line := range strings.SplitSeq(text, "\n") {
			switch {
			case len(line) > 2<<10:
				t.Errorf("a line of %d bytes: %q", len(line), document.Short(line))
			case !utf8.ValidString(line), strings.ContainsFunc(line, obeyed):
				t.Errorf("a line that a terminal obeys: %q", line)
			}
		}
	}
}

// obeyed reports whether r is anything but a character to see.
func obeyed(r rune) bool { return !unicode.IsPrint(r) }
