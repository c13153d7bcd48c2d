package fault

import (
	"errors"
	"fmt"
)

// Kind is what a failure asks of whoever meets it.
type Kind int

// The kinds. The zero value means that nobody has said.
const (
	Unknown     Kind = iota
	Invalid          // the input is wrong; a person must change it
	NotFound         // the thing named does not exist
	Conflict         // what is there already stands against it
	Denied           // whoever asks may not
	Unavailable      // something outside did not answer; try again
	Broken           // a law of the program does not hold: our bug
)

// String is the kind's name as it stands in the API.
func (k Kind) String() string {
	switch k {
	case Unknown:
		return "unknown"
	case Invalid:
		return "invalid"
	case NotFound:
		return "not-found"
	case Conflict:
		return "conflict"
	case Denied:
		return "denied"
	case Unavailable:
		return "unavailable"
	case Broken:
		return "broken"
	}
	return "unknown"
}

// ParseKind is the kind with this name, and false for any other word.
func ParseKind(name string) (Kind, bool) {
	for k := Unknown; k <= Broken; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return Unknown, false
}

// Error is a failure with its kind, and what to do about it where something can be done.
type Error struct {
	Kind Kind
	Text string // what was being done, with which thing; lower case, no full stop
	Hint string // one sentence, or the exact command to type; empty where there is none
	Err  error  // the cause, or nil
}

// Error is the text and then the cause, as a person reads it.
func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return e.Text
	case e.Text == "":
		return e.Err.Error()
	}
	return e.Text + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// New is an error of this kind.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Wrap says what was being done when err happened, and of which kind that is.
// Wrap of nil is a bug: check first.
func Wrap(kind Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...), Err: err}
}

// With adds what to do next.
func (e *Error) With(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Add says what was being done when err happened and keeps its kind and hint.
func Add(err error, format string, args ...any) error {
	return &Error{Kind: KindOf(err), Text: fmt.Sprintf(format, args...), Err: err}
}

// KindOf is the outermost kind that somebody has said, or Unknown.
func KindOf(err error) Kind {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return Unknown
		}
		if e.Kind != Unknown {
			return e.Kind
		}
		err = e.Err
	}
	return Unknown
}

// HintOf is the outermost hint in err's chain, or "".
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
