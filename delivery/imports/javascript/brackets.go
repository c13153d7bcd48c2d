package javascript

// group reads ( … ), and says whether something in it has a type, as parameters do.
func (p *parser) group() bool {
	p.enter()
	defer p.leave()
	p.expect('(')
	typed := p.tok.kind == ')'
	if !typed {
		typed = p.expression(commas | annotated)
	}
	p.expect(')')
	return typed
}

// parameters reads ( … ) that may be those of an arrow function.
func (p *parser) parameters(e *expression) {
	e.sure = p.group()
	e.closed = p.last
}

// index reads [ … ] behind an operand, or as the name of a member.
func (p *parser) index() {
	p.enter()
	defer p.leave()
	p.expect('[')
	p.expression(commas | annotated)
	p.expect(']')
}

// list reads an array.
func (p *parser) list() {
	p.enter()
	defer p.leave()
	p.expect('[')
	for p.why == "" && p.tok.kind != ']' {
		if p.take(',') {
			continue
		}
		p.expression(0)
		if p.tok.kind != ',' && p.tok.kind != ']' {
			p.unexpected("a comma or ] would be right")
		}
	}
	p.expect(']')
}

// object reads { … } with its members.
func (p *parser) object() {
	p.enter()
	defer p.leave()
	p.expect('{')
	for p.why == "" && p.tok.kind != '}' {
		switch p.tok.kind {
		case word, text, number, private, ',', '*':
			p.next()
		case spread, ':', '=':
			p.next()
			p.expression(0)
		case '[':
			p.index()
		case '(', '<':
			p.method()
		default:
			p.unexpected("a member of an object would be right")
		}
	}
	p.expect('}')
}

// method reads the parameters of a method or a function, what it gives, and its body, if it has one.
func (p *parser) method() {
	if p.ts && p.tok.kind == '<' {
		p.angle()
	}
	p.enter()
	p.expect('(')
	for p.why == "" && p.tok.kind != ')' {
		switch p.tok.kind {
		case ',':
			p.next()
		case '@':
			p.decorator()
		default:
			p.expression(annotated)
		}
	}
	p.expect(')')
	p.leave()
	if p.ts && p.take(':') {
		p.typ()
	}
	if p.tok.kind == '{' {
		p.body()
	} else if !p.ts {
		p.unexpected("{ would be right")
	}
}

// function reads a function from that word on.
func (p *parser) function() {
	p.next()
	p.take('*')
	p.take(word)
	p.method()
}

// decorator reads @ and what stands behind it.
func (p *parser) decorator() {
	p.next()
	if p.tok.kind == '(' {
		p.group()
		return
	}
	p.next()
	for p.why == "" {
		switch {
		case p.tok.kind == '.', p.ts && p.tok.kind == '!' && !p.tok.fresh:
			p.next()
		case (p.tok.kind == word || p.tok.kind == private) && p.src[p.last-1] == '.':
			p.next()
		case p.tok.kind == '(':
			p.group()
		case p.ts && p.tok.kind == '<' && p.arguments(0):
		default:
			return
		}
	}
}

// class reads a class from that word on.
func (p *parser) class() {
	p.enter()
	defer p.leave()
	p.next()
	for p.why == "" && p.tok.kind != '{' {
		switch {
		case p.is("extends"):
			p.next()
			p.expression(heritage)
		case p.is("implements"):
			p.next()
			p.typ()
		case p.ts && p.tok.kind == ',':
			p.next()
			p.typ()
		case p.ts && p.tok.kind == '<':
			p.angle()
		case p.tok.kind == word:
			p.next()
		default:
			p.unexpected("{ would be right")
		}
	}
	p.expect('{')
	for p.why == "" && p.tok.kind != '}' {
		p.member()
	}
	p.expect('}')
}

// member reads a piece of a member of a class: its name, its type, its value, its body.
func (p *parser) member() {
	switch p.tok.kind {
	case word, text, number, private, ';', '*':
		p.next()
	case '?', '!':
		if !p.ts {
			p.unexpected("a member of a class would be right")
		}
		p.next()
	case '[':
		p.index()
	case '@':
		p.decorator()
	case '=':
		p.next()
		p.expression(0)
	case ':':
		if !p.ts {
			p.unexpected("a member of a class would be right")
		}
		p.next()
		p.typ()
	case '(', '<':
		p.method()
	case '{':
		p.body()
	default:
		p.unexpected("a member of a class would be right")
	}
}
