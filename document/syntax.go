package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A stumble is where the text stops being JSON.
type stumble struct {
	data   []byte
	at     int
	said   string // by the reader
	inKey  bool   // a key is due
	inside jsontext.Kind
}

// syntax says that the text is no JSON from here on.
func (w *walker) syntax(err error) error {
	var s *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) && !errors.As(err, &s):
		w.misfit(int64(len(w.data)), "want one JSON value", "the document is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		w.fault(int64(len(w.data)), "want the rest of it", "the document ends in the middle")
	case errors.As(err, &s):
		kind, length := w.dec.StackIndex(w.dec.StackDepth())
		here := stumble{
			data: w.data, at: int(min(s.ByteOffset, int64(len(w.data)))), said: s.Err.Error(),
			inKey: kind == '{' && length%2 == 0, inside: kind,
		}
		what, want := here.explain()
		w.fault(s.ByteOffset, want, what)
	default:
		w.fault(w.dec.InputOffset(), "", "no JSON: "+strconv.Quote(Short(err.Error())))
	}
	return errStop
}

// explain is what a person did who wrote this, and what JSON has instead.
func (s stumble) explain() (what, want string) {
	for _, f := range []func() (string, string){s.start, s.borrowed, s.inString, s.comma, s.between, s.word} {
		if what, want := f(); what != "" {
			return what, want
		}
	}
	return "no JSON: " + Short(s.said), ""
}

// start knows what is not meant to be JSON at all.
func (s stumble) start() (what, want string) {
	all := string(s.data[:min(len(s.data), 64)])
	switch {
	case strings.HasPrefix(all, "\ufeff"):
		return "a byte order mark stands before the document", "save it as UTF-8 without one"
	case strings.HasPrefix(all, "version https://git-lfs"):
		return "this is a pointer of Git LFS, and not the file itself", "keep this file out of LFS"
	}
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if strings.HasPrefix(s.rest(), mark) {
			return "there is a mark of a merge conflict", "resolve the conflict and take the marks out"
		}
	}
	return "", ""
}

// borrowed knows what other languages have and JSON has not.
func (s stumble) borrowed() (what, want string) {
	rest := s.rest()
	switch {
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"), strings.HasPrefix(rest, "#"):
		return "there is a comment", "take it out, JSON has none"
	case strings.HasPrefix(rest, "'"), strings.HasPrefix(rest, "`"):
		return "text stands in other quotes", `want double quotes, as "text"`
	case strings.HasPrefix(rest, "“"), strings.HasPrefix(rest, "”"), strings.HasPrefix(rest, "„"):
		return "text stands in curved quotes", `want straight double quotes, as "text"`
	case strings.HasPrefix(rest, "\x00"):
		return "there is a zero byte", "take it out"
	case strings.HasPrefix(rest, "\u00a0"):
		return "there is a no-break space", "want a plain space"
	}
	return "", ""
}

// inString knows what a string cannot hold as it is.
func (s stumble) inString() (what, want string) {
	switch {
	case !strings.Contains(s.said, "in string"):
		return "", ""
	case strings.Contains(s.said, "surrogate pair"):
		return "half of a surrogate pair stands alone in a string", "write the character itself"
	case strings.Contains(s.said, "escape sequence"):
		escape, _ := firstRunes(s.rest(), 2)
		return Short(escape) + " is no escape of JSON", `write \\ for a backslash`
	}
	switch c := s.byte(0); {
	case c == '\n' || c == '\r':
		return "the line ends inside a string", `close the string, or write \n where a line of it ends`
	case c == '\t':
		return "there is a tab inside a string", `write \t`
	case c < 0x20:
		return fmt.Sprintf("there is the control character 0x%02x inside a string", c), fmt.Sprintf(`write \u%04x`, c)
	}
	return "", ""
}

// comma knows commas that stand where none does.
func (s stumble) comma() (what, want string) {
	if s.byte(0) != ',' {
		return "", ""
	}
	after := bytes.TrimLeft(s.data[s.at+1:], " \t\r\n")
	if len(after) > 0 && (after[0] == '}' || after[0] == ']') {
		return "there is a comma with nothing after it", "take it out"
	}
	return "there is a comma with nothing before it", "take it out"
}

// between knows what is missing between two things, or stands there.
func (s stumble) between() (what, want string) {
	c := s.byte(0)
	switch {
	case strings.Contains(s.said, "expecting ':'"):
		return "there is no colon after the key", `want "key": value`
	case !strings.Contains(s.said, "expecting ',' or"):
		return "", ""
	case c == ':' && s.inside == '[':
		return "there is a key in a list", "want an object, in { and }"
	case c == ']' || c == '}':
		closes := map[jsontext.Kind]string{'{': "}", '[': "]"}[s.inside]
		return "there is " + string(c) + " where an open " + s.inside.String() + " ends", "want " + closes
	case c >= '0' && c <= '9' && s.byte(-1) == '0':
		return "a number begins with 0", "write it without"
	case slices.Contains([]byte(`"{[`), c), slices.Contains([]byte(" \t\r\n"), s.byte(-1)):
		return "there is no comma before this", "put one between the two"
	}
	return "", ""
}

// word knows what stands without quotes.
func (s stumble) word() (what, want string) {
	word, cut := s.bare()
	shown := strconv.Quote(word)
	if cut {
		shown = strconv.Quote(word + "…")
	}
	switch lower := strings.ToLower(word); {
	case word == "":
		return "", ""
	case s.inside == 0 && !s.inKey:
		return "the document is not JSON, it begins with " + shown, "want one JSON value"
	case s.inKey:
		return "the key " + shown + " has no quotes", "write it in double quotes"
	case lower == "true" || lower == "false" || lower == "null":
		return shown + " is no JSON", "write " + lower
	case lower == "none" || lower == "nil" || lower == "undefined":
		return shown + " is no JSON", "leave the key out"
	case strings.ContainsRune("+-.0123456789", rune(word[0])), lower == "nan", strings.HasPrefix(lower, "inf"):
		return shown + " is no number of JSON", "want digits, as 8080"
	}
	return shown + " has no quotes", "write text in double quotes"
}

// bare is the word that stands here, and whether it goes on.
func (s stumble) bare() (word string, cut bool) {
	rest := s.rest()
	end := strings.IndexFunc(rest, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+-._", r)
	})
	if end < 0 {
		end = len(rest)
	}
	return firstRunes(rest[:end], 40)
}

func (s stumble) rest() string { return string(s.data[s.at:min(len(s.data), s.at+256)]) }

// byte is the one this far from the stumble, or 0.
func (s stumble) byte(off int) byte {
	if i := s.at + off; i >= 0 && i < len(s.data) {
		return s.data[i]
	}
	return 0
}

// firstRunes is at most this many characters of s, and whether there are more.
func firstRunes(s string, most int) (first string, more bool) {
	s = strings.ToValidUTF8(s, "\ufffd")
	if utf8.RuneCountInString(s) <= most {
		return s, false
	}
	return string([]rune(s)[:most]), true
}
