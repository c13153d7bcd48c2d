package javascript

// generic reports whether < begins types and no element, where both may come.
func (p *parser) generic() bool {
	m, spare := p.mark(), p.spare
	defer func() {
		p.back(m)
		p.spare = spare
	}()
	p.next()
	if p.is("const") {
		p.next()
	}
	if p.tok.kind != word {
		return false
	}
	p.next()
	switch {
	case p.tok.kind == ',', p.tok.kind == '=':
		return true
	case p.is("extends"):
		p.next()
		return p.tok.kind != '=' && p.tok.kind != '>' && p.tok.kind != '/'
	}
	return false
}

// elements reads an element with all that lies in it.
func (p *parser) elements() {
	p.enter()
	defer p.leave()
	if p.element == 0 {
		p.element = p.tok.line
	}
	var open []string
	for p.why == "" {
		open = p.tag(open)
		if p.why != "" {
			return
		}
		if len(open) == 0 {
			p.next()
			return
		}
		p.children()
	}
}

// tag reads a tag to its >, and gives the elements that are open behind it.
func (p *parser) tag(open []string) []string {
	p.expect('<')
	if p.take('/') {
		name := p.tagName()
		switch {
		case p.tok.kind != '>':
			p.unexpected("the tag ends with >")
		case len(open) == 0 || open[len(open)-1] != name:
			p.fail("</%s> closes what is not open", short([]byte(name)))
		default:
			open = open[:len(open)-1]
		}
		return open
	}
	name := p.tagName()
	if p.ts && p.tok.kind == '<' {
		p.angle()
	}
	for p.why == "" && p.tok.kind != '>' {
		switch p.tok.kind {
		case word:
			p.attribute()
		case '{':
			p.next()
			p.expression(commas)
			p.expect('}')
		case '/':
			p.next()
			if p.tok.kind != '>' {
				p.unexpected("the tag ends with />")
			}
			return open
		default:
			p.unexpected("an attribute or > would be right")
		}
	}
	return append(open, name)
}

// tagName reads a name that may have - : and . in it.
func (p *parser) tagName() string {
	name := ""
	for p.tok.kind == word {
		for partOfWord(p.at(0)) || p.at(0) == '-' {
			p.pos++
		}
		name += string(p.src[p.tok.start:p.pos])
		p.next()
		if p.tok.kind != ':' && p.tok.kind != '.' {
			break
		}
		name += string(rune(p.tok.kind))
		p.next()
	}
	return name
}

func (p *parser) attribute() {
	p.tagName()
	if p.tok.kind != '=' {
		return
	}
	p.trivia()
	if quote := p.at(0); quote == '"' || quote == '\'' {
		p.quoted(quote)
		return
	}
	p.next()
	switch p.tok.kind {
	case '{':
		p.next()
		p.expression(commas)
		p.expect('}')
	case '<':
		p.elements()
	default:
		p.unexpected("a string or { would be right")
	}
}

// quoted goes past the value of an attribute, which has no escapes and as many lines as it likes.
func (p *parser) quoted(quote byte) {
	for p.pos++; p.pos < len(p.src); p.pos++ {
		switch p.src[p.pos] {
		case quote:
			p.pos++
			p.next()
			return
		case '\n':
			p.line++
		}
	}
	p.fail("the value of the attribute does not end")
}

// children goes past text and {…} to the next tag, whose < is then the present token.
func (p *parser) children() {
	for ; p.pos < len(p.src) && p.why == ""; p.pos++ {
		switch p.src[p.pos] {
		case '\n':
			p.line++
		case '<':
			p.next()
			return
		case '{':
			p.pos++
			p.next()
			if p.tok.kind != '}' {
				p.expression(commas)
			}
			if p.tok.kind != '}' {
				p.unexpected("} would be right")
				return
			}
			p.pos-- // the loop goes on behind the }
		}
	}
	p.fail("the element does not end")
}
