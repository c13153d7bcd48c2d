package document

import (
	"github.com/go-json-experiment/json"

	"noxmesh/internal/fault"
)

// Limits bound what a decoder reads before it looks at it.
type Limits struct {
	Bytes int // the whole document
	Depth int // nested arrays and objects
}

// Decode reads exactly one document of type T from data. The name is the file's
// or the message's, for the errors. All faults that can be found are reported
// at once, as Problems in a fault.Invalid.
func Decode[T any](name string, data []byte, limits Limits) (T, error) {
	var v T
	if len(data) > limits.Bytes {
		return v, fault.New(fault.Invalid, "%s: %d bytes, at most %d are read", name, len(data), limits.Bytes)
	}
	if err := json.Unmarshal(data, &v, json.RejectUnknownMembers(true)); err != nil {
		return v, fault.Wrap(fault.Invalid, err, "%s", name)
	}
	return v, nil
}
