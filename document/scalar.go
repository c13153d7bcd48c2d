package document

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scalar looks at a string, a truth or a number.
func (w *walker) scalar(t reflect.Type, at int64, kind jsontext.Kind) error {
	want := "want " + form(t)
	switch t.Kind() {
	case reflect.String:
		if kind == '"' {
			return w.read()
		}
	case reflect.Bool:
		if kind == 't' || kind == 'f' {
			return w.read()
		}
	case reflect.Float32, reflect.Float64:
		if kind == '0' {
			return w.read()
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if kind == '0' {
			return w.integer(t, at, want)
		}
	default:
		return w.any() // the decoder proper says what it makes of it
	}
	return w.wrong(at, want, kind)
}

func (w *walker) integer(t reflect.Type, at int64, want string) error {
	token, err := w.dec.ReadToken()
	if err != nil {
		return w.syntax(err)
	}
	text := token.String()
	switch {
	case text == "-0" || strings.ContainsAny(text, ".eE"):
		w.fault(at, want, Short(text)+" is not an integer")
	case !exact(text):
		w.fault(at, "want at most 9007199254740992, the last that every reader has exactly", Short(text)+" is too large")
	case !fits(t, text):
		w.fault(at, want+" that fits "+t.Kind().String(), Short(text)+" is out of range")
	}
	return nil
}

// exact reports whether an integer is at most 2⁵³ in size.
func exact(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n >= -integerLimit && n <= integerLimit
}

func fits(t reflect.Type, text string) bool {
	var err error
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr {
		_, err = strconv.ParseUint(text, 10, t.Bits())
	} else {
		_, err = strconv.ParseInt(text, 10, t.Bits())
	}
	return err == nil
}

// base64 looks at bytes: RFC 4648, padded, in the one form that its encoder writes.
func (w *walker) base64(at int64, kind jsontext.Kind) error {
	if kind != '"' {
		return w.wrong(at, "want a string in base64", kind)
	}
	token, err := w.dec.ReadToken()
	if err != nil {
		return w.syntax(err)
	}
	text := token.String()
	if _, err := base64.StdEncoding.Strict().DecodeString(text); err != nil || strings.ContainsAny(text, "\r\n") {
		w.fault(at, "want standard base64 with padding", "the string is not base64")
	}
	return nil
}
