package container

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	blank = "\t\v\f\r " // what parts the words of an instruction
	space = "\t\n\f\r " // what stands around the parts of a directive
	end   = rune(-1)    // no rune: a text is over
	shown = 60          // bytes of somebody's text in a fault, so that it stays a line
)

// quote is somebody's text as a fault shows it.
func quote(s string) string {
	if len(s) > shown {
		s = strings.ToValidUTF8(s[:shown], "") + "…"
	}
	return strconv.Quote(s)
}

// blanks is the words of s.
func blanks(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(blank, r) })
}

// flags is the --flags at the beginning of what follows an instruction's name, and
// what follows them.
func flags(s string, escape rune) (all []string, rest string) {
	for {
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
		if !strings.HasPrefix(s, "--") {
			return all, strings.TrimSpace(s)
		}
		var word string
		word, s = flag(s, escape)
		if word == "--" {
			return all, strings.TrimSpace(s)
		}
		all = append(all, word)
	}
}

// flag is the word at the beginning of s, without its quotes and escapes.
func flag(s string, escape rune) (word, rest string) {
	var b strings.Builder
	quoted := end
	escaped := false
	for at, c := range s {
		switch {
		case escaped:
			escaped = false
			b.WriteRune(c)
		case c == escape:
			escaped = true
		case c == quoted:
			quoted = end
		case quoted == end && (c == '\'' || c == '"'):
			quoted = c
		case quoted == end && unicode.IsSpace(c):
			return b.String(), s[at:]
		default:
			b.WriteRune(c)
		}
	}
	return b.String(), ""
}

// words is the words of ARG and ENV, with their quotes and escapes.
func words(s string, escape rune) []string {
	var all []string
	for {
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
		if s == "" {
			return all
		}
		n := wordEnd(s, escape)
		if word := trailing(s[:n], escape, n == len(s)); word != "" {
			all = append(all, word)
		}
		s = s[n:]
	}
}

// wordEnd is where the first word of s ends.
func wordEnd(s string, escape rune) int {
	quoted := end
	for at := 0; at < len(s); {
		c, n := utf8.DecodeRuneInString(s[at:])
		at += n
		switch {
		case c == escape && quoted != '\'':
			_, n = utf8.DecodeRuneInString(s[at:])
			at += n
		case c == quoted:
			quoted = end
		case quoted == end && (c == '\'' || c == '"'):
			quoted = c
		case quoted == end && unicode.IsSpace(c):
			return at - n
		}
	}
	return len(s)
}

// trailing is the last word of a line without an escape that has nothing to escape.
func trailing(word string, escape rune, last bool) string {
	bare := strings.TrimSuffix(word, string(escape))
	if n := len(word) - len(strings.TrimRight(word, string(escape))); !last || n%2 == 0 {
		return word
	}
	return bare
}
