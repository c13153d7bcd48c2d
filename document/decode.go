package document

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"noxmesh/internal/fault"
)

// Limits bound what a decoder reads before it looks at it.
type Limits struct {
	Bytes int // the whole document
	Depth int // nested arrays and objects
}

// Decode reads exactly one document of type T from data. The name is the file's
// or the message's, for the errors. All faults that can be found are reported
// at once, as Problems in a fault.Invalid. A field without omitempty or omitzero
// must be there.
func Decode[T any](name string, data []byte, limits Limits) (T, error) {
	v, r := Read[T](name, data, limits)
	if err := r.Err(); err != nil {
		var none T
		return none, err
	}
	return v, nil
}

// Read is like Decode for whoever has rules of its own to check: the value can
// be looked at where the reading is sound, and what is wrong with it is added to
// what was found already.
func Read[T any](name string, data []byte, limits Limits) (T, *Reading) {
	var v T
	r := &Reading{file: name, data: data}
	if len(data) > limits.Bytes {
		r.data = nil
		r.put(Problem{What: fmt.Sprintf("the document has %d bytes", len(data)), Want: fmt.Sprintf("at most %d are read", limits.Bytes)})
		return v, r
	}
	if at := invalidUTF8(data); at >= 0 {
		r.put(notUTF8(data, at).on(data, at))
		return v, r
	}
	if !walk(r, reflect.TypeFor[T](), limits.Depth) {
		return v, r
	}
	if err := json.Unmarshal(data, &v, json.RejectUnknownMembers(len(r.problems) == 0)); err != nil {
		r.put(unforeseen(err).on(data, offsetOf(err)))
		return v, r
	}
	r.sound = true
	return v, r
}

// Again reads a document that this program wrote and has kept, where it is plain:
// all of it must have its place in a T, and what else Decode looks for was looked
// for before it was written. What it refuses may be right all the same: Decode says.
func Again[T any](data []byte) (T, error) {
	var v T
	if !atSight(data) {
		return v, fault.New(fault.Invalid, "a number that is not small")
	}
	if err := json.Unmarshal(data, &v, json.RejectUnknownMembers(true)); err != nil {
		return v, fault.Wrap(fault.Invalid, err, "read what was written")
	}
	return v, nil
}

// Part is what a document that this program wrote says under the keys of T. All
// else in it is passed over, and none of it is checked but its form.
func Part[T any](data []byte) (T, error) {
	var v T
	if err := json.Unmarshal(data, &v, jsontext.AllowDuplicateNames(true)); err != nil {
		return v, fault.Wrap(fault.Invalid, err, "read a part of a document")
	}
	return v, nil
}

func (p Problem) on(data []byte, at int) Problem {
	p.Line, p.Column = lineColumn(data, int64(at))
	return p
}

// unforeseen is a fault that only the decoder proper finds: what a type that
// reads itself has to say.
func unforeseen(err error) Problem {
	var s *json.SemanticError
	if !errors.As(err, &s) {
		return Problem{What: Short(err.Error())}
	}
	p := Problem{Path: pathOf(stepsOfPointer(string(s.JSONPointer))), What: "the value does not fit"}
	if s.Err != nil {
		p.What, p.Want = Short(s.Err.Error()), fault.HintOf(s.Err)
	}
	return p
}

func offsetOf(err error) int {
	var s *json.SemanticError
	if errors.As(err, &s) {
		return int(s.ByteOffset)
	}
	return 0
}

func notUTF8(data []byte, at int) Problem {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return Problem{What: "the document is UTF-16", Want: "save it as UTF-8"}
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}), bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Problem{What: "the document is compressed", Want: "want one JSON value, as text"}
	}
	return Problem{What: fmt.Sprintf("the byte 0x%02x is not UTF-8", data[at]), Want: "save it as UTF-8"}
}

// invalidUTF8 is where data stops being UTF-8, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}
