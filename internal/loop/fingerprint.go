package loop

import (
	"strings"

	"noxmesh/internal/fault"
)

// longHex is from how many characters on a word of hex digits is an id and not a word.
const longHex = 7

// Fingerprint is what makes two failures of one key alike: their kind, and their
// words without what changes from one try to the next (numbers, digests, ports,
// durations).
func Fingerprint(err error) string {
	var b strings.Builder
	b.WriteString(fault.KindOf(err).String())
	b.WriteString(": ")
	text := err.Error()
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && isWord(text[end]) {
			end++
		}
		if end == i {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(fixed(text[i:end]))
		i = end
	}
	return b.String()
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// fixed is a word without what varies in it: "#" for an id in hex, and each run
// of digits as one "#".
func fixed(word string) string {
	if len(word) >= longHex && strings.ContainsAny(word, "0123456789") && strings.Trim(word, "0123456789abcdefABCDEF") == "" {
		return "#"
	}
	var b strings.Builder
	digits := false
	for _, c := range []byte(word) {
		isDigit := c >= '0' && c <= '9'
		if !isDigit {
			b.WriteByte(c)
		} else if !digits {
			b.WriteByte('#')
		}
		digits = isDigit
	}
	return b.String()
}
