package javascript

import "bytes"

// sheet reads the styles of a component as far as their imports.
type sheet struct {
	src     []byte
	pos     int
	counted int
	line    int
	slashes bool // two of them begin a comment
	asks    []ask
}

// asksOfStyle is what a style asks for: @import, @use, @forward, @reference and
// @plugin, with a string or url() behind it.
func asksOfStyle(src []byte, line int, lang string) []ask {
	s := &sheet{src: src, line: line, slashes: lang != "" && lang != "css" && lang != "postcss"}
	for s.pos < len(s.src) {
		s.piece()
	}
	return s.asks
}

func (s *sheet) starts(with string) bool { return bytes.HasPrefix(s.src[s.pos:], []byte(with)) }

// past goes behind what ends something, or to the end where nothing does.
func (s *sheet) past(ending string) {
	at := bytes.Index(s.src[s.pos:], []byte(ending))
	if at < 0 {
		s.pos = len(s.src)
		return
	}
	s.pos += at + len(ending)
}

// piece goes past a comment, a string, an address, a rule's name with what it asks for, or a byte.
func (s *sheet) piece() {
	switch {
	case s.comment():
	case s.src[s.pos] == '"', s.src[s.pos] == '\'':
		s.quoted()
	case s.starts("url("):
		s.address()
	case s.src[s.pos] == '@':
		s.pos++
		start := s.pos
		for s.pos < len(s.src) && letter(s.src[s.pos]) {
			s.pos++
		}
		switch string(s.src[start:s.pos]) {
		case "import":
			s.names(true)
		case "use", "forward", "reference", "plugin":
			s.names(false)
		}
	default:
		s.pos++
	}
}

func (s *sheet) comment() bool {
	switch {
	case s.starts("/*"):
		s.pos += 2
		s.past("*/")
	case s.slashes && s.starts("//"):
		s.past("\n")
	default:
		return false
	}
	return true
}

// spaces goes past spaces and comments.
func (s *sheet) spaces() {
	for s.pos < len(s.src) && (bytes.IndexByte([]byte(" \t\r\n\f"), s.src[s.pos]) >= 0 || s.comment()) {
		if s.pos < len(s.src) && bytes.IndexByte([]byte(" \t\r\n\f"), s.src[s.pos]) >= 0 {
			s.pos++
		}
	}
}

// names keeps the names behind a rule's name: one, or several with commas between.
func (s *sheet) names(several bool) {
	for {
		s.spaces()
		if s.starts("(") { // @import (reference) "x", as Less has it
			s.past(")")
			s.spaces()
		}
		at := s.pos
		var name []byte
		switch {
		case s.pos == len(s.src):
			return
		case s.src[s.pos] == '"', s.src[s.pos] == '\'':
			name = s.quoted()
		case s.starts("url("):
			name = s.address()
		}
		if len(name) == 0 {
			return
		}
		s.line += bytes.Count(s.src[s.counted:at], []byte("\n"))
		s.counted = at
		s.asks = append(s.asks, ask{name: string(name), line: s.line})
		s.spaces()
		if !several || !s.starts(",") {
			return
		}
		s.pos++
	}
}

// quoted is what stands in quotes, and nothing where they do not end on their line.
func (s *sheet) quoted() []byte {
	quote, start := s.src[s.pos], s.pos+1
	for i := start; i < len(s.src) && s.src[i] != '\n'; i++ {
		switch s.src[i] {
		case '\\':
			i++
		case quote:
			s.pos = i + 1
			return s.src[start:i]
		}
	}
	s.past("\n")
	return nil
}

// address is what stands in url().
func (s *sheet) address() []byte {
	s.pos += len("url(")
	for s.pos < len(s.src) && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t') {
		s.pos++
	}
	if s.pos < len(s.src) && (s.src[s.pos] == '"' || s.src[s.pos] == '\'') {
		name := s.quoted()
		s.past(")")
		return name
	}
	start := s.pos
	s.past(")")
	return bytes.TrimSpace(bytes.TrimSuffix(s.src[start:s.pos], []byte(")")))
}
