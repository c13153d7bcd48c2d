package broker

import (
	"log/slog"

	"github.com/nats-io/nkeys"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// Keys is what the broker's permissions are signed with: the operator, an
// account per side, and for each the key that signs below it. It never prints
// itself; Encode is what is kept.
type Keys struct{ form keysForm }

// keysForm is how keys are kept: the seeds, in the broker's own writing.
type keysForm struct {
	Format   int                    `json:"format"`
	Operator pairForm               `json:"operator"`
	Accounts map[link.Side]pairForm `json:"accounts"`
}

type pairForm struct {
	Identity string `json:"identity"`
	Signer   string `json:"signer"` // the only one that may sign: the identity stays unused
}

// system is the broker's own account. Nobody has a user in it.
const system link.Side = "SYS"

func accounts() []link.Side { return []link.Side{link.Mesh, link.Nodes, link.Builders, system} }

// NewKeys makes all of them.
func NewKeys() (Keys, error) {
	operator, err := newPair(nkeys.CreateOperator)
	if err != nil {
		return Keys{}, err
	}
	k := Keys{keysForm{Format: 1, Operator: operator, Accounts: map[link.Side]pairForm{}}}
	for _, side := range accounts() {
		if k.form.Accounts[side], err = newPair(nkeys.CreateAccount); err != nil {
			return Keys{}, err
		}
	}
	return k, nil
}

// ParseKeys reads what Encode wrote.
func ParseKeys(data []byte) (Keys, error) {
	form, err := document.Decode[keysForm]("broker keys", data, document.Limits{Bytes: 16 << 10, Depth: 4})
	if err != nil {
		return Keys{}, err
	}
	if form.Format != 1 {
		return Keys{}, fault.New(fault.Invalid, "broker keys: format %d, this program reads 1", form.Format)
	}
	if err := form.Operator.check(nkeys.PrefixByteOperator, "operator"); err != nil {
		return Keys{}, err
	}
	for _, side := range accounts() {
		if err := form.Accounts[side].check(nkeys.PrefixByteAccount, string(side)); err != nil {
			return Keys{}, err
		}
	}
	return Keys{form}, nil
}

// Encode is the secret to keep.
func (k Keys) Encode() ([]byte, error) { return document.Canonical(k.form) }

// Zero reports whether there are no keys in k.
func (k Keys) Zero() bool { return k.form.Format == 0 }

// String hides the keys.
func (Keys) String() string { return "***" }

// GoString hides the keys.
func (Keys) GoString() string { return "***" }

// LogValue hides the keys.
func (Keys) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalJSON hides the keys.
func (Keys) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

func newPair(create func() (nkeys.KeyPair, error)) (pairForm, error) {
	var seeds [2]string
	for i := range seeds {
		pair, err := create()
		if err != nil {
			return pairForm{}, fault.Wrap(fault.Unavailable, err, "make a broker key")
		}
		seed, err := pair.Seed()
		if err != nil {
			return pairForm{}, fault.Wrap(fault.Broken, err, "make a broker key")
		}
		seeds[i] = string(seed)
	}
	return pairForm{seeds[0], seeds[1]}, nil
}

func (p pairForm) check(want nkeys.PrefixByte, name string) error {
	for _, seed := range []string{p.Identity, p.Signer} {
		if prefix, _, err := nkeys.DecodeSeed([]byte(seed)); err != nil || prefix != want {
			return fault.New(fault.Invalid, "broker keys: %q has no valid seed", name)
		}
	}
	return nil
}

// open is the two keys ready for use.
func (p pairForm) open() (identity, signer opened, err error) {
	if identity, err = openSeed(p.Identity); err != nil {
		return opened{}, opened{}, err
	}
	signer, err = openSeed(p.Signer)
	return identity, signer, err
}

type opened struct {
	pair   nkeys.KeyPair
	public string
}

func openSeed(seed string) (opened, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return opened{}, fault.Wrap(fault.Broken, err, "open a broker key")
	}
	public, err := pair.PublicKey()
	if err != nil {
		return opened{}, fault.Wrap(fault.Broken, err, "open a broker key")
	}
	return opened{pair, public}, nil
}
