package javascript

// typ reads a type: like an expression, a row of operands and what stands between
// them. It says whether it was one operand. The types of what asserts are read too.
func (p *parser) typ() bool {
	extends, open, alone := 0, 0, true
	for p.why == "" {
		for p.why == "" && p.typeOperand() == operand {
			continue
		}
		a := more
		for a == more && p.why == "" {
			a = p.behindType(&extends, &open)
			alone = alone && a == done
		}
		if a != operand {
			return alone
		}
	}
	return false
}

func (p *parser) typeOperand() action {
	switch p.tok.kind {
	case '|', '&', '-', spread:
		p.next()
		return operand
	case '<':
		p.angle()
		return operand
	case text, number:
		p.next()
	case template:
		p.template(func() { p.typ() })
	case '(':
		if p.typeGroup() && p.take(arrow) {
			return operand
		}
	case '[':
		p.tuple()
	case '{':
		p.members()
	case word:
		return p.typeWord()
	default:
		p.unexpected("a type would be right")
		return done
	}
	return more
}

func (p *parser) typeWord() action {
	switch w := p.word(); w {
	case "import":
		p.importType()
		return more
	case "keyof", "unique", "readonly", "infer", "asserts", "new", "abstract", "typeof":
		p.next()
		switch p.tok.kind {
		case word:
			if !p.tok.fresh && !p.is("is") && !p.is("extends") {
				return operand
			}
		case text, number, template, '(', '[', '{', '<':
			return operand
		default:
		}
		return more
	case "any", "unknown", "number", "string", "boolean", "bigint", "symbol", "object", "void", "undefined", "null", "never":
		p.next()
		return more
	}
	p.next()
	p.qualified()
	return more
}

// qualified reads .b.c<T> behind a.
func (p *parser) qualified() {
	for p.why == "" && p.take('.') {
		p.next()
	}
	if p.tok.kind == '<' && !p.tok.fresh {
		p.angle()
	}
}

// importType reads import("x").y<T>.
func (p *parser) importType() {
	p.next()
	p.keepLiteral()
	p.enter()
	defer p.leave()
	p.expect('(')
	for p.why == "" && p.tok.kind != ')' {
		if !p.take(',') {
			p.typ()
		}
	}
	p.expect(')')
	p.qualified()
}

// behindType reads what may stand behind a type, and counts what is open of X extends Y ? A : B.
func (p *parser) behindType(extends, open *int) action {
	switch k := p.tok.kind; {
	case k == '[' && !p.tok.fresh:
		p.next()
		if p.tok.kind != ']' {
			p.enter()
			p.typ()
			p.leave()
		}
		p.expect(']')
		return more
	case k == '|', k == '&', p.is("is") && !p.tok.fresh:
	case p.is("extends") && !p.tok.fresh:
		*extends++
	case k == '?' && *extends > 0:
		*extends--
		*open++
	case k == ':' && *open > 0:
		*open--
	default:
		return done
	}
	p.next()
	return operand
}

// typeGroup reads ( … ), and says whether they are the parameters of a function's type.
func (p *parser) typeGroup() bool {
	p.enter()
	defer p.leave()
	p.next()
	first := p.tok
	function := first.kind == ')' || first.kind == spread
	for began := false; p.why == "" && p.tok.kind != ')'; {
		switch p.tok.kind {
		case ',', '?', ':', '=', spread:
			p.next()
			function, began = true, true
			continue
		default:
		}
		alone := p.typ()
		if !began && p.tok.kind == ')' {
			function = alone && (first.kind == '{' || first.kind == '[' || first.kind == word && p.last == first.stop)
		}
		began = true
	}
	p.expect(')')
	return function && p.tok.kind == arrow
}

func (p *parser) tuple() {
	p.enter()
	defer p.leave()
	p.next()
	for p.why == "" && p.tok.kind != ']' {
		switch p.tok.kind {
		case ',', '?', ':', spread:
			p.next()
		default:
			p.typ()
		}
	}
	p.expect(']')
}

// angle reads < … >, of types or of their parameters.
func (p *parser) angle() {
	p.enter()
	defer p.leave()
	p.expect('<')
	for p.why == "" && p.tok.kind != '>' {
		switch p.tok.kind {
		case ',', '=':
			p.next()
		default:
			p.typ()
		}
	}
	p.expect('>')
}

// arguments reads the types of a call, if < begins them, as TypeScript tells it: by what stands behind.
func (p *parser) arguments(m mode) bool {
	if p.spare < 0 {
		return false
	}
	before := p.mark()
	p.angle()
	joined := p.last < len(p.src) && (p.src[p.last] == '=' || p.src[p.last] == '>')
	if p.why == "" && !joined && p.followsArguments(m) {
		return true
	}
	p.back(before)
	return false
}

func (p *parser) followsArguments(m mode) bool {
	switch p.tok.kind {
	case '(', template:
		return true
	case '<', '>', '+', '-':
		return false
	case '{':
		return m&heritage != 0 || p.tok.fresh
	case word:
		return p.tok.fresh || between(p.word()) || m&heritage != 0 && p.is("implements")
	case text, number, private, '[', '!', '~', '@', step:
		return p.tok.fresh
	default:
		return true
	}
}

// members reads { … } of a type.
func (p *parser) members() {
	p.enter()
	defer p.leave()
	p.expect('{')
	for p.why == "" && p.tok.kind != '}' {
		switch p.tok.kind {
		case word, text, number, private, ',', ';', '?', '+', '-', spread:
			p.next()
		case ':':
			p.next()
			p.typ()
		case '(':
			p.typeGroup()
		case '<':
			p.angle()
		case '[':
			p.typeIndex()
		default:
			p.unexpected("a member of a type would be right")
		}
	}
	p.expect('}')
}

// typeIndex reads [key: string], [K in keyof T as U] or a computed name.
func (p *parser) typeIndex() {
	p.enter()
	defer p.leave()
	p.next()
	for p.why == "" && p.tok.kind != ']' {
		if p.tok.kind == ':' || p.is("in") || p.is("as") {
			p.next()
			continue
		}
		p.typ()
	}
	p.expect(']')
}
