package python

// mode is what an expression may be where it stands.
type mode uint8

const (
	mayBeEmpty mode = 1 << iota
	parameters      // of a function or class
	raises          // raise a from b
	heads           // a block, so that it assigns nothing
)

// level is a bracket of an expression, a field of an f-string, or the expression as a whole.
type level struct {
	kind    kind
	open    byte
	lambdas int  // whose colon is still to come
	params  bool // of a function

	subscript bool // something stands in it
}

// scan is where the reading of an expression stands: operands and operators take turns.
type scan struct {
	p      *parser
	i      int
	how    mode
	want   bool // an operand is expected
	free   bool // and yet it may be missing
	comma  bool // because of a comma
	sliced bool // or of a slice's colon
	opened bool // nothing stands yet in a subscript, or in brackets
	joined bool // a string was read, which another may follow
}

// expression reads the expression at i, and returns where it ends: at a colon, a
// semicolon or the end of the line. It sees that brackets, operands and operators
// are in an order that makes sense, not what they mean.
func (p *parser) expression(i int, how mode) int {
	p.levels = append(p.levels[:0], level{})
	s := scan{p: p, i: i, how: how, want: true, free: how&mayBeEmpty != 0}
	for p.why == "" {
		l := &p.levels[len(p.levels)-1]
		if len(p.levels) == 1 && s.ends(l) {
			return s.i
		}
		if !s.step(l) {
			p.unexpected(s.i)
			break
		}
		s.i++
	}
	return i
}

// ends reports whether the expression as a whole ends here.
func (s *scan) ends(l *level) bool {
	switch s.p.tokens[s.i].kind {
	case kindColon, kindSemicolon, kindEnd:
		return l.lambdas == 0 && (!s.want || s.free)
	default:
	}
	return false
}

// step reads one token; false if it cannot stand here.
func (s *scan) step(l *level) bool {
	switch {
	case l.kind == kindFormat || l.kind == kindSpec:
		return s.inString()
	case s.want:
		return s.operand(l)
	}
	return s.operator(l)
}

// after sets what may come next.
func (s *scan) after(want bool) bool {
	*s = scan{p: s.p, i: s.i, how: s.how, want: want}
	return true
}

func (s *scan) push(l level) bool {
	s.p.levels = append(s.p.levels, l)
	s.after(true)
	s.opened = l.kind == kindOpen
	s.free = s.opened && !l.subscript
	return true
}

// pop ends a level, which is then an operand.
func (s *scan) pop(l *level) bool {
	if l.lambdas > 0 || s.want && !s.free {
		return false
	}
	s.p.levels = s.p.levels[:len(s.p.levels)-1]
	return s.after(false)
}

// inString reads what stands in an f-string between its fields.
func (s *scan) inString() bool {
	switch s.p.tokens[s.i].kind {
	case kindField:
		return s.push(level{kind: kindField})
	case kindFormatEnd:
		s.p.levels = s.p.levels[:len(s.p.levels)-1]
		s.after(false)
		s.joined = true
		return true
	case kindFieldEnd:
		s.p.levels = s.p.levels[:len(s.p.levels)-1]
		return true
	default:
	}
	return false
}

// operand reads a token where an operand is expected.
func (s *scan) operand(l *level) bool {
	switch t := s.p.tokens[s.i]; t.kind {
	case kindName, kindNumber, kindEllipsis:
		return s.after(false)
	case kindString:
		s.after(false)
		s.joined = true
		return true
	case kindFormat:
		return s.push(level{kind: kindFormat})
	case kindOpen:
		open := s.p.text[t.start]
		return s.push(level{kind: kindOpen, open: open})
	case kindStar, kindSlash:
		return s.star(l, t.kind)
	case kindSign, kindTilde, kindStars:
		return s.after(true)
	case kindKeyword:
		return s.operandWord(l, t.word)
	case kindColon:
		return (s.free || s.opened) && s.colon(l)
	case kindComma:
		return s.sliced && s.commaNext()
	case kindAssign:
		return s.comma && len(s.p.levels) == 1 && s.assign(l)
	default:
	}
	return s.closes(l)
}

// star reads * before an operand, and the * and / that part parameters.
func (s *scan) star(l *level, k kind) bool {
	if l.params || l.lambdas > 0 {
		switch s.p.tokens[s.i+1].kind {
		case kindComma, kindColon, kindClose:
			return s.after(false)
		default:
		}
	}
	return k == kindStar && s.after(true)
}

// operandWord reads a keyword where an operand is expected.
func (s *scan) operandWord(l *level, w word) bool {
	switch w {
	case wordTrue, wordFalse, wordNoneValue:
		return s.after(false)
	case wordNot, wordAwait:
		return s.after(true)
	case wordLambda:
		l.lambdas++
		s.after(true)
		s.free = true
		return true
	case wordYield:
		s.after(true)
		s.free = s.p.tokens[s.i+1].word != wordFrom
		if !s.free {
			s.i++
		}
		return true
	case wordIn:
		return s.comma && s.after(true)
	default:
	}
	return false
}

// closes reads what ends a bracket or a field.
func (s *scan) closes(l *level) bool {
	switch s.p.tokens[s.i].kind {
	case kindClose:
		return l.kind == kindOpen && s.pop(l)
	case kindFieldEnd:
		if l.kind != kindField || !s.pop(l) {
			return false
		}
		return true
	case kindConversion:
		return l.kind == kindField && l.lambdas == 0 && (!s.want || s.free) && s.converted()
	case kindSpec:
		if l.kind != kindField || l.lambdas > 0 || s.want && !s.free {
			return false
		}
		l.kind = kindSpec
		return true
	default:
	}
	return false
}

// converted sees that a conversion is the last thing in a field before its format.
func (s *scan) converted() bool {
	next := s.p.tokens[s.i+1].kind
	s.after(false)
	return next == kindSpec || next == kindFieldEnd
}

// operator reads a token where an operator is expected.
func (s *scan) operator(l *level) bool {
	switch t := s.p.tokens[s.i]; t.kind {
	case kindBinary, kindSign, kindStar, kindStars, kindSlash, kindAt, kindWalrus:
		return s.after(true)
	case kindAugmented:
		return len(s.p.levels) == 1 && s.how&(heads|parameters) == 0 && s.after(true)
	case kindArrow:
		return len(s.p.levels) == 1 && s.how&parameters != 0 && s.after(true)
	case kindAssign:
		return s.assign(l)
	case kindDot:
		s.i++
		return s.p.tokens[s.i].kind == kindName && s.after(false)
	case kindComma:
		return (len(s.p.levels) > 1 || s.how&raises == 0) && s.commaNext()
	case kindColon:
		return s.colon(l)
	case kindOpen:
		open := s.p.text[t.start]
		params := open == '(' && len(s.p.levels) == 1 && s.how&parameters != 0
		return open != '{' && s.push(level{kind: kindOpen, open: open, params: params, subscript: open == '['})
	case kindString:
		return s.joined
	case kindFormat:
		return s.joined && s.push(level{kind: kindFormat})
	case kindKeyword:
		return s.operatorWord(t.word)
	default:
	}
	return s.closes(l)
}

func (s *scan) commaNext() bool {
	s.after(true)
	s.free, s.comma = true, true
	return true
}

// assign reads = in an assignment, before an argument's or a parameter's value, and at the end of a field.
func (s *scan) assign(l *level) bool {
	if l.lambdas == 0 && (l.open == '{' || len(s.p.levels) == 1 && s.how&(heads|parameters) != 0) {
		return false
	}
	s.after(true)
	s.free = l.kind == kindField
	return true
}

// colon reads the colon of a lambda, a parameter, a dict or a slice.
func (s *scan) colon(l *level) bool {
	switch {
	case l.lambdas > 0:
		l.lambdas--
		return s.after(true)
	case l.open == '[':
		s.after(true)
		s.free, s.sliced = true, true
		return true
	case l.open == '{' && !s.want, l.params && !s.want:
		return s.after(true)
	}
	return false
}

// operatorWord reads a keyword where an operator is expected.
func (s *scan) operatorWord(w word) bool {
	next := s.p.tokens[s.i+1].word
	switch w {
	case wordAnd, wordOr, wordIn, wordIs, wordIf, wordElse, wordFor, wordAs:
		return s.after(true)
	case wordNot:
		s.i++
		return next == wordIn && s.after(true)
	case wordAsync:
		s.i++
		return next == wordFor && s.after(true)
	case wordFrom:
		return s.how&raises != 0 && s.after(true)
	default:
	}
	return false
}
