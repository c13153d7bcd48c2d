package javascript

// statement reads one statement, or as much of one as may come before another: if (x)
// is read alone, and so is else. Thus nothing but brackets lies in each other.
func (p *parser) statement() {
	switch p.tok.kind {
	case ';':
		p.next()
	case '{':
		p.body()
	case '@':
		p.decorator()
	case word:
		p.wordStatement()
	default:
		p.expressionStatement()
	}
}

func (p *parser) wordStatement() {
	switch w := p.word(); w {
	case "if", "while", "with", "switch", "catch", "for":
		p.headed(w)
	case "do", "else", "try", "finally":
		p.next()
	case "var", "const", "let", "using", "await":
		p.variables(w)
	case "function":
		p.function()
	case "class":
		p.class()
	case "case":
		p.next()
		p.expression(commas | inCase)
		p.expect(':')
	case "default":
		p.next()
		p.expect(':')
	case "return", "throw", "break", "continue", "debugger":
		p.next()
		if k := p.tok.kind; !p.tok.fresh && k != ';' && k != '}' && k != end {
			p.expression(commas)
		}
		p.semicolon()
	case "import", "export":
		p.moduleStatement(w)
	case "async":
		p.asyncStatement()
	default:
		if !p.ts || !p.typeStatement(w) {
			p.expressionStatement()
		}
	}
}

// headed reads the word and the brackets that stand before a statement.
func (p *parser) headed(w string) {
	p.next()
	if w == "for" {
		if p.is("await") {
			p.next()
		}
		p.forHead()
		return
	}
	if w == "catch" && p.tok.kind == '{' {
		return
	}
	if p.tok.kind != '(' {
		p.unexpected(w + " is followed by (")
		return
	}
	p.group()
}

func (p *parser) forHead() {
	p.enter()
	defer p.leave()
	p.expect('(')
	switch w := p.word(); {
	case p.declares(w):
		p.next()
		if w == "await" {
			p.next()
		}
		p.bindings(noIn)
	case p.tok.kind != ';':
		p.expression(commas | noIn)
	}
	if p.is("of") || p.is("in") {
		p.next()
		p.expression(commas)
	}
	for p.tok.kind == ';' {
		p.next()
		if p.tok.kind != ';' && p.tok.kind != ')' {
			p.expression(commas)
		}
	}
	p.expect(')')
}

// declares reports whether w, the present word, begins a declaration of variables.
func (p *parser) declares(w string) bool {
	switch w {
	case "var", "const":
		return true
	case "let":
		next, w := p.peek()
		return next.kind == '[' || next.kind == '{' || next.kind == word && !reserved(w)
	case "using":
		next, w := p.peek()
		return next.kind == word && !next.fresh && !reserved(w) && w != "of"
	case "await":
		m := p.mark()
		p.next()
		declares := p.is("using") && !p.tok.fresh && p.declares("using")
		p.back(m)
		return declares
	}
	return false
}

// reserved reports whether a word stands between two operands, and is no name anywhere.
func reserved(w string) bool { return w == "in" || w == "instanceof" }

// between reports whether a word stands between two operands.
func between(w string) bool {
	return reserved(w) || w == "as" || w == "satisfies"
}

func (p *parser) variables(w string) {
	if !p.declares(w) {
		p.expressionStatement()
		return
	}
	p.next()
	switch {
	case w == "const" && p.ts && p.is("enum"):
		p.enum()
		return
	case w == "await":
		p.next()
	}
	p.bindings(0)
	p.semicolon()
}

// bindings reads what a declaration declares.
func (p *parser) bindings(m mode) {
	for p.why == "" {
		switch p.tok.kind {
		case '{':
			p.object()
		case '[':
			p.list()
		case word:
			p.next()
		default:
			p.unexpected("a name would be right")
		}
		if p.ts && p.take('!') && p.tok.kind != ':' {
			p.unexpected("a type would be right")
		}
		if p.ts && p.take(':') {
			p.typ()
		}
		if p.take('=') {
			p.expression(m)
		}
		if !p.take(',') {
			return
		}
	}
}

// body reads a block.
func (p *parser) body() {
	p.enter()
	defer p.leave()
	p.block++
	p.expect('{')
	for p.why == "" && p.tok.kind != '}' && p.tok.kind != end {
		p.statement()
	}
	p.block--
	p.expect('}')
}

func (p *parser) asyncStatement() {
	if next, w := p.peek(); w == "function" && !next.fresh {
		p.next()
		p.function()
		return
	}
	p.expressionStatement()
}

func (p *parser) expressionStatement() {
	first := p.tok
	p.expression(commas)
	if first.kind == word && p.last == first.stop && p.take(':') {
		return // a label
	}
	p.semicolon()
}

// semicolon is the end of a statement, written or not.
func (p *parser) semicolon() {
	if p.take(';') || p.tok.kind == '}' || p.tok.kind == end || p.tok.fresh {
		return
	}
	p.unexpected("a new line or a semicolon comes between two statements")
}

// typeStatement reads a statement that only TypeScript has, if w begins one.
func (p *parser) typeStatement(w string) bool {
	next, follower := p.peek()
	name := next.kind == word && !next.fresh && !reserved(follower)
	switch {
	case w == "type" && name:
		p.alias()
	case w == "interface" && name:
		p.contract()
	case w == "enum":
		p.enum()
	case (w == "namespace" || w == "module") && name, w == "module" && next.kind == text && !next.fresh:
		p.namespace()
	case w == "declare" && name:
		p.next()
		if p.is("module") {
			p.augmented()
		}
	case w == "abstract" && follower == "class" && !next.fresh:
		p.next()
	case w == "global" && next.kind == '{':
		p.next()
	default:
		return false
	}
	return true
}

func (p *parser) alias() {
	p.next()
	p.next()
	if p.tok.kind == '<' {
		p.angle()
	}
	p.expect('=')
	p.typ()
	p.semicolon()
}

// contract reads an interface.
func (p *parser) contract() {
	p.next()
	for p.why == "" && p.tok.kind != '{' {
		if !p.take(',') {
			p.typ()
		}
	}
	p.members()
}

func (p *parser) enum() {
	p.enter()
	defer p.leave()
	p.next()
	p.next()
	p.expect('{')
	for p.why == "" && p.tok.kind != '}' {
		switch p.tok.kind {
		case word, text, number, ',':
			p.next()
		case '=':
			p.next()
			p.expression(0)
		case '[':
			p.list()
		default:
			p.unexpected("a member of an enum would be right")
		}
	}
	p.expect('}')
}

// namespace reads namespace A.B, or module "x", to its block.
func (p *parser) namespace() {
	p.next()
	p.next()
	for p.take('.') {
		p.next()
	}
	if p.tok.kind != '{' {
		p.semicolon()
		return
	}
	p.body()
}

// augmented keeps the name in declare module "x".
func (p *parser) augmented() {
	next, _ := p.peek()
	if next.kind == text && p.block == 0 {
		p.augment = append(p.augment, ask{name: unquote(p.src[next.start:next.stop]), line: next.line})
	}
}
