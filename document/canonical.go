package document

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"noxmesh/internal/fault"
)

// integerLimit is 2⁵³: up to it every integer is exact for every reader, since
// RFC 8785 gives a number the meaning of a double.
const integerLimit = 1 << 53

// Canonical is v in its one encoding (RFC 8785). A field with omitempty is left
// out where it is false, 0, nil or of length 0. A value that holds a float or an
// integer beyond 2⁵³ has no encoding: that is a bug in its type, and Broken.
func Canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true), json.FormatNilSliceAsNull(false), jsonv1.OmitEmptyWithLegacySemantics(true))
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "encode %T", v)
	}
	if err := integers(b); err != nil {
		return nil, fault.Wrap(fault.Broken, err, "encode %T", v)
	}
	value := jsontext.Value(b)
	if err := value.Canonicalize(); err != nil {
		return nil, fault.Wrap(fault.Broken, err, "encode %T", v)
	}
	return value, nil
}

// CanonicalDigest is the digest of v's canonical encoding.
func CanonicalDigest(v any) (Digest, error) {
	b, err := Canonical(v)
	if err != nil {
		return "", err
	}
	return Sum(b), nil
}

// atSight reports whether every number in this JSON is at sight a small integer.
func atSight(b []byte) bool {
	const digits = 15 // so many are below 2⁵³
	run, text := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '-' || c == '.':
			return false
		case '0' <= c && c <= '9':
			if run++; run > digits {
				return false
			}
			continue
		case run > 0 && (c == 'e' || c == 'E'):
			return false
		}
		run = 0
	}
	return true
}

// integers refuses every number in b that is not an integer of at most 2⁵³.
func integers(b []byte) error {
	if atSight(b) {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(b))
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if token.Kind() != '0' {
			continue
		}
		if text := token.String(); text == "-0" || strings.ContainsAny(text, ".eE") || !exact(text) {
			return fault.New(fault.Broken, "the number %s at %s is not an integer of at most 2^53", text, pathOf(stepsOfPointer(string(dec.StackPointer()))))
		}
	}
}
