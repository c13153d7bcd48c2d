package javascript

// scanPunctuator reads one punctuator. Those that mean something else where an
// operand is awaited, or in a type, are read a byte at a time: / < and >.
func (p *parser) scanPunctuator() kind {
	c := p.src[p.pos]
	p.pos++
	switch c {
	case '{', '}', '(', ')', '[', ']', ';', ',', ':', '~', '@', '/', '<', '>':
		return kind(c)
	case '=':
		return p.equals()
	case '.':
		if p.at(0) == '.' && p.at(1) == '.' {
			p.pos += 2
			return spread
		}
		return '.'
	case '?':
		return p.questionMark()
	case '+', '-':
		if p.at(0) == c {
			p.pos++
			return step
		}
		return p.assigned(kind(c))
	case '*', '&', '|':
		if p.at(0) == c {
			p.pos++
			return p.assigned(operator)
		}
		return p.assigned(kind(c))
	case '^', '%':
		return p.assigned(operator)
	case '!':
		return p.compared('!')
	}
	p.pos--
	p.fail("%q belongs to nothing", rune(c))
	return end
}

// assigned is the operator k, or the assignment that it makes with a = behind it.
func (p *parser) assigned(k kind) kind {
	if p.at(0) != '=' {
		return k
	}
	p.pos++
	return operator
}

// compared is k, or the comparison that it makes with = or == behind it.
func (p *parser) compared(k kind) kind {
	if p.at(0) != '=' {
		return k
	}
	p.pos++
	return p.assigned(operator)
}

func (p *parser) equals() kind {
	if p.at(0) == '>' {
		p.pos++
		return arrow
	}
	return p.compared('=')
}

func (p *parser) questionMark() kind {
	switch {
	case p.at(0) == '?':
		p.pos++
		return p.assigned(operator)
	case p.at(0) == '.' && !digit(p.at(1)):
		p.pos++
		return chain
	}
	return '?'
}

// shift goes past the rest of an operator that begins with < or >.
func (p *parser) shift() {
	c := p.src[p.tok.start]
	for range 2 {
		if p.at(0) == c {
			p.pos++
		}
	}
	if p.at(0) == '=' {
		p.pos++
	}
	p.tok.stop = p.pos
}

// regular goes past a regular expression whose / is the present token.
func (p *parser) regular() {
	class := false
	for p.pos = p.tok.start + 1; p.pos < len(p.src); p.pos++ {
		switch c := p.src[p.pos]; {
		case c == '\n', c == '\r':
			p.fail("the regular expression does not end on its line")
			return
		case c == '\\' && p.at(1) != '\n' && p.at(1) != '\r':
			p.pos++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			p.pos++
			for partOfWord(p.at(0)) {
				p.pos++
			}
			p.tok.stop = p.pos
			p.next()
			return
		}
	}
	p.fail("the regular expression does not end")
}

// templateText goes past the text of a template, from within it, to what ends it: a ` or a ${.
func (p *parser) templateText() (ended bool) {
	for ; p.pos < len(p.src); p.pos++ {
		switch c := p.src[p.pos]; {
		case c == '`':
			p.pos++
			return true
		case c == '$' && p.at(1) == '{':
			p.pos += 2
			return false
		case c == '\n':
			p.line++
		case c == '\\':
			p.escape()
		}
	}
	p.fail("the template does not end")
	return true
}

// template goes past a template whose ` is the present token; inner reads what stands in each ${}.
func (p *parser) template(inner func()) {
	p.enter()
	defer p.leave()
	for p.why == "" {
		if p.templateText() {
			p.tok.stop = p.pos
			p.next()
			return
		}
		p.next()
		inner()
		if p.tok.kind != '}' {
			p.unexpected("the template goes on with }")
		}
	}
}
