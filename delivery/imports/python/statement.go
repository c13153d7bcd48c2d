package python

import "strings"

// simples reads the statements at i up to the end of the line, with semicolons between them.
func (p *parser) simples(i int) {
	for p.why == "" {
		i = p.simple(i)
		if p.why != "" {
			return
		}
		if p.tokens[i].kind != kindSemicolon {
			p.ended(i)
			return
		}
		i++
		if p.tokens[i].kind == kindEnd {
			return
		}
	}
}

// simple reads the statement at i, and returns where it ends.
func (p *parser) simple(i int) int {
	if p.tokens[i].kind != kindKeyword {
		return p.named(i)
	}
	switch p.tokens[i].word {
	case wordImport:
		return p.importStatement(i)
	case wordFrom:
		return p.fromStatement(i)
	case wordPass, wordBreak, wordContinue:
		return i + 1
	case wordReturn:
		return p.expression(i+1, mayBeEmpty)
	case wordRaise:
		return p.expression(i+1, mayBeEmpty|raises)
	case wordDel, wordAssert:
		return p.expression(i+1, 0)
	case wordGlobal, wordNonlocal:
		for {
			if p.tokens[i+1].kind != kindName {
				p.unexpected(i + 1)
				return i
			}
			i += 2
			if p.tokens[i].kind != kindComma {
				return i
			}
		}
	default:
	}
	return p.expression(i, 0)
}

// named reads a statement that begins with no keyword, though perhaps with a word that is one here.
func (p *parser) named(i int) int {
	if p.says(i, "type") && p.tokens[i+1].kind == kindName {
		return p.expression(i+1, 0)
	}
	if p.says(i, "lazy") {
		switch p.tokens[i+1].word {
		case wordImport:
			return p.importStatement(i + 1)
		case wordFrom:
			return p.fromStatement(i + 1)
		default:
		}
	}
	i = p.expression(i, 0)
	if p.why == "" && p.tokens[i].kind == kindColon {
		return p.expression(i+1, 0)
	}
	return i
}

// importStatement reads import a.b as c, d.
func (p *parser) importStatement(i int) int {
	line := p.tokens[i].line
	for {
		name, end := p.dotted(i + 1)
		if name == "" {
			p.fail(int(line), "import is not followed by the name of a module")
			return end
		}
		p.add(0, name, line)
		_, i = p.alias(end)
		if p.why != "" || p.tokens[i].kind != kindComma {
			return i
		}
	}
}

// dotted reads a.b.c at i; empty where there is no whole name.
func (p *parser) dotted(i int) (name string, end int) {
	t := p.tokens[i]
	if t.kind != kindName {
		return "", i
	}
	name = string(p.text[t.start:t.end])
	if p.tokens[i+1].kind != kindDot {
		return name, i + 1
	}
	var b strings.Builder
	b.WriteString(name)
	for i++; p.tokens[i].kind == kindDot; i += 2 {
		t := p.tokens[i+1]
		if t.kind != kindName {
			return "", i + 1
		}
		b.WriteByte('.')
		b.Write(p.text[t.start:t.end])
	}
	return b.String(), i
}

// alias reads "as name" at i, where it stands there.
func (p *parser) alias(i int) (name string, end int) {
	if p.tokens[i].word != wordAs {
		return "", i
	}
	t := p.tokens[i+1]
	if t.kind != kindName {
		p.unexpected(i + 1)
		return "", i
	}
	return string(p.text[t.start:t.end]), i + 2
}

// fromStatement reads from a.b import c as d, e.
func (p *parser) fromStatement(i int) int {
	line, dots := p.tokens[i].line, 0
	for i++; p.tokens[i].kind == kindDot || p.tokens[i].kind == kindEllipsis; i++ {
		dots++
		if p.tokens[i].kind == kindEllipsis {
			dots += 2
		}
	}
	module, end := p.dotted(i)
	if module == "" && (dots == 0 || end != i) || p.tokens[end].word != wordImport {
		p.fail(int(line), "from is not followed by the name of a module and import")
		return i
	}
	i = end + 1
	if p.tokens[i].kind == kindStar {
		p.add(dots, module, line)
		return i + 1
	}
	parens := p.tokens[i].kind == kindOpen && p.text[p.tokens[i].start] == '('
	if parens {
		i++
	}
	from := ask{dots: dots, name: module, line: int(line)}
	i = p.members(i, from, parens)
	if parens && p.why == "" {
		i++
	}
	return i
}

// members reads the names at i that are imported from a module, up to what ends them.
func (p *parser) members(i int, from ask, parens bool) int {
	for p.why == "" {
		t := p.tokens[i]
		if t.kind != kindName {
			p.unexpected(i)
			return i
		}
		name := string(p.text[t.start:t.end])
		as, end := p.alias(i + 1)
		p.loader(from, name, as)
		if from.name != "" {
			name = from.name + "." + name
		}
		p.add(from.dots, name, int32(from.line))
		i = end
		if p.tokens[i].kind == kindComma {
			i++
			if parens && p.tokens[i].kind == kindClose {
				return i
			}
			continue
		}
		if parens && p.tokens[i].kind != kindClose {
			p.unexpected(i)
		}
		return i
	}
	return i
}

func (p *parser) add(dots int, name string, line int32) {
	p.code.asks = append(p.code.asks, ask{dots: dots, name: name, line: int(line)})
}

// loader notes what a function that imports by name is called in this file.
func (p *parser) loader(from ask, name, as string) {
	if as != "" && (name == "import_module" && from.name == "importlib" || name == "__import__") {
		p.loaders[as] = true
	}
}
