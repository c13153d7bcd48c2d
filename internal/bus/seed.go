package bus

import (
	"log/slog"

	"github.com/nats-io/nkeys"

	"noxmesh/internal/fault"
)

// Seed is the secret half of a key that proves a user to the broker. It never
// prints itself; string(seed) is what is kept on disk.
type Seed string

// String hides the seed.
func (Seed) String() string { return "***" }

// GoString hides the seed.
func (Seed) GoString() string { return "***" }

// LogValue hides the seed.
func (Seed) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalJSON hides the seed.
func (Seed) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

// NewUserSeed makes a user's key: the seed stays where it was made, the public
// half goes to whoever gives out permissions.
func NewUserSeed() (seed Seed, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", "", fault.Wrap(fault.Unavailable, err, "make a broker key")
	}
	defer pair.Wipe()
	b, err := pair.Seed()
	if err != nil {
		return "", "", fault.Wrap(fault.Broken, err, "make a broker key")
	}
	public, err = pair.PublicKey()
	if err != nil {
		return "", "", fault.Wrap(fault.Broken, err, "make a broker key")
	}
	return Seed(b), public, nil
}

// Public is the public half, or an error where this is not a user's seed.
func (s Seed) Public() (string, error) {
	pair, err := s.pair()
	if err != nil {
		return "", err
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

// ValidPublic reports whether this is the one way to write the public half of a
// user's key: the library alone would take more characters behind it.
func ValidPublic(public string) bool {
	return len(public) == publicLength && nkeys.IsValidPublicUserKey(public)
}

const publicLength = 56

func (s Seed) pair() (nkeys.KeyPair, error) {
	prefix, _, err := nkeys.DecodeSeed([]byte(s))
	if err != nil || prefix != nkeys.PrefixByteUser {
		return nil, fault.New(fault.Invalid, "the broker key is not a user's seed")
	}
	return nkeys.FromSeed([]byte(s))
}

func (s Seed) sign(nonce []byte) ([]byte, error) {
	pair, err := s.pair()
	if err != nil {
		return nil, err
	}
	defer pair.Wipe()
	return pair.Sign(nonce)
}
