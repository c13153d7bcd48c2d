package link

import (
	"slices"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// declareKeyLimit is how many declare keys there may be at once: one per
// controller and their successors.
const declareKeyLimit = 16

// VerifyKeys is the key document in env, where the root signed it and it may
// follow the held one: of the same mesh, never of an older version, and never
// the same version with other content. The zero Keys is "none held yet"; one
// that has a mesh and no version says which mesh it must be.
func VerifyKeys(env Envelope, root PublicKey, held Keys) (Keys, error) {
	payload, err := env.Open(TypeKeys, root)
	if err != nil {
		return Keys{}, fault.Add(err, "verify the key document")
	}
	k, err := document.Decode[Keys]("key document", payload, document.Limits{Bytes: 16 << 10, Depth: 4})
	if err != nil {
		return Keys{}, err
	}
	if err := k.check(); err != nil {
		return Keys{}, err
	}
	if err := k.follows(held); err != nil {
		return Keys{}, err
	}
	return k, nil
}

func (k Keys) check() error {
	switch {
	case k.Format != Format:
		return fault.New(fault.Invalid, "key document: format %d, this program reads %d", k.Format, Format).
			With("update this program; an older one cannot read a newer key document")
	case k.Mesh == "":
		return fault.New(fault.Invalid, "key document: no mesh is named")
	case k.Version < 1:
		return fault.New(fault.Invalid, "key document: version %d, want 1 or more", k.Version)
	case len(k.Declare) == 0 || len(k.Declare) > declareKeyLimit:
		return fault.New(fault.Invalid, "key document: %d declare keys, want 1 to %d", len(k.Declare), declareKeyLimit)
	}
	for i, p := range k.Declare {
		if !p.Valid() {
			return fault.New(fault.Invalid, "key document: declare key %d: %q is not a public key", i+1, document.Short(string(p)))
		}
		if slices.Contains(k.Declare[:i], p) {
			return fault.New(fault.Invalid, "key document: declare key %q stands there twice", document.Short(string(p)))
		}
	}
	return nil
}

func (k Keys) follows(held Keys) error {
	if held.Mesh != "" && k.Mesh != held.Mesh {
		return fault.New(fault.Denied, "key document of mesh %q, this is mesh %q", document.Short(k.Mesh), held.Mesh)
	}
	if k.Version < held.Version {
		return fault.New(fault.Denied, "key document version %d is older than version %d, which is held", k.Version, held.Version)
	}
	if k.Version > held.Version {
		return nil
	}
	mine, err := document.CanonicalDigest(held)
	if err != nil {
		return err
	}
	theirs, err := document.CanonicalDigest(k)
	if err != nil {
		return err
	}
	if mine != theirs {
		return fault.New(fault.Denied, "two key documents of version %d differ: %s is held, %s was sent", k.Version, mine.Short(), theirs.Short())
	}
	return nil
}
