package rust

import (
	"fmt"
	"path"
	"slices"
)

// walker reads the tokens of one file.
type walker struct {
	*reader
	pending
	tokens []token
	deep   bool
}

// state is what holds where the walker is.
type state struct {
	tests bool // only tests are compiled from it
	maybe bool // it may not be compiled at all: behind a condition, or in a macro
	depth int
}

func (w *walker) walk(i, j int, s *scope, st state) {
	if st.depth > maxDepth {
		if !w.deep {
			w.deep = true
			w.fault(w.file, w.tokens[i-1].line, fmt.Sprintf("brackets stand in each other more than %d deep", maxDepth))
		}
		return
	}
	for i < j {
		i = w.step(i, j, s, &st)
	}
}

// step reads what begins at i, and is where the next begins.
func (w *walker) step(i, j int, s *scope, st *state) int {
	t := w.tokens[i]
	switch {
	case t.kind == opens:
		w.group(i, s, *st)
		return t.mate + 1
	case t.kind == ident:
		return w.word(i, j, s, st)
	case t.kind == raw:
		w.path(i, j, s, *st)
	case t.kind != punct:
	case t.text == "#":
		return w.attributes(i, j, s, st)
	case t.text == "::" && w.leads(i) && w.isName(i+1, j):
		w.mention(i+1, global, s, *st)
		return i + 2
	}
	return i + 1
}

// group reads what stands in brackets. A block has names of its own.
func (w *walker) group(i int, s *scope, st state) {
	st.depth++
	if w.tokens[i].text == "{" {
		s = &scope{module: s.module, outer: s}
	}
	w.walk(i+1, w.tokens[i].mate, s, st)
}

func (w *walker) is(i, j int, text string) bool {
	return i < j && w.tokens[i].kind != raw && w.tokens[i].text == text
}

func (w *walker) isName(i, j int) bool {
	return i < j && (w.tokens[i].kind == ident || w.tokens[i].kind == raw)
}

// word reads a name or a keyword.
func (w *walker) word(i, j int, s *scope, st *state) int {
	switch w.tokens[i].text {
	case "use":
		if i+1 < j && !w.is(i+1, j, "<") {
			return w.useItem(i+1, j, s, *st)
		}
	case "extern":
		if w.is(i+1, j, "crate") && w.isName(i+2, j) {
			return w.externCrate(i+2, j, s, *st)
		}
	case "mod":
		if w.isName(i+1, j) && (w.is(i+2, j, ";") || w.is(i+2, j, "{")) {
			return w.module(i, j, s, *st, attributes{})
		}
	case "struct", "enum", "union", "trait", "type":
		if w.isName(i+1, j) && !w.is(i+2, j, "::") {
			s.declare(w.tokens[i+1].text)
			return i + 2
		}
	}
	return w.name(i, j, s, *st)
}

// name reads what begins with a name: a macro, or a path.
func (w *walker) name(i, j int, s *scope, st state) int {
	switch {
	case !w.is(i+1, j, "!"):
	case i+2 < j && w.tokens[i+2].kind == opens:
		return w.call(i, s, st)
	case w.tokens[i].text == "macro_rules" && w.isName(i+2, j) && i+3 < j && w.tokens[i+3].kind == opens:
		st.maybe = true
		w.group(i+3, &scope{module: s.module, outer: s}, st)
		return w.tokens[i+3].mate + 1
	}
	w.path(i, j, s, st)
	return i + 1
}

// call reads name!(…). What stands in a template is asked for by those who get it.
func (w *walker) call(i int, s *scope, st state) int {
	from, to := i+3, w.tokens[i+2].mate
	switch name := w.tokens[i].text; name {
	case "quote", "quote_spanned", "parse_quote", "parse_quote_spanned", "stringify":
		return to + 1
	case "include", "include_str", "include_bytes":
		if from < to && w.tokens[from].kind == text {
			w.include(w.tokens[from], s, st, name == "include")
		}
		return to + 1
	}
	st.maybe = true
	st.depth++
	w.walk(from, to, s, st)
	return to + 1
}

// include reads a file as if it stood here, or notes one that is not the module's.
func (w *walker) include(t token, s *scope, st state, code bool) {
	file := path.Join(dirOf(w.file), t.text)
	switch {
	case !w.has(file):
		w.outside(file, t.line, st.tests)
	case code:
		w.load(pending{c: w.c, use: w.use, file: file, scope: s, state: state{tests: st.tests, maybe: true}})
	}
}

// leads reports whether :: begins a path, and does not go on with one.
func (w *walker) leads(i int) bool {
	if i == 0 {
		return true
	}
	switch before := w.tokens[i-1]; before.kind {
	case ident:
		return keyword(before.text)
	case closes:
		return before.text == "}"
	case punct:
		return before.end() != w.tokens[i].from || before.text != ">" && !w.repeated(i-1)
	case raw, text, other:
		return false
	case opens:
	}
	return true
}

// repeated reports whether the token at i says how often what is before it stands
// in a macro: $(…)*, or with a sign between each $(…)::*.
func (w *walker) repeated(i int) bool {
	t := w.tokens[i].text
	return (t == "*" || t == "+" || t == "?") && i > 1 && (w.tokens[i-1].kind == closes || w.tokens[i-2].kind == closes)
}

// keyword reports whether a name is a keyword after which a path may begin.
func keyword(s string) bool {
	return slices.Contains([]string{
		"as", "async", "await", "box", "break", "const", "do", "dyn", "else", "for", "if", "impl", "in", "let",
		"loop", "match", "move", "mut", "pub", "ref", "return", "static", "unsafe", "use", "where", "while", "yield",
	}, s)
}

// path reads a name with which a path may begin.
func (w *walker) path(i, j int, s *scope, st state) {
	if !w.is(i+1, j, "::") || !w.isName(i+2, j) && !w.is(i+2, j, "$") {
		return
	}
	if i > 0 && w.tokens[i-1].kind == punct {
		switch before := w.tokens[i-1].text; {
		case before == "::" || before == "$":
			return
		case before == "." && (i < 2 || w.tokens[i-2].text != "."):
			return
		}
	}
	w.mention(i, relative, s, st)
}
