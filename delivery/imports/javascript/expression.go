package javascript

// mode is what the place of an expression allows.
type mode uint8

const (
	commas    mode = 1 << iota // a, b
	noIn                       // in belongs to for
	inCase                     // a colon ends it
	annotated                  // it may turn out to be parameters: (a: T, b?: U)
	heritage                   // it stands behind extends
)

// expression is one that is being read: a row of operands and what stands between them.
type expression struct {
	mode    mode
	open    int  // how many ? wait for their :
	closed  int  // where brackets ended that may be parameters
	sure    bool // and they are, for they have types
	typed   bool // something in it has a type
	created bool // the operand stands behind new
}

// action is what comes next.
type action uint8

const (
	done    action = iota
	more           // of the same operand
	operand        // another one
)

// expression reads one, and says whether something in it has a type, as parameters do.
func (p *parser) expression(m mode) bool {
	e := expression{mode: m}
	for {
		for e.created = false; ; {
			a := p.operand(&e)
			if a == done {
				return e.typed
			}
			if a == more {
				break
			}
		}
		a := more
		for a == more && p.why == "" {
			a = p.behind(&e)
		}
		if a != operand || p.why != "" {
			return e.typed
		}
	}
}

// operand reads an operand, or something that stands before one.
func (p *parser) operand(e *expression) action {
	switch p.tok.kind {
	case '+', '-', '!', '~', step:
		p.next()
		return operand
	case spread:
		p.next()
		e.typed = true
		return operand
	case '<':
		return p.lessOperand()
	case '(':
		p.parameters(e)
	case '[':
		p.list()
	case '{':
		p.object()
	case '/':
		p.regular()
	case text, number, private:
		p.next()
	case template:
		p.template(func() { p.expression(commas) })
	case '@':
		p.decorator()
		return operand
	case word:
		return p.wordOperand(e)
	default:
		p.unexpected("an expression would be right")
		return done
	}
	return more
}

// lessOperand reads what < begins where an operand is awaited: an element, or types.
func (p *parser) lessOperand() action {
	if p.ts && (!p.jsx || p.generic()) {
		p.angle()
		return operand
	}
	if !p.jsx {
		p.unexpected("an expression would be right")
		return done
	}
	p.elements()
	return more
}

func (p *parser) wordOperand(e *expression) action {
	switch w := p.word(); w {
	case "typeof", "void", "delete":
		p.next()
		return operand
	case "await":
		p.next()
		return p.ifOperand()
	case "yield":
		p.next()
		if p.take('*') {
			return operand
		}
		if p.tok.fresh {
			return more
		}
		return p.ifOperand()
	case "new":
		return p.newOperand(e)
	case "function":
		p.function()
	case "class":
		p.class()
	case "async":
		p.asyncOperand(e)
	case "import":
		p.importOperand()
	case "require":
		p.requireOperand(e)
	case "if", "for", "while", "do", "return", "throw", "break", "continue", "switch", "case", "default", "try", "catch",
		"finally", "var", "const", "else", "export", "with", "debugger", "in", "instanceof", "extends":
		p.unexpected("an expression would be right")
		return done
	default:
		p.next()
	}
	return more
}

// ifOperand tells await x from a variable of that name.
func (p *parser) ifOperand() action {
	switch p.tok.kind {
	case word:
		if between(p.word()) || p.is("of") {
			return more
		}
		return operand
	case text, number, private, template, '(', '[', '{', '/', '+', '-', '!', '~', '@', step:
		return operand
	case '<':
		if p.jsx || p.ts {
			return operand
		}
	default:
	}
	return more
}

func (p *parser) newOperand(e *expression) action {
	p.next()
	if p.take('.') { // new.target
		p.next()
		return more
	}
	e.created = true
	return operand
}

func (p *parser) asyncOperand(e *expression) {
	p.next()
	switch {
	case p.tok.fresh && p.tok.kind != '(':
	case p.is("function"):
		p.function()
	case p.tok.kind == word && !between(p.word()) && !p.is("of"):
		p.next()
	case p.tok.kind == '(':
		p.parameters(e)
	case p.tok.kind == '<' && p.ts:
		if p.arguments(e.mode) && p.tok.kind == '(' {
			p.parameters(e)
		}
	}
}

// importOperand reads import( and import.meta, where import is an operand.
func (p *parser) importOperand() {
	p.next()
	if p.tok.kind == '(' {
		p.keepLiteral()
		return
	}
	if !p.take('.') {
		p.unexpected("import is followed by ( or . in an expression")
		return
	}
	phase := p.is("defer") || p.is("source")
	meta := p.is("meta")
	p.next()
	if meta && p.tok.kind == '.' {
		p.next()
		phase = p.is("resolve")
		p.next()
	}
	if phase {
		p.keepLiteral()
	}
}

func (p *parser) requireOperand(e *expression) {
	p.next()
	if e.created {
		return
	}
	switch p.tok.kind {
	case '.':
		p.next()
		resolve := p.is("resolve")
		p.next()
		if resolve {
			p.keepLiteral()
		}
	case chain:
		if next, _ := p.peek(); next.kind == '(' {
			p.next()
			p.keepLiteral()
		}
	default:
		p.keepLiteral()
	}
}

// behind reads what may stand behind an operand.
func (p *parser) behind(e *expression) action {
	switch p.tok.kind {
	case '.', chain:
		p.next()
		if p.tok.kind == word || p.tok.kind == private {
			p.next()
		}
	case '(':
		p.group()
	case '[':
		p.index()
	case template:
		p.template(func() { p.expression(commas) })
	case step:
		if p.tok.fresh {
			return done
		}
		p.next()
	case '!':
		if !p.ts || p.tok.fresh {
			return done
		}
		p.next()
	case '<':
		return p.less(e)
	default:
		return p.operator(e)
	}
	return more
}

func (p *parser) operator(e *expression) action {
	switch p.tok.kind {
	case '>':
		p.shift()
		p.next()
	case '/':
		if p.at(0) == '=' {
			p.pos++
		}
		p.next()
	case operator, '=', '+', '-', '*', '&', '|':
		p.next()
	case '?':
		return p.question(e)
	case ':':
		return p.colon(e)
	case ',':
		return p.comma(e)
	case arrow:
		return p.arrow(e)
	case word:
		return p.wordOperator(e)
	default:
		return done
	}
	return operand
}

func (p *parser) comma(e *expression) action {
	if e.mode&commas == 0 {
		return done
	}
	p.next()
	if p.tok.kind == ')' || p.tok.kind == ']' {
		return done
	}
	return operand
}

// less reads a < behind an operand: the types of a call, or an operator.
func (p *parser) less(e *expression) action {
	if p.ts && p.at(0) != '=' && p.arguments(e.mode) {
		return more
	}
	p.shift()
	p.next()
	return operand
}

func (p *parser) question(e *expression) action {
	p.next()
	if k := p.tok.kind; p.ts && e.mode&annotated != 0 && (k == ')' || k == ',' || k == ':' || k == '=') {
		e.typed = true
		return more
	}
	e.open++
	return operand
}

func (p *parser) wordOperator(e *expression) action {
	switch w := p.word(); {
	case w == "in" && e.mode&noIn == 0, w == "instanceof":
		p.next()
		return operand
	case p.ts && !p.tok.fresh && (w == "as" || w == "satisfies"):
		p.next()
		p.typ()
		return more
	}
	return done
}
