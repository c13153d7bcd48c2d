package javascript

import (
	"bytes"
	"html"
	"strings"
)

// pieceKind is what a piece of a component is that stands in none of its scripts.
type pieceKind uint8

const (
	expressionPiece pieceKind = iota // of a template: in braces, or in an attribute that is code
	stylePiece                       // a style at the top
	sourcePiece                      // src of a block: its text is in that file
	assetPiece                       // the address of something that is shown, with ~ before a package
)

// piece is a part of a component that may ask for a package.
type piece struct {
	kind pieceKind
	pos  int
	line int
	text []byte
	lang string
}

// keep keeps a piece that may ask for something.
func (m *markup) keep(p piece) {
	switch p.kind {
	case expressionPiece:
		if !bytes.Contains(p.text, []byte("import")) && !bytes.Contains(p.text, []byte("require")) {
			return
		}
	case stylePiece:
		if !bytes.Contains(p.text, []byte("@")) {
			return
		}
	case sourcePiece, assetPiece:
	}
	m.pieces = append(m.pieces, p)
}

// attributeSays keeps what an attribute says, where that is code or the address of something.
func (m *markup) attributeSays(name string, start int, value string) {
	if !m.vue || len(m.open) == 0 {
		return
	}
	switch {
	case strings.HasPrefix(name, "v-slot"):
	case name == "v-for":
		for _, between := range []string{" in ", " of "} {
			if _, after, found := strings.Cut(value, between); found {
				start, value = start+len(value)-len(after), after
				break
			}
		}
		m.keep(piece{kind: expressionPiece, pos: start, text: []byte(value)})
	case name[0] == ':', name[0] == '@', strings.HasPrefix(name, "v-"):
		m.keep(piece{kind: expressionPiece, pos: start, text: []byte(html.UnescapeString(value))})
	case strings.HasPrefix(value, "~") && (name == "src" || name == "href" || name == "xlink:href" || name == "poster"):
		m.keep(piece{kind: assetPiece, pos: start, text: []byte(value)})
	}
}

// inBraces keeps the expression between braces of Svelte that begin at a place and
// have just been gone past.
func (m *markup) inBraces(start int) {
	if m.pos-start < 2 || m.src[m.pos-1] != '}' {
		return // they do not end, and were text
	}
	text := m.src[start+1 : m.pos-1]
	rest := bytes.TrimLeft(text, " \t\r\n")
	if len(rest) > 0 && bytes.IndexByte([]byte("#:@/"), rest[0]) >= 0 { // {#await, {:else if, {@html
		rest = bytes.TrimLeft(rest[1:], "abcdefghijklmnopqrstuvwxyz")
		if bytes.HasPrefix(rest, []byte(" if ")) {
			rest = rest[len(" if "):]
		}
	}
	rest = bytes.TrimPrefix(rest, []byte("..."))
	m.keep(piece{kind: expressionPiece, pos: start + 1 + len(text) - len(rest), text: rest})
}

// asksOfExpression is what an expression of a template asks for, or statements of a
// handler. A template has words of its own behind an expression (then, as, key): what
// comes before them counts, and that they are no JavaScript is no fault.
func asksOfExpression(text []byte, d dialect) []ask {
	p := &parser{src: text, ts: d.ts, line: d.line, spare: 4*len(text) + 4096}
	p.next()
	p.expression(commas)
	if p.why == "" && p.tok.kind == end {
		return p.asks
	}
	if s := parse(text, d); !s.module && len(s.asks) > len(p.asks) {
		return s.asks
	}
	return p.asks
}

// piece keeps what a piece of a component asks for.
func (a asker) piece(p piece, typed bool) {
	switch p.kind {
	case expressionPiece:
		for _, each := range asksOfExpression(p.text, dialect{ts: typed, line: p.line}) {
			a.ask(each)
		}
	case stylePiece:
		for _, each := range asksOfStyle(p.text, p.line, p.lang) {
			a.styled(each)
		}
	case sourcePiece:
		a.ask(ask{name: string(p.text), line: p.line})
	case assetPiece:
		a.styled(ask{name: string(p.text), line: p.line})
	}
}

// styled keeps a name as styles write it: of a package with ~ or pkg: before it, or
// where package.json knows it; any other is that of a file beside this one.
func (a asker) styled(what ask) {
	name := strings.TrimPrefix(strings.TrimPrefix(what.name, "~"), "pkg:")
	switch {
	case strings.HasPrefix(name, "./"), strings.HasPrefix(name, "../"):
	case name != what.name && packageOf(name) != "":
	case packageOf(name) != "" && a.dependency(packageOf(name)).text != "":
	default:
		return
	}
	a.ask(ask{name: name, line: what.line})
}
