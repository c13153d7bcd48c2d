package document

import (
	"encoding"
	"maps"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"
)

// A shape is what a Go struct says of the keys of an object.
type shape struct {
	names  []string
	fields map[string]field
	open   bool // it takes keys that it does not name
}

type field struct {
	name     string
	goType   reflect.Type
	required bool // a field that is not left out when it is empty
	number   int  // among the shape's fields
}

// shapes and selves are what was worked out of a type before, which never
// changes. The types are those of the program, so that there is an end to them.
var (
	shapes known[*shape] //nolint:gochecknoglobals // what is worked out again is the same
	selves known[self]   //nolint:gochecknoglobals // what is worked out again is the same
)

// known is what a function of types has made of each. A map that is in it is
// never changed: one with more takes its place.
type known[V any] struct {
	all atomic.Pointer[map[reflect.Type]V]
}

func (k *known[V]) of(t reflect.Type, work func(reflect.Type) V) V {
	was := k.all.Load()
	if was != nil {
		if v, ok := (*was)[t]; ok {
			return v
		}
	}
	v, more := work(t), map[reflect.Type]V{}
	if was != nil {
		maps.Copy(more, *was)
	}
	more[t] = v
	k.all.CompareAndSwap(was, &more) // where another was quicker, the next who asks works it out
	return v
}

func shapeOf(t reflect.Type) *shape { return shapes.of(t, newShape) }

func newShape(t reflect.Type) *shape {
	s := &shape{fields: map[string]field{}}
	s.add(t, 0)
	return s
}

// add names the fields of t, and of the structs that are embedded in it. The
// depth ends a struct that embeds itself through a pointer.
func (s *shape) add(t reflect.Type, depth int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		options = "," + options + ","
		switch {
		case f.Tag.Get("json") == "-":
			continue
		case strings.Contains(options, ",unknown,"):
			s.open = true
			continue
		case strings.Contains(options, ",inline,") || f.Anonymous && name == "":
			s.inline(f.Type, depth)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if _, taken := s.fields[name]; taken {
			continue // the outer one hides the inner
		}
		left := strings.Contains(options, ",omitempty,") || strings.Contains(options, ",omitzero,")
		s.fields[name] = field{name: name, goType: f.Type, required: !left, number: len(s.names)}
		s.names = append(s.names, name)
	}
}

// inline names the fields of what is embedded; what is no struct may hold any key.
func (s *shape) inline(t reflect.Type, depth int) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth >= 8 {
		s.open = true
		return
	}
	s.add(t, depth+1)
}

// A self is how a type reads itself, so that only it knows its form.
type self int

const (
	selfNot   self = iota
	selfText       // out of a string
	selfJSON       // out of any value
	selfBrief      // out of a string or an object
)

// Brief is a value that is written as a string where that says all of it, and
// as an object otherwise.
type Brief interface {
	// Whole is the struct whose fields are the object's keys.
	Whole() reflect.Type
}

func wholeOf(t reflect.Type) reflect.Type {
	brief, _ := reflect.New(t).Interface().(Brief) // selfOf has asked
	return brief.Whole()
}

func selfOf(t reflect.Type) self {
	if t == nil || t.Kind() == reflect.Interface {
		return selfNot
	}
	return selves.of(t, readsItself)
}

func readsItself(t reflect.Type) self {
	switch {
	case implements[Brief](t, reflect.PointerTo(t)):
		return selfBrief
	case implements[encoding.TextUnmarshaler](t, reflect.PointerTo(t)):
		return selfText
	case implements[json.Unmarshaler](t, reflect.PointerTo(t)), implements[json.UnmarshalerFrom](t, reflect.PointerTo(t)):
		return selfJSON
	}
	return selfNot
}

func implements[I any](types ...reflect.Type) bool {
	i := reflect.TypeFor[I]()
	for _, t := range types {
		if t.Implements(i) {
			return true
		}
	}
	return false
}

// form is how a value of t is written, for people.
func form(t reflect.Type) string {
	switch selfOf(t) {
	case selfText:
		return "a string"
	case selfJSON:
		return "a value"
	case selfBrief:
		return "a string or an object"
	case selfNot:
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer of 0 or more"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string in base64"
		}
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return form(t.Elem())
	default:
		return "a value"
	}
}
