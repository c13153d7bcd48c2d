package python

import "strings"

// calls reads the calls of a logical line that import by name: import_module("a.b")
// and __import__("a.b"), where the name is a literal.
func (p *parser) calls() {
	for i := 0; i+2 < len(p.tokens) && p.why == ""; i++ {
		t := p.tokens[i]
		if t.kind != kindName || p.tokens[i+1].kind != kindOpen || p.text[p.tokens[i+1].start] != '(' {
			continue
		}
		switch name := p.text[t.start:t.end]; {
		case p.loaders[string(name)]:
			p.load(i+2, t.line)
		case string(name) == "extend_path" || string(name) == "declare_namespace":
			p.code.namespace = true
		}
	}
}

// load reads the arguments at i of a call that imports by name.
func (p *parser) load(i int, line int32) {
	if p.says(i, "name") && p.tokens[i+1].kind == kindAssign {
		i += 2
	}
	name, i, ok := p.stringAt(i)
	if !ok || p.tokens[i].kind != kindComma && p.tokens[i].kind != kindClose {
		return
	}
	dots := len(name) - len(strings.TrimLeft(name, "."))
	switch name = name[dots:]; {
	case !dottedName(name):
	case dots == 0 && !p.levelled(i):
		p.add(0, name, line)
	case dots > 0:
		p.relative(i, dots, name, line)
	}
}

// relative reads the package that import_module("..a", "b.c") counts from. Where it
// is not a literal, it is the file's own.
func (p *parser) relative(i, dots int, name string, line int32) {
	if p.tokens[i].kind == kindComma {
		i++
		if p.says(i, "package") && p.tokens[i+1].kind == kindAssign {
			i += 2
		}
	}
	from, _, ok := p.stringAt(i)
	if !ok || !dottedName(from) {
		return
	}
	for ; dots > 1; dots-- {
		cut := strings.LastIndexByte(from, '.')
		if cut < 0 {
			return
		}
		from = from[:cut]
	}
	p.add(0, from+"."+name, line)
}

// levelled reports whether the arguments of __import__ that follow say that the name is relative.
func (p *parser) levelled(i int) bool {
	depth, place := 0, 0
	for ; p.tokens[i].kind != kindEnd; i++ {
		switch p.tokens[i].kind {
		case kindOpen, kindField:
			depth++
		case kindClose, kindFieldEnd:
			if depth == 0 {
				return false
			}
			depth--
		case kindComma:
			if depth > 0 {
				continue
			}
			place++
			t := p.tokens[i+1]
			if p.says(i+1, "level") && p.tokens[i+2].kind == kindAssign {
				t = p.tokens[i+3]
			} else if place != 4 {
				continue
			}
			return t.kind != kindNumber || p.text[t.start] != '0'
		default:
		}
	}
	return false
}

// stringAt is the value of the string at i, and of those that it is joined with;
// false where there is none, or none whose value is as it is written.
func (p *parser) stringAt(i int) (value string, end int, ok bool) {
	for ; p.tokens[i].kind == kindString; i++ {
		t := p.tokens[i]
		part, plain := unquoted(p.text[t.start:t.end])
		if !plain {
			return "", i, false
		}
		value += part
		ok = true
		if len(value) > 4096 {
			return "", i, false
		}
	}
	return value, i, ok
}

// unquoted is the value of a string literal; false for bytes and for what holds escapes.
func unquoted(text []byte) (string, bool) {
	raw := false
	for len(text) > 0 && letter(text[0]) {
		if text[0]|0x20 == 'b' {
			return "", false
		}
		raw = raw || text[0]|0x20 == 'r'
		text = text[1:]
	}
	n := 1
	if len(text) >= 6 && text[0] == text[1] && text[0] == text[2] {
		n = 3
	}
	if len(text) < 2*n {
		return "", false
	}
	value := string(text[n : len(text)-n])
	return value, raw || !strings.Contains(value, `\`)
}

// dottedName reports whether text is names with dots between them.
func dottedName(text string) bool {
	for part := range strings.SplitSeq(text, ".") {
		if !identifier(part) {
			return false
		}
	}
	return true
}

// identifier reports whether text can be written as a name.
func identifier(text string) bool {
	for i, r := range text {
		if r != '_' && !nameRune(r, i == 0) {
			return false
		}
	}
	return text != ""
}
