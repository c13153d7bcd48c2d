package python

// code is what one file says.
type code struct {
	asks      []ask
	namespace bool // it says that its folder is shared: pkgutil's or setuptools' words for a namespace
	why       string
	whyLine   int
}

// ask is one name that is asked for. With dots it is relative to the file's package.
type ask struct {
	dots int
	name string
	line int
}

// parser reads a file statement by statement.
type parser struct {
	lexer
	tokens  []token
	blocks  []block
	levels  []level
	loaders map[string]bool // what import_module and __import__ are called here
	code    code
	awaited *block // the block that the last header announced
	header  int    // where that header stands
}

// block is a run of statements of one depth.
type block struct {
	after chain
	cases bool // of a match: it holds cases and nothing else
}

// chain is what the next clause of a statement may be.
type chain uint8

const (
	chainNone chain = iota
	chainIf
	chainLoop
	chainTry
	chainExcept
	chainFinally
	chainDecorator
)

// parse reads a file whose text is UTF-8 with plain line ends. What was read before a fault is kept.
func parse(text []byte, words map[string]word, visit func(p *parser, tokens []token)) code {
	p := &parser{
		lexer:   lexer{text: text, words: words, line: 1, indents: []indent{{}}},
		blocks:  []block{{}},
		loaders: map[string]bool{"import_module": true, "__import__": true},
	}
	for p.why == "" {
		deeper, more := p.begin()
		if p.why == "" {
			p.enter(deeper)
		}
		if p.why != "" || !more {
			break
		}
		p.tokens = p.rest(p.tokens[:0])
		if p.why != "" {
			break
		}
		p.logical()
		p.calls()
		if visit != nil && p.why == "" {
			visit(p, p.tokens)
		}
	}
	if p.why == "" {
		p.complete(p.line)
	}
	p.code.why, p.code.whyLine = p.why, p.whyLine
	return p.code
}

// enter opens or closes blocks, as the indentation of the next line says.
func (p *parser) enter(deeper int) {
	switch {
	case p.awaited != nil && deeper != 1:
		p.fail(p.header, "an indented block is expected after this line")
	case p.awaited != nil:
		p.blocks = append(p.blocks, *p.awaited)
		p.awaited = nil
	case deeper == 1:
		p.fail(p.line, "the line is indented, and no block begins here")
	}
	for ; deeper < 0 && p.why == ""; deeper++ {
		p.complete(p.line)
		p.blocks = p.blocks[:len(p.blocks)-1]
	}
}

// complete sees that the last statement of the innermost block is whole.
func (p *parser) complete(line int) {
	switch p.blocks[len(p.blocks)-1].after {
	case chainTry:
		p.fail(line, "except or finally is expected after the block of a try")
	case chainDecorator:
		p.fail(line, "a function or class is expected after a decorator")
	default:
	}
}

// logical reads one logical line.
func (p *parser) logical() {
	b := &p.blocks[len(p.blocks)-1]
	first := p.tokens[0]
	if b.cases {
		if !p.says(0, "case") {
			p.unexpected(0)
			return
		}
		p.body(p.expression(1, heads), block{})
		return
	}
	if first.kind == kindKeyword && p.clause(b, first.word) {
		return
	}
	decorated := first.kind == kindAt
	defines := decorated || first.word == wordDef || first.word == wordClass || first.word == wordAsync
	if !defines || b.after != chainDecorator {
		p.complete(int(first.line))
	}
	b.after = chainNone
	switch {
	case p.why != "":
	case decorated:
		b.after = chainDecorator
		p.ended(p.expression(1, 0))
	case first.kind == kindKeyword && p.compound(b, 0):
	case p.says(0, "match") && len(p.tokens) > 3 && p.tokens[len(p.tokens)-2].kind == kindColon:
		p.body(p.expression(1, heads), block{cases: true})
	default:
		p.simples(0)
	}
}

// clause reads a line that goes on with the statement before it, where it is one.
func (p *parser) clause(b *block, w word) bool {
	next, fits := chainNone, false
	switch w {
	case wordElif:
		next, fits = chainIf, b.after == chainIf
	case wordElse:
		fits = b.after == chainIf || b.after == chainLoop || b.after == chainExcept
		if b.after == chainExcept {
			next = chainFinally
		}
	case wordExcept:
		next, fits = chainExcept, b.after == chainTry || b.after == chainExcept
	case wordFinally:
		fits = b.after == chainTry || b.after == chainExcept || b.after == chainFinally
	default:
		return false
	}
	if !fits {
		p.unexpected(0)
		return true
	}
	b.after = next
	end := 1
	switch w {
	case wordElif:
		end = p.expression(1, heads)
	case wordExcept:
		end = p.expression(1, mayBeEmpty|heads)
	default:
	}
	p.body(end, block{})
	return true
}

// compound reads the header at i of a statement that has a block, where it is one.
func (p *parser) compound(b *block, i int) bool {
	how := heads
	switch p.tokens[i].word {
	case wordIf:
		b.after = chainIf
	case wordWhile, wordFor:
		b.after = chainLoop
	case wordWith:
	case wordTry:
		b.after = chainTry
		p.body(i+1, block{})
		return true
	case wordDef, wordClass:
		if p.tokens[i+1].kind != kindName {
			p.unexpected(i + 1)
			return true
		}
		how = parameters
	case wordAsync:
		if w := p.tokens[i+1].word; i == 0 && (w == wordDef || w == wordFor || w == wordWith) {
			return p.compound(b, 1)
		}
		p.unexpected(i + 1)
		return true
	default:
		return false
	}
	p.body(p.expression(i+1, how), block{})
	return true
}

// body reads what follows the header that ends at i: a block, or statements on the same line.
func (p *parser) body(i int, b block) {
	switch {
	case p.why != "":
	case p.tokens[i].kind != kindColon:
		p.failAt(i, "a colon is expected before %s", p.quoted(i))
	case p.tokens[i+1].kind == kindEnd:
		p.awaited, p.header = &b, int(p.tokens[i].line)
	case b.cases:
		p.unexpected(i + 1)
	default:
		p.simples(i + 1)
	}
}

// ended sees that the logical line ends at i.
func (p *parser) ended(i int) {
	if p.why == "" && p.tokens[i].kind != kindEnd {
		p.unexpected(i)
	}
}

// says reports whether the token at i is a name with this text.
func (p *parser) says(i int, text string) bool {
	t := p.tokens[i]
	return t.kind == kindName && string(p.text[t.start:t.end]) == text
}

// unexpected fails at the token at i.
func (p *parser) unexpected(i int) {
	if i > 0 && p.tokens[i].kind != kindEnd && (p.says(0, "print") || p.says(0, "exec")) {
		p.failAt(i, "%s is not expected here; print and exec are functions in Python 3", p.quoted(i))
		return
	}
	p.failAt(i, "%s is not expected here", p.quoted(i))
}

// quoted is the token at i for a person to read.
func (p *parser) quoted(i int) string {
	t := p.tokens[i]
	text := p.text[t.start:t.end]
	switch {
	case t.kind == kindEnd:
		return "the end of the line"
	case t.kind == kindString || t.kind == kindFormat:
		return "a string"
	case len(text) > 40:
		return "a " + string(text[0]) + "…"
	}
	return "\"" + string(text) + "\""
}

// failAt fails at the line of the token at i.
func (p *parser) failAt(i int, format string, args ...any) {
	p.fail(int(p.tokens[i].line), format, args...)
}
