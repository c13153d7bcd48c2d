package python

// setup reads the literals of the call of setup() in a setup.py into s, as far as
// nothing else has said it. What is computed there is not known.
func (s *settings) setup(p *parser, tokens []token) {
	s.project = true
	for i := 0; i+1 < len(tokens); i++ {
		if p.says(i, "setup") && p.opens(i+1) && (i == 0 || tokens[i-1].word != wordDef) {
			s.arguments(p, i+2)
			return
		}
	}
}

// opens reports whether the token at i is an opening parenthesis.
func (p *parser) opens(i int) bool {
	return p.tokens[i].kind == kindOpen && p.text[p.tokens[i].start] == '('
}

// arguments reads the keyword arguments at i.
func (s *settings) arguments(p *parser, i int) {
	depth := 0
	for ; p.tokens[i].kind != kindEnd && depth >= 0; i++ {
		switch k := p.tokens[i].kind; {
		case k == kindOpen || k == kindField || k == kindFormat:
			depth++
		case k == kindClose || k == kindFieldEnd || k == kindFormatEnd:
			depth--
		case depth == 0 && k == kindName && p.tokens[i+1].kind == kindAssign:
			t := p.tokens[i]
			s.argument(p, string(p.text[t.start:t.end]), i+2)
		}
	}
}

// argument reads the value at i of a keyword argument, where it is a literal.
func (s *settings) argument(p *parser, name string, i int) {
	switch name {
	case "name":
		if v, end, ok := p.stringAt(i); ok && p.valueEnds(end) && s.name == "" {
			s.name = packageName(v)
		}
	case "packages":
		s.packagesAt(p, i)
	case "py_modules":
		if v, end, ok := p.stringsAt(i); ok && p.valueEnds(end) && s.modules == nil {
			s.modules = v
		}
	case "package_dir":
		if v, ok := p.pairsAt(i); ok && s.dirs == nil {
			s.dirs = v
		}
	}
}

// packagesAt reads the value at i of packages.
func (s *settings) packagesAt(p *parser, i int) {
	if s.packages != nil || s.find != nil {
		return
	}
	if v, end, ok := p.stringsAt(i); ok && p.valueEnds(end) {
		s.packages = v
	} else if f, ok := p.finderAt(i); ok {
		s.find = f
	}
}

// valueEnds reports whether an argument's value ends at i.
func (p *parser) valueEnds(i int) bool {
	return p.tokens[i].kind == kindComma || p.tokens[i].kind == kindClose
}

// stringsAt is the list or tuple of string literals at i.
func (p *parser) stringsAt(i int) (all []string, end int, ok bool) {
	if p.tokens[i].kind != kindOpen || p.text[p.tokens[i].start] == '{' {
		return nil, i, false
	}
	all = []string{}
	for i++; p.tokens[i].kind != kindClose; {
		one, next, ok := p.stringAt(i)
		if !ok {
			return nil, next, false
		}
		all = append(all, one)
		i = next
		if p.tokens[i].kind == kindComma {
			i++
		} else if p.tokens[i].kind != kindClose {
			return nil, i, false
		}
	}
	return all, i + 1, true
}

// pairsAt is the dict of string literals at i.
func (p *parser) pairsAt(i int) (all map[string]string, ok bool) {
	if p.tokens[i].kind != kindOpen || p.text[p.tokens[i].start] != '{' {
		return nil, false
	}
	all = map[string]string{}
	for i++; p.tokens[i].kind != kindClose; {
		key, next, ok := p.stringAt(i)
		if !ok || p.tokens[next].kind != kindColon {
			return nil, false
		}
		value, next, ok := p.stringAt(next + 1)
		if !ok {
			return nil, false
		}
		all[key] = value
		i = next
		if p.tokens[i].kind == kindComma {
			i++
		} else if p.tokens[i].kind != kindClose {
			return nil, false
		}
	}
	return all, p.valueEnds(i + 1)
}

// finderAt is the call of find_packages or find_namespace_packages at i, where its arguments are literals.
func (p *parser) finderAt(i int) (*finder, bool) {
	if p.says(i, "setuptools") && p.tokens[i+1].kind == kindDot {
		i += 2
	}
	f := &finder{shared: p.says(i, "find_namespace_packages")}
	if !f.shared && !p.says(i, "find_packages") || !p.opens(i+1) {
		return nil, false
	}
	i += 2
	for place := 0; p.tokens[i].kind != kindClose; place++ {
		into, at := f.field(p, i, place)
		all, next, ok := p.stringsAt(at)
		if !ok {
			var one string
			one, next, ok = p.stringAt(at)
			all = []string{one}
		}
		if !ok || into == nil || !p.valueEnds(next) {
			return nil, false
		}
		*into = all
		if i = next; p.tokens[i].kind == kindComma {
			i++
		}
	}
	return f, p.valueEnds(i + 1)
}

// field is what the argument at i sets, by its name or by its place, and where its value stands.
func (f *finder) field(p *parser, i, place int) (into *[]string, at int) {
	order := []*[]string{&f.where, &f.exclude, &f.include}
	for n, name := range []string{"where", "exclude", "include"} {
		if p.says(i, name) && p.tokens[i+1].kind == kindAssign {
			return order[n], i + 2
		}
	}
	if place < len(order) {
		return order[place], i
	}
	return nil, i
}
