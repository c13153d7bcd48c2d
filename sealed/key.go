package sealed

import (
	"crypto/hkdf"
	"crypto/sha256"

	"filippo.io/age"

	"noxmesh/internal/fault"
)

// Key opens what is sealed to its recipient. The zero Key is none.
type Key struct{ of *age.X25519Identity }

// NewKey is a new key.
func NewKey() (Key, error) {
	of, err := age.GenerateX25519Identity()
	if err != nil {
		return Key{}, fault.Wrap(fault.Unavailable, err, "make a sealing key")
	}
	return Key{of}, nil
}

// ParseKey reads a key as Reveal wrote it.
func ParseKey(text string) (Key, error) {
	of, err := age.ParseX25519Identity(text)
	if err != nil {
		return Key{}, fault.New(fault.Invalid, "it is no sealing key") // the cause may repeat it
	}
	return Key{of}, nil
}

// Recipient is what others seal to.
func (k Key) Recipient() string { return k.of.Recipient().String() }

// Reveal is the key as text, for the one file that it is kept in.
func (k Key) Reveal() string { return k.of.String() }

// String hides the key.
func (Key) String() string { return "***" }

// GoString hides the key.
func (Key) GoString() string { return "***" }

// For is another secret of whoever has the key, of 32 bytes: one for each purpose,
// from which neither the key nor another can be worked out.
func (k Key) For(purpose string) []byte {
	out, err := hkdf.Key(sha256.New, []byte(k.of.String()), nil, purpose, sha256.Size)
	if err != nil {
		panic(err) // it is one block
	}
	return out
}
