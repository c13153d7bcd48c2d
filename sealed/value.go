package sealed

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"

	"filippo.io/age"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Format is the version of the form of what is sealed.
const Format = 1

// Limit is how long a value may be, in bytes.
const Limit = 64 << 10

// opened is what is read of what was sealed: a value in base64, and what it is for.
const opened = Limit/3*4 + 2<<10

// For is what a value is for: it is good for nothing else.
type For struct {
	Mesh   string // the mesh's id
	Node   string // the node's id
	Module string
	Name   string // of the secret
}

// Value is one value of one secret on one node.
type Value struct {
	For
	Version int64 // the first is 1
	Value   []byte
}

// String hides the value.
func (v Value) String() string { return v.Module + "/" + v.Name + " ***" }

// GoString hides the value.
func (v Value) GoString() string { return v.String() }

// plain is the form of what is sealed.
type plain struct {
	Format  int    `json:"format"`
	Mesh    string `json:"mesh"`
	Node    string `json:"node"`
	Module  string `json:"module"`
	Name    string `json:"name"`
	Version int64  `json:"version"`
	Value   string `json:"value"` // in base64: a value may be any bytes
}

// Seal is v as text that only the key of this recipient opens. It is another text
// each time.
func Seal(recipient string, v Value) (string, error) {
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return "", fault.New(fault.Invalid, "%q is no recipient", document.Short(recipient))
	}
	if err := v.check(); err != nil {
		return "", err
	}
	text, err := document.Canonical(plain{Format, v.Mesh, v.Node, v.Module, v.Name, v.Version, base64.StdEncoding.EncodeToString(v.Value)})
	if err != nil {
		return "", fault.New(fault.Broken, "a value cannot be encoded")
	}
	var out bytes.Buffer
	in, err := age.Encrypt(&out, to)
	if err == nil {
		_, err = in.Write(text)
	}
	if err == nil {
		err = in.Close()
	}
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "seal a value")
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

func (v Value) check() error {
	switch {
	case len(v.Value) == 0:
		return fault.New(fault.Invalid, "the value is empty")
	case len(v.Value) > Limit:
		return fault.New(fault.Invalid, "the value has %d bytes, at most %d are sealed", len(v.Value), Limit)
	case v.Version < 1:
		return fault.New(fault.Invalid, "version %d, want 1 or more", v.Version)
	}
	return nil
}

// Open opens what Seal has sealed to this key, and refuses it where it is for
// something else.
func (k Key) Open(text string, want For) (Value, error) {
	if k.of == nil {
		return Value{}, fault.New(fault.Conflict, "there is no key here that opens it")
	}
	data, ok := decoded(text)
	if !ok {
		return Value{}, fault.New(fault.Invalid, "it is damaged")
	}
	from, err := age.Decrypt(bytes.NewReader(data), k.of)
	if err != nil {
		return Value{}, fault.New(fault.Invalid, "it is damaged, or sealed to another key than the node has now")
	}
	all, err := io.ReadAll(io.LimitReader(from, opened+1))
	if err != nil {
		return Value{}, fault.New(fault.Invalid, "it is damaged")
	}
	v, err := parse(all)
	if err == nil {
		err = v.isFor(want)
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// parse reads what was sealed. What stands against it is not repeated: it may be
// part of the value.
func parse(text []byte) (Value, error) {
	p, err := document.Decode[plain]("", text, document.Limits{Bytes: opened, Depth: 2})
	if err != nil {
		return Value{}, fault.New(fault.Invalid, "what is sealed in it is not a value of a secret")
	}
	if p.Format != Format {
		return Value{}, fault.New(fault.Invalid, "what is sealed in it has the format %d, and this host reads %d", p.Format, Format).With("upgrade the host")
	}
	value, ok := decoded(p.Value)
	if !ok {
		return Value{}, fault.New(fault.Invalid, "what is sealed in it is not a value of a secret")
	}
	v := Value{For{p.Mesh, p.Node, p.Module, p.Name}, p.Version, value}
	if err := v.check(); err != nil {
		return Value{}, err
	}
	return v, nil
}

// decoded is what stands there in base64, in the one way that it is written.
func decoded(text string) ([]byte, bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	return b, err == nil && !strings.ContainsAny(text, "\r\n")
}

// isFor refuses a value that is for something else, by what it is for.
func (v Value) isFor(want For) error {
	for _, bound := range []struct{ what, is, want string }{
		{"mesh", v.Mesh, want.Mesh}, {"node", v.Node, want.Node}, {"module", v.Module, want.Module}, {"name", v.Name, want.Name},
	} {
		if bound.is != bound.want {
			return fault.New(fault.Denied, "it is sealed for the %s %q, and this is %q", bound.what, document.Short(bound.is), document.Short(bound.want))
		}
	}
	return nil
}
