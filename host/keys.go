package host

import (
	"encoding/hex"

	"noxmesh/host/keep"
	"noxmesh/internal/bus"
	"noxmesh/internal/fault"
	"noxmesh/link"
	"noxmesh/sealed"
)

// keys are the node's own, made here.
type keys struct {
	sign link.Key
	nats bus.Seed
	seal sealed.Key
}

// keysFor are the keys to join with. Until the node has joined they belong to
// the token: whoever tries again with it has the same keys, and with another it
// has others, since the mesh may have taken back what it knew under the first.
func keysFor(f *keep.Folder, token string) (keys, error) {
	kept, err := f.Identity()
	if fault.KindOf(err) == fault.NotFound {
		return makeIdentity(f, token)
	}
	if err != nil {
		return keys{}, err
	}
	if _, err := f.Joined(); fault.KindOf(err) == fault.NotFound && kept.Token != token {
		return makeIdentity(f, token)
	}
	return ownKeys(f)
}

// ownKeys is the node's keys.
func ownKeys(f *keep.Folder) (keys, error) {
	kept, err := f.Identity()
	if err != nil {
		return keys{}, err
	}
	seed, err := hex.DecodeString(kept.Sign)
	if err != nil {
		return keys{}, fault.New(fault.Invalid, "the node's signing key is not whole")
	}
	k := keys{nats: bus.Seed(kept.Nats)}
	if k.sign, err = link.KeyFromSeed(seed); err != nil {
		return keys{}, err
	}
	if k.seal, err = sealed.ParseKey(kept.Seal); err != nil {
		return keys{}, fault.New(fault.Invalid, "the node's sealing key is not whole")
	}
	return k, nil
}

func makeIdentity(f *keep.Folder, token string) (keys, error) {
	var k keys
	var err error
	if k.sign, err = link.NewKey(); err != nil {
		return k, err
	}
	if k.nats, _, err = bus.NewUserSeed(); err != nil {
		return k, err
	}
	if k.seal, err = sealed.NewKey(); err != nil {
		return k, err
	}
	return k, f.SaveIdentity(keep.Identity{Sign: hex.EncodeToString(k.sign.Seed()), Nats: string(k.nats), Seal: k.seal.Reveal(), Token: token})
}
