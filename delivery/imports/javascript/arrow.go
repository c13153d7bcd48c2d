package javascript

// colon reads the type of parameters or of what they give, or goes on behind a ?.
func (p *parser) colon(e *expression) action {
	if p.ts && e.closed == p.last && e.mode&inCase == 0 {
		if e.open == 0 || e.sure {
			p.next()
			p.typ()
			return more
		}
		if p.arrowAhead() {
			return more
		}
	}
	switch {
	case e.open > 0:
		e.open--
		p.next()
		return operand
	case p.ts && e.mode&annotated != 0:
		e.typed = true
		p.next()
		p.typ()
		return more
	}
	return done
}

// arrowAhead reads the rest of an arrow function with a result's type, between ? and
// its :, if it is one: in a ? (b): c => d : e it is, in a ? (b) : c => d it is not.
func (p *parser) arrowAhead() bool {
	if p.spare < 0 || p.tries == attempts {
		return false
	}
	p.tries++
	defer func() { p.tries-- }()
	m := p.mark()
	p.next()
	p.typ()
	if p.why == "" && p.take(arrow) {
		if p.tok.kind == '{' {
			p.body()
		} else {
			p.expression(0)
		}
		if p.why == "" && p.tok.kind == ':' {
			return true
		}
	}
	p.back(m)
	return false
}

// arrow reads => and a body in brackets, behind which the expression is over.
func (p *parser) arrow(e *expression) action {
	p.next()
	if p.tok.kind != '{' {
		return operand
	}
	p.body()
	switch p.tok.kind {
	case ':':
		return p.colon(e)
	case ',':
		return p.comma(e)
	default:
		return done
	}
}
