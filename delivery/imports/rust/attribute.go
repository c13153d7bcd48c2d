package rust

// attributes is what stands in #[…] before something.
type attributes struct {
	live  truth    // whether it is compiled where tests are not
	test  truth    // whether it is compiled where tests are
	paths []string // of a module, where its file may be
	cfg   bool     // there was a condition
	tests bool     // it is a test
}

// attributes reads those that begin at i, and what they are of.
func (w *walker) attributes(i, j int, s *scope, st *state) int {
	if w.is(i+1, j, "!") && w.is(i+2, j, "[") {
		return w.innerAttribute(i+2, j, s, st)
	}
	a := attributes{live: yes, test: yes}
	from := i
	for w.is(i, j, "#") && w.is(i+1, j, "[") {
		w.attribute(&a, i+2, w.tokens[i+1].mate, 0)
		i = w.tokens[i+1].mate + 1
	}
	if i == from {
		return i + 1
	}
	if a.live == no && a.test == no {
		return w.extent(i, j)
	}
	inner := *st
	inner.tests = inner.tests || a.live == no || a.tests
	inner.maybe = inner.maybe || a.cfg
	for at := from; at < i; at = w.tokens[at+1].mate + 1 {
		w.mentions(at+2, w.tokens[at+1].mate, s, inner)
	}
	if at := w.visible(i, j); w.is(at, j, "mod") && w.isName(at+1, j) {
		return w.module(at, j, s, inner, a)
	}
	if inner == *st {
		return i
	}
	end := w.extent(i, j)
	inner.depth++
	w.walk(i, end, s, inner)
	return end
}

// innerAttribute reads #![…], which is of all that follows.
func (w *walker) innerAttribute(i, j int, s *scope, st *state) int {
	a := attributes{live: yes, test: yes}
	w.attribute(&a, i+1, w.tokens[i].mate, 0)
	if a.live == no && a.test == no {
		return j
	}
	st.tests = st.tests || a.live == no
	st.maybe = st.maybe || a.cfg
	w.mentions(i+1, w.tokens[i].mate, s, *st)
	return w.tokens[i].mate + 1
}

// attribute reads what one attribute says of what it stands before.
func (w *walker) attribute(a *attributes, i, j, depth int) {
	if i >= j || depth > maxNested {
		return
	}
	group := i+1 < j && w.tokens[i+1].kind == opens
	switch w.tokens[i].text {
	case "cfg":
		if group {
			inside := w.tokens[i+2 : w.tokens[i+1].mate]
			a.cfg = true
			a.live, a.test = min(a.live, w.when(no).cfg(inside)), min(a.test, w.when(yes).cfg(inside))
		}
		return
	case "cfg_attr":
		if group {
			w.conditional(a, i+2, w.tokens[i+1].mate, depth)
		}
		return
	case "path":
		if w.is(i+1, j, "=") && i+2 < j && w.tokens[i+2].kind == text {
			a.paths = append(a.paths, w.tokens[i+2].text)
		}
		return
	}
	last := i
	for w.is(last+1, j, "::") && w.isName(last+2, j) {
		last += 2
	}
	a.tests = a.tests || w.tokens[last].text == "test" || w.tokens[last].text == "bench"
}

func (w *walker) when(test truth) conditions {
	c := w.known
	c.test = test
	return c
}

// conditional reads cfg_attr(condition, attribute, …).
func (w *walker) conditional(a *attributes, i, j, depth int) {
	condition, at := true, i
	for _, part := range commas(w.tokens[i:j]) {
		switch {
		case condition && w.when(perhaps).cfg(part) == no:
			return
		case !condition && (len(part) == 0 || part[0].text != "cfg"):
			w.attribute(a, at, at+len(part), depth+1)
		}
		condition = false
		at += len(part) + 1
	}
}

// heavy is how much deeper an attribute that stands in another counts: each is looked
// through again for each that it stands in.
const heavy = maxDepth / maxNested

// mentions reads the names in an attribute. Lints name none.
func (w *walker) mentions(i, j int, s *scope, st state) {
	if st.depth += heavy; i >= j || st.depth > maxDepth {
		return
	}
	switch w.tokens[i].text {
	case "allow", "warn", "deny", "forbid", "expect", "cfg", "path", "rustfmt", "clippy":
		return
	case "cfg_attr":
		if w.is(i+1, j, "(") {
			at := i + 2
			for n, part := range commas(w.tokens[at:w.tokens[i+1].mate]) {
				switch {
				case n > 0:
					w.mentions(at, at+len(part), s, st)
				case w.when(perhaps).cfg(part) == no:
					return
				}
				at += len(part) + 1
			}
			return
		}
	}
	w.walk(i, j, s, st)
}

// visible is what follows pub, or pub(…).
func (w *walker) visible(i, j int) int {
	if !w.is(i, j, "pub") {
		return i
	}
	if w.is(i+1, j, "(") {
		return w.tokens[i+1].mate + 1
	}
	return i + 1
}

// extent is where what begins at i ends: an item, a statement, a field, an arm.
func (w *walker) extent(i, j int) int {
	at := w.visible(i, j)
	form := w.form(at, j)
	angle := 0
	for ; at < j; at++ {
		t := w.tokens[at]
		switch {
		case t.kind == opens && t.text == "{" && form != sentence:
			at = t.mate
			if end := w.after(at+1, j); end > 0 || form == item {
				return max(end, at+1)
			}
		case t.kind == opens:
			at = t.mate
		case t.kind != punct:
		case t.text == "#" && w.is(at+1, j, "["):
			return at
		case t.text == ";":
			return at + 1
		case t.text == "<" && form == field:
			angle++
		case t.text == ">" && form == field:
			angle--
		case t.text == "," && form != item && angle <= 0:
			return at + 1
		}
	}
	return j
}

// after is where something ends that a } may end, or 0 where more follows.
func (w *walker) after(i, j int) int {
	switch {
	case w.is(i, j, ","):
		return i + 1
	case w.is(i, j, "else") || w.is(i, j, ".") || w.is(i, j, "?") || w.is(i, j, "=>") || w.is(i, j, ";"):
		return 0
	}
	return i
}

// form is how something ends.
type form int

const (
	expression form = iota // with ; or , or }
	item                   // with ; or }
	sentence               // with ;
	field                  // as an expression, but < and > are brackets
)

func (w *walker) form(i, j int) form {
	if i >= j {
		return expression
	}
	switch w.tokens[i].text {
	case "use", "let", "static", "type", "return":
		return sentence
	case "const":
		if !w.is(i+1, j, "fn") && !w.is(i+1, j, "unsafe") && !w.is(i+1, j, "async") && !w.is(i+1, j, "extern") {
			return sentence
		}
		return item
	case "extern", "fn", "struct", "enum", "union", "trait", "impl", "mod", "async", "macro_rules", "default":
		return item
	case "unsafe":
		if !w.is(i+1, j, "{") {
			return item
		}
	}
	if w.is(i+1, j, ":") {
		return field
	}
	return expression
}
