package document

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// errStop ends a walk: the text cannot be read any further, and the problem has
// been said.
var errStop = errors.New("stop")

// A walker goes through the text once, led by the Go type, and collects what is
// wrong. It accepts nothing: that is left to the decoder proper, so that a
// mistake here can refuse too much and never too little.
type walker struct {
	*Reading
	dec    *jsontext.Decoder
	depth  int
	steps  []step
	strict bool // nothing but unknown keys was found
}

// walk looks at the whole text and reports whether it could be decoded if keys
// that are not known were passed over.
func walk(r *Reading, t reflect.Type, depth int) bool {
	w := &walker{
		Reading: r, depth: depth, strict: true,
		dec: jsontext.NewDecoder(bytes.NewBuffer(r.data), jsontext.AllowDuplicateNames(true)),
	}
	if err := w.value(t, false); err != nil {
		return false
	}
	at := startOf(w.dec, r.data)
	if at < int64(len(r.data)) || bytes.ContainsAny(r.data[w.dec.InputOffset():], ",:") {
		w.fault(at, "take it out", "something follows the document")
	}
	return w.strict
}

// value looks at one value of type t. The walk stops where it returns an error.
func (w *walker) value(t reflect.Type, nullable bool) error {
	kind, at := w.dec.PeekKind(), startOf(w.dec, w.data)
	pointer := false
	for t != nil && t.Kind() == reflect.Pointer {
		t, pointer = t.Elem(), true
	}
	own := selfOf(t)
	switch {
	case w.Full():
		return errStop
	case (kind == '{' || kind == '[') && w.dec.StackDepth() >= w.depth:
		w.fault(at, "", "nested more than "+strconv.Itoa(w.depth)+" deep")
		return errStop
	case t == nil, t.Kind() == reflect.Interface:
		return w.any()
	case kind == 'n' && nullable:
		return w.read()
	case kind == 'n' && (pointer || own != selfJSON):
		w.misfit(at, "want "+form(t), "there is null")
		return w.read()
	case own == selfText:
		if kind != '"' {
			return w.wrong(at, "want a string", kind)
		}
		return w.read()
	case own == selfJSON:
		return w.any()
	case own == selfBrief:
		return w.brief(t, at, kind)
	}
	return w.built(t, at, kind)
}

// brief looks at a string, or at the object that says more. What is wrong in the
// object is said here: it reads itself, and would say it again without a place.
func (w *walker) brief(t reflect.Type, at int64, kind jsontext.Kind) error {
	switch kind {
	case '"':
		return w.read()
	case '{':
		before := len(w.problems)
		err := w.object(shapeOf(wholeOf(t)), at)
		w.strict = w.strict && len(w.problems) == before
		return err
	}
	return w.wrong(at, "want "+form(t), kind)
}

// built looks at a value whose type is one of the language's own.
func (w *walker) built(t reflect.Type, at int64, kind jsontext.Kind) error {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		if kind != '{' {
			return w.wrong(at, "want an object", kind)
		}
		if t.Kind() == reflect.Map {
			return w.entries(t)
		}
		return w.object(shapeOf(t), at)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return w.base64(at, kind)
		}
		return w.list(t, at, kind)
	default:
		return w.scalar(t, at, kind)
	}
}

// object looks at an object whose keys are the fields of a struct.
func (w *walker) object(s *shape, start int64) error {
	seen := make([]bool, len(s.names))
	others := map[string]bool{}
	err := w.keys(func(name string, at int64) error {
		f, known := s.fields[name]
		switch {
		case !known && !s.open && !others[name]:
			w.put(w.at(at, Problem{What: "unknown key " + quote(name), Want: suggest(name, s.names), unknown: true}))
		case known && seen[f.number] || others[name]:
			w.fault(at, "take one of them out", "the key "+quote(name)+" is there twice")
		}
		if !known {
			others[name] = true
			return w.any()
		}
		seen[f.number] = true
		return w.field(f)
	})
	if err != nil {
		return err
	}
	for _, name := range s.names {
		if f := s.fields[name]; f.required && !seen[f.number] {
			w.steps = append(w.steps, step{key: name, index: -1})
			w.misfit(start, "want "+form(f.goType), "the key "+quote(name)+" is missing")
			w.steps = w.steps[:len(w.steps)-1]
		}
	}
	return nil
}

// field looks at the value of a field. The document's format is kept.
func (w *walker) field(f field) error {
	at := startOf(w.dec, w.data)
	err := w.value(f.goType, f.required && mayBeNull(f.goType))
	if err != nil || len(w.steps) != 1 || f.name != "format" {
		return err
	}
	if n, bad := strconv.ParseInt(string(w.data[at:w.dec.InputOffset()]), 10, 64); bad == nil {
		w.format = n
	}
	return nil
}

// mayBeNull reports whether nothing is written as null: the encoding of an empty
// pointer that is not left out.
func mayBeNull(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface
}

// entries looks at an object that is a Go map.
func (w *walker) entries(t reflect.Type) error {
	seen := map[string]bool{}
	return w.keys(func(name string, at int64) error {
		if seen[name] {
			w.fault(at, "take one of them out", "the key "+quote(name)+" is there twice")
		}
		seen[name] = true
		return w.value(t.Elem(), mayBeNull(t.Elem()))
	})
}

// keys goes through an object, with each key's place, and f reads its value.
func (w *walker) keys(f func(name string, at int64) error) error {
	if err := w.read(); err != nil {
		return err
	}
	for w.dec.PeekKind() != '}' {
		at := startOf(w.dec, w.data)
		token, err := w.dec.ReadToken()
		if err != nil {
			return w.syntax(err)
		}
		name := token.String()
		w.steps = append(w.steps, step{key: name, index: -1})
		if err := f(name, at); err != nil {
			return err
		}
		w.steps = w.steps[:len(w.steps)-1]
	}
	return w.read()
}

func (w *walker) list(t reflect.Type, at int64, kind jsontext.Kind) error {
	if kind != '[' {
		return w.wrong(at, "want a list", kind)
	}
	return w.elements(func(i int) error {
		if t.Kind() == reflect.Array && i == t.Len() {
			w.fault(startOf(w.dec, w.data), "want "+strconv.Itoa(t.Len()), "there are more elements than the list takes")
		}
		return w.value(t.Elem(), mayBeNull(t.Elem()))
	})
}

func (w *walker) elements(f func(i int) error) error {
	if err := w.read(); err != nil {
		return err
	}
	for i := 0; w.dec.PeekKind() != ']'; i++ {
		w.steps = append(w.steps, step{index: i})
		if err := f(i); err != nil {
			return err
		}
		w.steps = w.steps[:len(w.steps)-1]
	}
	return w.read()
}

// any looks at a value of which only the syntax is known.
func (w *walker) any() error {
	kind, at := w.dec.PeekKind(), startOf(w.dec, w.data)
	switch {
	case w.Full():
		return errStop
	case (kind == '{' || kind == '[') && w.dec.StackDepth() >= w.depth:
		w.fault(at, "", "nested more than "+strconv.Itoa(w.depth)+" deep")
		return errStop
	case kind == '{':
		return w.entries(reflect.TypeFor[map[string]any]())
	case kind == '[':
		return w.elements(func(int) error { return w.any() })
	}
	return w.read()
}

func (w *walker) read() error {
	if _, err := w.dec.ReadToken(); err != nil {
		return w.syntax(err)
	}
	return nil
}

func (w *walker) at(offset int64, p Problem) Problem {
	p.Path = shortPath(pathOf(w.steps))
	p.Line, p.Column = lineColumn(w.data, offset)
	return p
}

func (w *walker) fault(offset int64, want, what string) {
	w.strict = false
	w.put(w.at(offset, Problem{What: what, Want: want}))
}

// misfit is a fault that an example of the value explains.
func (w *walker) misfit(offset int64, want, what string) {
	w.strict = false
	w.put(w.at(offset, Problem{What: what, Want: want, misfit: true}))
}

// wrong says that a value of another kind stands here, and looks on behind it.
func (w *walker) wrong(at int64, want string, kind jsontext.Kind) error {
	if word := kindWord(kind); word != "" {
		w.misfit(at, want, "there is "+word)
	}
	return w.any()
}

func kindWord(kind jsontext.Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "" // no value: what it is the syntax error says
}

// quote is a key as it is shown; a long one is cut.
func quote(s string) string {
	const longest = 60
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return strconv.Quote(s)
}
