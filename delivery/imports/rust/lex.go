package rust

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind byte

const (
	punct kind = iota
	ident
	raw // r#name, which is never a keyword
	text
	other // numbers, characters, lifetimes
	opens
	closes
)

// token is a token of Rust. Of what opens or closes, mate is where the other one is.
type token struct {
	kind kind
	text string // of a text what stands between its quotes, escapes and all
	line int
	from int // in bytes
	mate int
}

func (t token) end() int {
	return t.from + len(t.text)
}

// lexer makes tokens of a file. Comments are none.
type lexer struct {
	src    string
	at     int
	line   int
	tokens []token
	open   []int
}

// wrong is why a file is not Rust.
type wrong struct {
	line int
	why  string
}

// lex is the tokens of a file.
func lex(src string) ([]token, *wrong) {
	l := &lexer{src: src, at: len(src) - len(strings.TrimPrefix(src, "\ufeff")), line: 1}
	if strings.HasPrefix(l.src[l.at:], "#!") && !attribute(l.src[l.at+2:]) {
		l.skipTo("\n")
	}
	for l.at < len(l.src) {
		if w := l.one(); w != nil {
			return nil, w
		}
	}
	if n := len(l.open); n > 0 {
		t := l.tokens[l.open[n-1]]
		return nil, &wrong{t.line, "the " + t.text + " in this line is not closed"}
	}
	return l.tokens, nil
}

// attribute reports whether #! begins one, and no line for the kernel.
func attribute(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "[")
}

func (l *lexer) skipTo(s string) {
	if n := strings.Index(l.src[l.at:], s); n >= 0 {
		l.at += n
		return
	}
	l.at = len(l.src)
}

func (l *lexer) add(k kind, from int, s string, line int) {
	l.tokens = append(l.tokens, token{kind: k, text: s, line: line, from: from})
}

// one reads the next token, or what is none.
func (l *lexer) one() *wrong {
	rest := l.src[l.at:]
	c, n := utf8.DecodeRuneInString(rest)
	switch {
	case c == '\n':
		l.line++
		l.at++
	case unicode.IsSpace(c) || c == '\u200e' || c == '\u200f':
		l.at += n
	case strings.HasPrefix(rest, "//"):
		l.skipTo("\n")
	case strings.HasPrefix(rest, "/*"):
		return l.comment()
	case c == '"':
		return l.quoted(1, 0)
	case c == '\'':
		return l.tick()
	case c >= '0' && c <= '9':
		l.number()
	case letter(c):
		return l.word()
	case strings.ContainsRune("([{", c):
		l.open = append(l.open, len(l.tokens))
		l.add(opens, l.at, rest[:1], l.line)
		l.at++
	case strings.ContainsRune(")]}", c):
		return l.close(rest[:1])
	default:
		l.sign(rest, n)
	}
	return nil
}

func (l *lexer) sign(rest string, n int) {
	for _, s := range []string{"::", "->", "=>"} {
		if strings.HasPrefix(rest, s) {
			n = len(s)
		}
	}
	l.add(punct, l.at, rest[:n], l.line)
	l.at += n
}

func (l *lexer) close(s string) *wrong {
	n := len(l.open)
	if n == 0 {
		return &wrong{l.line, "nothing is open that this " + s + " closes"}
	}
	mate := l.open[n-1]
	if pair := l.tokens[mate].text + s; pair != "()" && pair != "[]" && pair != "{}" {
		return &wrong{l.line, "this " + s + " closes a " + l.tokens[mate].text}
	}
	l.open = l.open[:n-1]
	l.tokens[mate].mate = len(l.tokens)
	l.add(closes, l.at, s, l.line)
	l.tokens[len(l.tokens)-1].mate = mate
	l.at++
	return nil
}

func letter(c rune) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > 0x7f && unicode.IsLetter(c)
}

func (l *lexer) letters(from int) int {
	for from < len(l.src) {
		c, n := utf8.DecodeRuneInString(l.src[from:])
		if !letter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) {
			break
		}
		from += n
	}
	return from
}

// comment is /* with what stands in it, comments too.
func (l *lexer) comment() *wrong {
	from := l.line
	for depth := 0; l.at < len(l.src); l.at++ {
		switch rest := l.src[l.at:]; {
		case strings.HasPrefix(rest, "/*"):
			depth++
			l.at++
		case strings.HasPrefix(rest, "*/"):
			l.at++
			if depth--; depth == 0 {
				l.at++
				return nil
			}
		case rest[0] == '\n':
			l.line++
		}
	}
	return &wrong{from, "the comment that begins in this line is not closed"}
}

// quoted is a text that begins after skip bytes, in which escapes count unless it
// is raw: then hashes is how many stand at its end, plus one.
func (l *lexer) quoted(skip, hashes int) *wrong {
	from, line := l.at+skip, l.line
	closing := `"`
	if hashes > 0 {
		closing += strings.Repeat("#", hashes-1)
	}
	for l.at = from; l.at < len(l.src); l.at++ {
		switch c := l.src[l.at]; {
		case c == '\n':
			l.line++
		case c == '\\' && hashes == 0:
			l.at++
			if l.at < len(l.src) && l.src[l.at] == '\n' {
				l.line++
			}
		case c == '"' && strings.HasPrefix(l.src[l.at:], closing):
			l.add(text, from, l.src[from:l.at], line)
			l.at += len(closing)
			return nil
		}
	}
	return &wrong{line, "the text that begins in this line is not closed"}
}

// tick is a character, or a lifetime.
func (l *lexer) tick() *wrong {
	rest := l.src[l.at+1:]
	c, n := utf8.DecodeRuneInString(rest)
	switch {
	case c == '\\':
		return l.character(1)
	case n > 0 && strings.HasPrefix(rest[n:], "'"):
		if c == '\n' {
			l.line++
		}
		l.add(other, l.at, l.src[l.at:l.at+n+2], l.line)
		l.at += n + 2
	case letter(c) || unicode.IsDigit(c):
		to := l.letters(l.at + 1)
		if strings.HasPrefix(l.src[to:], "#") && l.src[l.at+1:to] == "r" {
			to = l.letters(to + 1)
		}
		l.add(other, l.at, l.src[l.at:to], l.line)
		l.at = to
	default:
		return &wrong{l.line, "a ' begins neither a character nor a lifetime"}
	}
	return nil
}

// character is a character in quotes that may be escaped, which begins after skip bytes.
func (l *lexer) character(skip int) *wrong {
	for at := l.at + skip; at < len(l.src) && l.src[at] != '\n'; at++ {
		switch l.src[at] {
		case '\\':
			at++
		case '\'':
			l.add(other, l.at, l.src[l.at:at+1], l.line)
			l.at = at + 1
			return nil
		}
	}
	return &wrong{l.line, "a character is not closed"}
}

// number is a number. A dot belongs to it where a digit follows: 1..2 and 1.max() are more.
func (l *lexer) number() {
	to := l.letters(l.at)
	if to+1 < len(l.src) && l.src[to] == '.' && l.src[to+1] >= '0' && l.src[to+1] <= '9' {
		to = l.letters(to + 1)
	}
	l.add(other, l.at, l.src[l.at:to], l.line)
	l.at = to
}

// word is a name, or the prefix of a text or of a character.
func (l *lexer) word() *wrong {
	to := l.letters(l.at)
	word, rest := l.src[l.at:to], l.src[to:]
	switch word {
	case "r", "br", "cr":
		hashes := len(rest) - len(strings.TrimLeft(rest, "#"))
		if strings.HasPrefix(rest[hashes:], `"`) {
			return l.quoted(len(word)+hashes+1, hashes+1)
		}
		if c, _ := utf8.DecodeRuneInString(rest[hashes:]); word == "r" && hashes == 1 && letter(c) {
			end := l.letters(to + 1)
			l.add(raw, l.at, l.src[to+1:end], l.line)
			l.at = end
			return nil
		}
	case "b", "c":
		if strings.HasPrefix(rest, `"`) {
			return l.quoted(2, 0)
		}
		if word == "b" && strings.HasPrefix(rest, "'") {
			return l.character(2)
		}
	}
	l.add(ident, l.at, word, l.line)
	l.at = to
	return nil
}
