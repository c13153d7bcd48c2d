package javascript

import (
	"bytes"
	"path"
	"slices"
)

// mostScripts is how many scripts of one component are read; a component has two at most.
const mostScripts = 8

// script is one block of code of a component.
type script struct {
	text []byte
	line int    // that it begins on
	lang string // what it says it is written in
	from string // where its code is instead
	open bool   // it does not end
}

// component reports whether a file is one of Vue's or Svelte's, with its code in scripts.
func component(file string) bool {
	ending := path.Ext(file)
	return ending == ".vue" || ending == ".svelte"
}

// dialect is how a script is read, and whether it is read at all.
func (s script) dialect() (dialect, bool) {
	switch s.lang {
	case "", "js", "javascript", "jsx", "babel":
		return dialect{jsx: true, line: s.line}, true
	case "ts", "typescript":
		return dialect{ts: true, line: s.line}, true
	case "tsx":
		return dialect{ts: true, jsx: true, line: s.line}, true
	}
	return dialect{}, false
}

// markup reads a component as far as is needed to tell which scripts stand at its
// top: those are code, and what stands in an element or a comment is not.
type markup struct {
	src     []byte
	pos     int
	counted int // up to where lines are counted
	line    int
	vue     bool
	plain   bool           // a brace that does not end was met: no more are looked for
	spare   int            // how many bytes may still be read in vain
	open    []string       // the elements, and blocks of Svelte, that are open
	opened  map[string]int // how many of each
	scripts []script
	pieces  []piece // in their order
	tooMany bool
}

// partsOf is a component with its scripts, and what else of it may ask for
// something, each in its order.
func partsOf(file string, src []byte) *markup {
	m := &markup{src: src, line: 1, spare: 4*len(src) + 4096, vue: path.Ext(file) == ".vue", opened: map[string]int{}}
	for m.pos < len(src) {
		m.piece()
	}
	m.line, m.counted = 1, 0
	for i := range m.pieces {
		m.pieces[i].line = m.lineAt(m.pieces[i].pos)
	}
	return m
}

// piece goes past a tag, a comment, an expression or a byte of text.
func (m *markup) piece() {
	rest := m.src[m.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		m.past("-->", 4)
	case bytes.HasPrefix(rest, []byte("</")) && len(rest) > 2 && letter(rest[2]):
		m.pos += 2
		name := m.name()
		m.attributes()
		m.close(name)
	case rest[0] == '<' && len(rest) > 1 && letter(rest[1]):
		m.pos++
		m.tag(m.name())
	case m.vue && len(m.open) > 0 && bytes.HasPrefix(rest, []byte("{{")):
		start := m.pos + 2
		m.past("}}", 2)
		m.keep(piece{kind: expressionPiece, pos: start, text: bytes.TrimSuffix(m.src[start:m.pos], []byte("}}"))})
	case !m.vue && rest[0] == '{':
		m.block()
	default:
		m.pos++
	}
}

// past goes behind what ends something, or to the end where nothing does.
func (m *markup) past(ending string, skip int) {
	at := bytes.Index(m.src[m.pos+skip:], []byte(ending))
	if at < 0 {
		m.pos = len(m.src)
		return
	}
	m.pos += skip + at + len(ending)
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func (m *markup) name() string {
	start := m.pos
	for m.pos < len(m.src) && !bytes.ContainsRune([]byte(" \t\r\n\f/>"), rune(m.src[m.pos])) {
		m.pos++
	}
	return string(m.src[start:m.pos])
}

// tag reads what stands behind the name of an element, and its text where that is not markup.
func (m *markup) tag(name string) {
	attributes, closed := m.attributes()
	top := len(m.open) == 0
	raw := name == "script" || name == "style" || name == "textarea"
	if m.vue && top {
		lang := attributes["lang"]
		raw = name != "template" || lang != "" && lang != "html"
	}
	switch {
	case top && name == "script":
		s := script{lang: attributes["lang"], line: m.lineAt(m.pos)}
		if m.vue {
			s.from = attributes["src"]
		}
		if !closed {
			s.text, s.open = m.raw(name)
		}
		if len(m.scripts) == mostScripts {
			m.tooMany = true
			return
		}
		m.scripts = append(m.scripts, s)
	case m.vue && top && attributes["src"] != "":
		m.keep(piece{kind: sourcePiece, pos: m.pos, text: []byte(attributes["src"])})
		m.within(name, raw, closed)
	case raw && top && name == "style" && !closed:
		start := m.pos
		text, _ := m.raw(name)
		m.keep(piece{kind: stylePiece, pos: start, text: text, lang: attributes["lang"]})
	default:
		m.within(name, raw, closed)
	}
}

// within goes into an element, or past it where its text is no markup.
func (m *markup) within(name string, raw, closed bool) {
	switch {
	case closed, empty(name):
	case raw:
		m.raw(name)
	default:
		m.push(name)
	}
}

// lineAt is the line of a place behind those that were asked for before.
func (m *markup) lineAt(pos int) int {
	m.line += bytes.Count(m.src[m.counted:pos], []byte("\n"))
	m.counted = pos
	return m.line
}

// raw is the text up to the end of an element in which nothing else begins.
func (m *markup) raw(name string) (text []byte, open bool) {
	start := m.pos
	for {
		at := bytes.Index(m.src[m.pos:], []byte("</"+name))
		if at < 0 {
			m.pos = len(m.src)
			return m.src[start:], true
		}
		end := m.pos + at
		m.pos = end + len("</") + len(name)
		if m.pos == len(m.src) || bytes.IndexByte([]byte(" \t\r\n\f/>"), m.src[m.pos]) >= 0 {
			m.past(">", 0)
			return m.src[start:end], false
		}
	}
}

func empty(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr":
		return true
	}
	return false
}

func (m *markup) push(name string) {
	m.open = append(m.open, name)
	m.opened[name]++
}

// close closes an element, and those in it that nobody has closed.
func (m *markup) close(name string) {
	for m.opened[name] > 0 {
		last := m.open[len(m.open)-1]
		m.open = m.open[:len(m.open)-1]
		m.opened[last]--
		if last == name {
			return
		}
	}
}

// attributes reads up to the end of a tag; closed says that it is an element's end too.
func (m *markup) attributes() (all map[string]string, closed bool) {
	all = map[string]string{}
	for m.pos < len(m.src) {
		switch c := m.src[m.pos]; {
		case c == '>':
			m.pos++
			return all, closed
		case c == '/':
			closed = true
			m.pos++
			continue
		case c == '{' && !m.vue:
			m.expression()
		case bytes.IndexByte([]byte(" \t\r\n\f"), c) >= 0:
			m.pos++
			continue
		default:
			name, value := m.attribute()
			if _, there := all[name]; !there && len(all) < alike {
				all[name] = value
			}
		}
		closed = false
	}
	return all, true
}

func (m *markup) attribute() (name, value string) {
	start := m.pos
	for m.pos++; m.pos < len(m.src) && bytes.IndexByte([]byte(" \t\r\n\f=/>"), m.src[m.pos]) < 0; {
		m.pos++
	}
	name = string(m.src[start:m.pos])
	at := m.pos
	m.spaces()
	if m.pos == len(m.src) || m.src[m.pos] != '=' {
		m.pos = at
		return name, ""
	}
	m.pos++
	m.spaces()
	at = m.pos
	value = m.value()
	if at < len(m.src) && (m.src[at] == '"' || m.src[at] == '\'') {
		at++
	}
	m.attributeSays(name, at, value)
	return name, value
}

func (m *markup) spaces() {
	for m.pos < len(m.src) && bytes.IndexByte([]byte(" \t\r\n\f"), m.src[m.pos]) >= 0 {
		m.pos++
	}
}

// value is what stands behind =, in quotes or up to a space.
func (m *markup) value() string {
	if m.pos == len(m.src) {
		return ""
	}
	ends := []byte(" \t\r\n\f>")
	if quote := m.src[m.pos]; quote == '"' || quote == '\'' {
		ends = []byte{quote}
		m.pos++
	}
	start := m.pos
	for m.pos < len(m.src) && !slices.Contains(ends, m.src[m.pos]) {
		if m.src[m.pos] == '{' && !m.vue {
			m.expression()
		} else {
			m.pos++
		}
	}
	value := string(m.src[start:m.pos])
	if len(ends) == 1 && m.pos < len(m.src) {
		m.pos++
	}
	return value
}

// block goes past an expression of Svelte; {#if} and the like enclose what stands behind them.
func (m *markup) block() {
	const name = "{"
	var kind byte
	if m.pos+1 < len(m.src) {
		kind = m.src[m.pos+1]
	}
	m.expression()
	switch kind {
	case '#':
		m.push(name)
	case '/':
		m.close(name)
	}
}

// expression goes past braces, and keeps what is in them.
func (m *markup) expression() {
	start := m.pos
	m.braces()
	m.inBraces(start)
}

// braces goes past braces with all that is in them. Where they do not end, it is text.
func (m *markup) braces() {
	var open []byte
	for at := m.pos; at < len(m.src) && !m.plain; at++ {
		c := m.src[at]
		within := len(open) > 0 && open[len(open)-1] == '`'
		switch {
		case within && c == '\\':
			at++
		case c == '`' && within, c == '}' && !within:
			open = open[:len(open)-1]
		case within && bytes.HasPrefix(m.src[at:], []byte("${")):
			at++
			open = append(open, '{')
		case within:
		case c == '{', c == '`':
			open = append(open, c)
		case c == '"', c == '\'':
			at = m.quoted(at)
		case bytes.HasPrefix(m.src[at:], []byte("/*")):
			end := bytes.Index(m.src[at+2:], []byte("*/"))
			if end < 0 {
				m.plain = true
			}
			at += 2 + end + 1
		}
		if len(open) == 0 {
			m.pos = at + 1
			return
		}
	}
	m.plain = true
	m.pos++
}

// quoted is where a string ends, or the place itself where it does not on its line.
func (m *markup) quoted(at int) int {
	i := at + 1
	for ; i < len(m.src) && m.src[i] != '\n'; i++ {
		switch m.src[i] {
		case '\\':
			i++
		case m.src[at]:
			return i
		}
	}
	m.spare -= i - at
	m.plain = m.plain || m.spare < 0
	return at
}
