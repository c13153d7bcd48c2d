package javascript

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unquote is what a string says, its quotes and escapes taken off.
func unquote(src []byte) string {
	s := string(src[1 : len(src)-1])
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		out.WriteString(before)
		if !found || after == "" {
			return out.String()
		}
		said, rest := escaped(after)
		out.WriteString(said)
		s = rest
	}
}

// escaped is what stands for the escape that s begins with, behind its backslash, and the rest.
func escaped(s string) (said, rest string) {
	switch s[0] {
	case 'x':
		return codepoint(s[1:], 2)
	case 'u':
		if closing := strings.IndexByte(s[:min(len(s), 32)], '}'); closing > 1 && s[1] == '{' {
			said, _ := codepoint(s[2:closing], closing-2)
			return said, s[closing+1:]
		}
		return codepoint(s[1:], 4)
	case '\r':
		return "", strings.TrimPrefix(s[1:], "\n")
	case '\n':
		return "", s[1:]
	case '0', '1', '2', '3', '4', '5', '6', '7':
		size := 1
		for size < len(s) && size < 3 && '0' <= s[size] && s[size] <= '7' {
			size++
		}
		n, _ := strconv.ParseUint(s[:size], 8, 16)
		return string(rune(n)), s[size:]
	}
	if i := strings.IndexByte("bfnrtv", s[0]); i >= 0 {
		return "\b\f\n\r\t\v"[i : i+1], s[1:]
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == '\u2028' || r == '\u2029' {
		return "", s[size:]
	}
	return s[:size], s[size:]
}

// codepoint is the character of so many hexadecimal digits, and what comes behind them.
func codepoint(s string, digits int) (said, rest string) {
	if len(s) < digits {
		return "", ""
	}
	n, err := strconv.ParseUint(s[:digits], 16, 32)
	if err != nil {
		return "", s[digits:]
	}
	return string(rune(n)), s[digits:]
}
