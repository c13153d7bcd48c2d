package javascript

import "strings"

// moduleStatement reads import and export, as far as they are statements.
func (p *parser) moduleStatement(w string) {
	if w == "import" {
		if next, _ := p.peek(); next.kind == '(' || next.kind == '.' {
			p.expressionStatement()
			return
		}
	}
	p.module = p.module || p.block == 0
	p.next()
	if w == "import" {
		p.importStatement()
		return
	}
	p.exportStatement()
}

func (p *parser) importStatement() {
	for p.why == "" {
		next, follower := p.peek()
		switch {
		case p.tok.kind == text:
			p.from()
			return
		case p.is("from") && next.kind == text:
			p.next()
			p.from()
			return
		case p.tok.kind == '=':
			p.next()
			p.importEquals(follower)
			return
		case p.tok.kind == '{':
			p.names()
		case p.tok.kind == word, p.tok.kind == '*', p.tok.kind == ',':
			p.next()
		default:
			p.unexpected("a name, or from and a string would be right")
		}
	}
}

// importEquals reads what stands behind import x = .
func (p *parser) importEquals(w string) {
	if next, _ := p.peek(); w != "require" || next.kind != '(' {
		p.expression(0)
		p.semicolon()
		return
	}
	p.next()
	p.keepLiteral()
	p.group()
	p.semicolon()
}

// from keeps the present string as a name, and reads the attributes behind it.
func (p *parser) from() {
	p.keep(p.tok)
	p.next()
	if p.is("with") || p.is("assert") && !p.tok.fresh {
		p.next()
		p.object()
	}
	p.semicolon()
}

// names reads the names in the brackets of an import or an export.
func (p *parser) names() {
	p.enter()
	defer p.leave()
	p.expect('{')
	for p.tok.kind == word || p.tok.kind == text || p.tok.kind == ',' {
		p.next()
	}
	p.expect('}')
}

func (p *parser) exportStatement() {
	if p.is("type") {
		if next, _ := p.peek(); next.kind == '{' || next.kind == '*' {
			p.next()
		}
	}
	switch {
	case p.tok.kind == '*', p.tok.kind == '{':
		p.exported()
	case p.tok.kind == '=':
		p.next()
		p.expression(0)
		p.semicolon()
	case p.is("default"):
		p.exportDefault()
	case p.is("as"): // export as namespace X
		p.next()
		p.next()
		p.next()
		p.semicolon()
	case p.is("import"):
		p.next()
		p.importStatement()
	case p.tok.kind != word && p.tok.kind != '@':
		p.unexpected("a declaration, { or * would be right")
	}
}

// exported reads what stands in brackets or behind *, with its from.
func (p *parser) exported() {
	if p.tok.kind == '{' {
		p.names()
	} else {
		p.next()
		if p.is("as") {
			p.next()
			p.next()
		}
	}
	if p.is("from") {
		p.next()
		if p.tok.kind == text {
			p.from()
			return
		}
		p.unexpected("a string would be right")
	}
	p.semicolon()
}

// exportDefault reads export default as far as a declaration, or with its expression.
func (p *parser) exportDefault() {
	p.next()
	next, follower := p.peek()
	switch w := p.word(); {
	case w == "function", w == "class", p.tok.kind == '@':
	case w == "async" && follower == "function" && !next.fresh:
	case p.ts && w == "abstract" && follower == "class":
	case p.ts && w == "interface" && next.kind == word && !next.fresh:
	default:
		p.expression(0)
		p.semicolon()
	}
}

// keep keeps the name that a token says.
func (p *parser) keep(t token) {
	p.asks = append(p.asks, ask{name: unquote(p.src[t.start:t.stop]), line: t.line})
}

// keepLiteral keeps the name in the brackets that come next, if it is a literal and the first in them.
func (p *parser) keepLiteral() {
	if p.tok.kind != '(' {
		return
	}
	m, spare := p.mark(), p.spare
	p.next()
	literal := p.tok
	plain := literal.kind == text
	if literal.kind == template && p.templateText() {
		literal.stop, plain = p.pos, true
	}
	if plain {
		p.next()
		plain = p.tok.kind == ')' || p.tok.kind == ','
	}
	p.back(m)
	p.spare = spare
	if plain {
		p.keep(literal)
	}
}

// reference keeps what a /// <reference …/> before the first statement names.
func (p *parser) reference(comment string) {
	rest, is := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(comment, "///")), "<reference")
	if !is || !strings.HasPrefix(comment, "///") {
		return
	}
	if name, is := attribute(rest, "types"); is && name != "node" {
		p.asks = append(p.asks, ask{name: name, line: p.line})
	}
	if name, is := attribute(rest, "path"); is {
		p.asks = append(p.asks, ask{name: name, line: p.line, file: true})
	}
}

// attribute is the value of name="value" in a tag.
func attribute(tag, name string) (string, bool) {
	for rest := tag; ; {
		before, after, found := strings.Cut(rest, "=")
		if !found {
			return "", false
		}
		after = strings.TrimSpace(after)
		if after == "" || after[0] != '"' && after[0] != '\'' {
			return "", false
		}
		value, behind, closed := strings.Cut(after[1:], after[:1])
		if !closed {
			return "", false
		}
		if strings.TrimSpace(before) == name {
			return value, true
		}
		rest = behind
	}
}

// pragma keeps what a comment before the first statement says of elements.
func (p *parser) pragma(comment string, line int) {
	before, after, found := strings.Cut(comment, "@jsxImportSource")
	if !found {
		return
	}
	if fields := strings.Fields(strings.TrimSuffix(after, "*/")); len(fields) > 0 {
		p.runtime = ask{name: fields[0], line: line + strings.Count(before, "\n")}
	}
}
