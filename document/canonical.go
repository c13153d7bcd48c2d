package document

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"noxmesh/internal/fault"
)

// Canonical is v in its one encoding (RFC 8785). A value that holds a float or
// an integer beyond 2⁵³ has none: that is a bug in its type, and Broken.
func Canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true), json.FormatNilSliceAsNull(false))
	if err != nil {
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
