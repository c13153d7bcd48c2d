package javascript

import "fmt"

// deepest is how deep brackets may lie in each other; people write twenty.
const deepest = 1000

// attempts is how many arrow functions are tried in each other before the next is taken for none.
const attempts = 8

// ask is something that a file asks for.
type ask struct {
	name string
	line int
	file bool // a path beside the file, however it begins
}

// parser reads one file, and keeps what it asks for.
type parser struct {
	src   []byte
	ts    bool // it has types
	jsx   bool // < begins an element
	html  bool // <!-- begins a comment
	pos   int
	line  int
	tok   token
	last  int // where the token before this one ended
	depth int
	block int // how many blocks are around this place
	spare int // how many bytes may still be read in vain
	tries int // how many arrow functions are being tried, each in the one before
	why   string
	where int

	asks    []ask
	augment []ask // declare module "x": an import where the file is a module
	module  bool  // it imports or exports
	sawHTML bool
	element int // the line of the first element
	runtime ask // what @jsxImportSource says
}

// dialect is how a file is to be read.
type dialect struct {
	ts, jsx, html bool
	line          int // that the text begins on; 0 is the first
}

// parse reads a file. What it asks for is right as far as the first error.
func parse(src []byte, d dialect) *parser {
	p := &parser{src: src, ts: d.ts, jsx: d.jsx, html: d.html, line: max(1, d.line), spare: 4*len(src) + 4096}
	if p.starts("\ufeff") {
		p.pos += 3
	}
	if p.starts("#!") {
		p.endLine()
	}
	p.next()
	for p.why == "" && p.tok.kind != end {
		if p.tok.kind == '}' {
			p.unexpected("there is no { before it")
		}
		p.statement()
	}
	if p.module && p.sawHTML {
		d.html = false
		return parse(src, d)
	}
	if p.module {
		p.asks = append(p.asks, p.augment...)
	}
	return p
}

func (p *parser) fail(format string, args ...any) { p.failAt(p.line, format, args...) }

// failAt ends the reading: what comes next is the end of the file.
func (p *parser) failAt(line int, format string, args ...any) {
	if p.why == "" {
		p.why, p.where = fmt.Sprintf(format, args...), line
	}
	p.tok.kind = end
}

// unexpected fails at the present token, and says what would be right.
func (p *parser) unexpected(right string) {
	if p.why != "" {
		return
	}
	if p.tok.kind == end {
		p.failAt(p.tok.line, "the file ends too early: %s", right)
		return
	}
	p.failAt(p.tok.line, "%q is not expected here: %s", short(p.src[p.tok.start:p.tok.stop]), right)
}

// short is a token as a message shows it.
func short(src []byte) string {
	if runes := []rune(string(src[:min(len(src), 200)])); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return string(src)
}

// enter counts one more bracket.
func (p *parser) enter() {
	p.depth++
	if p.depth > deepest {
		p.fail("brackets lie more than %d deep in each other", deepest)
	}
}

func (p *parser) leave() { p.depth-- }

// is reports whether the present token is that word, and not written with an escape.
func (p *parser) is(w string) bool {
	return p.tok.kind == word && !p.tok.escaped && string(p.src[p.tok.start:p.tok.stop]) == w
}

// word is the present token where it is a word without escapes.
func (p *parser) word() string {
	if p.tok.kind != word || p.tok.escaped {
		return ""
	}
	return string(p.src[p.tok.start:p.tok.stop])
}

// take goes past a token if it comes next.
func (p *parser) take(k kind) bool {
	if p.tok.kind != k {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(k kind) {
	if p.tok.kind != k {
		p.unexpected(fmt.Sprintf("%q would be right", rune(k)))
		return
	}
	p.next()
}

// mark is a place to go back to.
type mark struct {
	pos, line, last, depth, block, asks, augment, element int
	tok                                                   token
}

func (p *parser) mark() mark {
	return mark{p.pos, p.line, p.last, p.depth, p.block, len(p.asks), len(p.augment), p.element, p.tok}
}

// back goes back to a place: what was read since was read in vain.
func (p *parser) back(m mark) {
	p.spare -= p.pos - m.pos
	p.pos, p.line, p.last, p.depth, p.block, p.element, p.tok = m.pos, m.line, m.last, m.depth, m.block, m.element, m.tok
	p.asks, p.augment = p.asks[:m.asks], p.augment[:m.augment]
	p.why = ""
}

// peek is the token after this one; nothing is spent, for it is one token.
func (p *parser) peek() (token, string) {
	m, spare := p.mark(), p.spare
	p.next()
	t, w := p.tok, p.word()
	p.back(m)
	p.spare = spare
	return t, w
}
