package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean is s on one line, with everything that a terminal obeys made visible:
// controls, escapes, line ends, marks that turn the direction of text, and bytes
// that are no UTF-8.
func Clean(s string) string { return clean(s, "") }

// CleanText is like Clean, but keeps line ends and tabs: for text of many lines,
// such as a build's log.
func CleanText(s string) string { return clean(s, "\n\t") }

func clean(s, keep string) string {
	if !dirty(s, keep) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strings.ContainsRune(keep, r) || !unsafe(r):
			b.WriteRune(r)
		default:
			b.WriteString(visible(r))
		}
		i += n
	}
	return b.String()
}

func dirty(s, keep string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unsafe(r) && !strings.ContainsRune(keep, r)
	})
}

// visible is an unsafe rune as a person may read it.
func visible(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// unsafe reports whether a terminal or a reader would do with r something else
// than show it: C0, DEL and C1, line and paragraph separators, marks and
// overrides of direction, and characters that take no room.
func unsafe(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	case r == '\u061c', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u200e', r == '\u200f':
		return true
	case r == '\u00ad', r == '\u200b', r >= '\u2060' && r <= '\u2064', r == '\ufeff':
		return true
	}
	return false
}

// columns is how many columns a cleaned string takes on a terminal.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += width(r)
	}
	return n
}

// width is the columns of one rune: none for a mark that joins the one before,
// two for the wide scripts and emoji.
func width(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200d':
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf,
		r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f,
		r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// cut is a cleaned string in at most this many columns, with an ellipsis where
// something is left out.
func cut(s string, room int) string {
	if columns(s) <= room {
		return s
	}
	if room < 1 {
		return ""
	}
	n := 0
	for i, r := range s {
		n += width(r)
		if n > room-1 {
			return s[:i] + "…"
		}
	}
	return s
}
