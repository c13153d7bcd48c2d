package document

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"noxmesh/internal/fault"
)

// Form is all that holds of one kind of document: its Go type, and the rules
// that a type cannot say.
type Form[T any] struct {
	Name    string // "declaration"
	File    string // where it stands; empty for a message
	Limits  Limits
	Speaks  int               // the number that must stand in its key format; 0 where there is no such key
	Reader  string            // who reads it, "this host": for the sentence about a newer format
	Upgrade string            // what to do about a newer format, "upgrade the host"
	Later   map[string]string // keys of later versions by path, "resources[].unit", and what to say of each
	Like    map[string]string // what a value may look like by path, "resources[].mode", for whoever left it out or wrote another kind
	Check   func(v T, r *Reading)

	Keywords map[string]Keywords // what the schema says beside the types, by path: "settings.*.type"; "provides[]#string" for the short form
}

// Decode reads one document of this form. All faults that can be found are said
// at once; of a newer format nothing is said but that.
func (f Form[T]) Decode(data []byte) (T, error) {
	v, r := Read[T](cmp.Or(f.File, f.Name), data, f.Limits)
	r.Later(f.Later)
	r.Like(f.Like)
	format := r.format
	if f.Speaks != 0 && !r.Sound() {
		format = formatOf(data, f.Limits)
	}
	if format > int64(f.Speaks) {
		var none T
		return none, f.newer(r, format)
	}
	if r.Sound() {
		if f.Speaks != 0 && format != int64(f.Speaks) {
			r.Fault("format", fmt.Sprintf("want %d", f.Speaks), "format %d", format)
		}
		f.Check(v, r)
	}
	if err := r.Err(); err != nil {
		var none T
		return none, err
	}
	return v, nil
}

func (f Form[T]) newer(r *Reading, format int64) error {
	only := &Reading{file: r.file, data: r.data}
	only.Fault("format", f.Upgrade, "%s speaks %d, the %s is format %d", f.Reader, f.Speaks, f.Name, format)
	err := fault.Wrap(fault.Invalid, only.Err(), "")
	return err.With("%s", f.Upgrade)
}

// Encode is v in its one encoding, where it keeps the rules of its form. One
// that does not is made wrong by us, and Broken.
func (f Form[T]) Encode(v T) ([]byte, error) {
	r := Look(f.Name)
	f.Check(v, r)
	if err := r.Err(); err != nil {
		return nil, fault.Wrap(fault.Broken, err, "encode")
	}
	b, err := Canonical(v)
	if err != nil {
		return nil, err
	}
	if len(b) > f.Limits.Bytes {
		return nil, fault.New(fault.Invalid, "the %s has %d bytes, at most %d are read", f.Name, len(b), f.Limits.Bytes)
	}
	return b, nil
}

// formatOf is the number in the document's key format, or 0.
func formatOf(data []byte, limits Limits) int64 {
	var v struct {
		Format int64 `json:"format"`
	}
	if len(data) > limits.Bytes || json.Unmarshal(data, &v, jsontext.AllowDuplicateNames(true)) != nil {
		return 0
	}
	return v.Format
}
