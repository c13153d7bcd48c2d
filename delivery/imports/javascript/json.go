package javascript

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// value is one of a JSON file: an object, a list, a string, or something else.
type value struct {
	line   int
	text   string
	isText bool
	list   []value
	fields []field // in the order of the file
}

// field is a named value of an object.
type field struct {
	name  string
	value value
}

// get is the last field of that name, as JavaScript takes it, or nothing.
func (v value) get(name string) value {
	for i := len(v.fields) - 1; i >= 0; i-- {
		if v.fields[i].name == name {
			return v.fields[i].value
		}
	}
	return value{}
}

// texts is the strings of a list.
func (v value) texts() []value {
	var all []value
	for _, each := range v.list {
		if each.isText {
			all = append(all, each)
		}
	}
	return all
}

// decodeJSON reads JSON with comments and commas behind the last element, as TypeScript's files may be.
func decodeJSON(src []byte) (value, *parser) {
	p := &parser{src: src, line: 1}
	if p.starts("\ufeff") {
		p.pos += 3
	}
	if !utf8.Valid(src) {
		p.fail("the file is not UTF-8: save it as UTF-8")
		return value{}, p
	}
	p.jsonNext()
	v := p.json()
	if p.why == "" && p.tok.kind != end {
		p.unexpected("the value ended before it")
	}
	return v, p
}

// jsonNext goes on to the next token; a word is true, false, null or a number.
func (p *parser) jsonNext() {
	if p.why != "" {
		return
	}
	p.trivia()
	p.tok = token{kind: end, start: p.pos, stop: p.pos, line: p.line}
	if p.why != "" || p.pos == len(p.src) {
		return
	}
	p.tok.kind = kind(p.src[p.pos])
	switch c := p.src[p.pos]; c {
	case '{', '}', '[', ']', ',', ':':
		p.pos++
	case '"':
		p.tok.kind = p.scanText(c)
	default:
		p.tok.kind = word
		for partOfWord(p.at(0)) || p.at(0) == '-' || p.at(0) == '+' || p.at(0) == '.' {
			p.pos++
		}
		if p.pos == p.tok.start {
			p.fail("%q belongs to nothing", rune(c))
		}
	}
	p.tok.stop = p.pos
}

func (p *parser) json() value {
	p.enter()
	defer p.leave()
	v := value{line: p.tok.line}
	switch p.tok.kind {
	case text:
		v.text, v.isText = p.jsonText(), true
	case word:
		p.jsonNext()
	case '[':
		p.jsonRow(']', func() { v.list = append(v.list, p.json()) })
	case '{':
		p.jsonRow('}', func() {
			if p.tok.kind != text {
				p.unexpected("a name in quotes would be right")
				return
			}
			name := p.jsonText()
			if p.tok.kind != ':' {
				p.unexpected("a colon would be right")
				return
			}
			p.jsonNext()
			v.fields = append(v.fields, field{name, p.json()})
		})
	default:
		p.unexpected("a value would be right")
	}
	return v
}

// jsonRow reads elements to the bracket that closes them.
func (p *parser) jsonRow(closing kind, element func()) {
	p.jsonNext()
	for p.why == "" && p.tok.kind != closing {
		element()
		if p.tok.kind == ',' {
			p.jsonNext()
		} else if p.tok.kind != closing {
			p.unexpected(fmt.Sprintf("a comma or %q would be right", rune(closing)))
		}
	}
	p.jsonNext()
}

// jsonText is the present string.
func (p *parser) jsonText() string {
	var s string
	if err := json.Unmarshal(p.src[p.tok.start:p.tok.stop], &s); err != nil {
		p.fail("the string is none of JSON")
	}
	p.jsonNext()
	return s
}
