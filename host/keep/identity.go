package keep

import (
	"log/slog"

	"noxmesh/internal/fault"
)

// Identity is the node's secret keys. They are made here and never leave; it
// never prints itself.
type Identity struct {
	Sign string // the seed of the key that signs, in hexadecimal digits
	Nats string // the seed that proves the node to the broker
	Seal string // the age identity that secrets are sealed to

	Token string // the id of the token that they were made for
}

// String hides the keys.
func (Identity) String() string { return "***" }

// GoString hides the keys.
func (Identity) GoString() string { return "***" }

// LogValue hides the keys.
func (Identity) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalJSON hides the keys: the file has its own form.
func (Identity) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

type identityForm struct {
	Sign string `json:"sign"`
	Nats string `json:"nats"`
	Seal string `json:"seal"`

	Token string `json:"token,omitempty"`
}

// Identity is the keys on disk, or fault.NotFound where none were ever made.
func (f *Folder) Identity() (Identity, error) {
	form, err := read[identityForm](f, identityFile)
	return Identity(form), err
}

// SaveIdentity makes the keys durable. It never replaces those of a node that
// has joined.
func (f *Folder) SaveIdentity(i Identity) error {
	_, kept := f.read(identityFile)
	if _, err := f.read(joinedFile); fault.KindOf(err) != fault.NotFound && fault.KindOf(kept) != fault.NotFound {
		return fault.New(fault.Conflict, "%q has keys already", f.name)
	}
	return save(f, identityFile, identityForm(i))
}

// String names the mesh and hides the secrets.
func (j Joined) String() string { return "node " + j.Node + " of mesh " + j.Mesh }

// GoString names the mesh and hides the secrets.
func (j Joined) GoString() string { return j.String() }

// LogValue names the mesh and hides the secrets.
func (j Joined) LogValue() slog.Value { return slog.StringValue(j.String()) }
