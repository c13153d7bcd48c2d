package manifest

import (
	"strconv"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Setting is one thing that an assignment may choose.
type Setting struct {
	Type    string `json:"type"`              // "string", "integer", "boolean"
	Default *Value `json:"default,omitempty"` // of that type; a setting without one must be set by each assignment
	Says    string `json:"says,omitempty"`
}

// The types of a setting.
const (
	StringSetting  = "string"
	IntegerSetting = "integer"
	BooleanSetting = "boolean"
)

// Value is what this setting is filled in as where the assignment chose this
// text; empty text chooses the default. Why says what stands against it, after
// the setting's name.
func (s Setting) Value(chosen string) (text, why string) {
	if chosen == "" {
		if s.Default == nil {
			return "", "has no default and must be set"
		}
		return s.Default.Text(), ""
	}
	v, err := parseValue(s.Type, chosen)
	if err != nil {
		return "", err.Error()
	}
	return v.Text(), ""
}

// Value is a string, an integer or a truth, exactly as it was written.
type Value struct {
	kind string
	text string // as it is filled in
}

// StringValue is this string.
func StringValue(s string) Value { return Value{StringSetting, s} }

// IntegerValue is this integer; beyond 2⁵³ it has no encoding.
func IntegerValue(n int64) Value { return Value{IntegerSetting, strconv.FormatInt(n, 10)} }

// BooleanValue is this truth.
func BooleanValue(b bool) Value { return Value{BooleanSetting, strconv.FormatBool(b)} }

// Type is the type of setting that v is for.
func (v Value) Type() string { return v.kind }

// Text is v as it is filled in: "8080", "true".
func (v Value) Text() string { return v.text }

// Equal reports whether v and w are the same value.
func (v Value) Equal(w Value) bool { return v == w }

// MarshalJSON is v as JSON.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case StringSetting:
		return document.Canonical(v.text)
	case IntegerSetting, BooleanSetting:
		return []byte(v.text), nil
	}
	return nil, fault.New(fault.Broken, "a value of no type")
}

// UnmarshalJSON reads v: a string, an integer of at most 2⁵³, true or false.
func (v *Value) UnmarshalJSON(b []byte) error {
	text := string(b)
	switch {
	case text == "true" || text == "false":
		*v = Value{BooleanSetting, text}
		return nil
	case text != "" && text[0] == '"':
		s, err := document.Decode[string]("string", b, Limits)
		*v = StringValue(s)
		return err
	}
	parsed, err := parseValue(IntegerSetting, text)
	if err != nil {
		return fault.New(fault.Invalid, "%s is no value of a setting", document.Printable(text)).
			With("want a string, an integer of at most 9007199254740992, true or false")
	}
	*v = parsed
	return nil
}

// parseValue is the text as a value of this type, in the one form it has.
func parseValue(t string, text string) (Value, error) {
	const largest = 1 << 53
	switch t {
	case StringSetting:
		return StringValue(text), nil
	case IntegerSetting:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < -largest || n > largest || strconv.FormatInt(n, 10) != text {
			return Value{}, fault.New(fault.Invalid, "is %q, want an integer such as 8080", document.Short(text))
		}
		return IntegerValue(n), nil
	case BooleanSetting:
		if text != "true" && text != "false" {
			return Value{}, fault.New(fault.Invalid, "is %q, want true or false", document.Short(text))
		}
		return Value{BooleanSetting, text}, nil
	}
	return Value{}, fault.New(fault.Invalid, "is of no known type %q", document.Short(t))
}
