package link

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Envelope is a DSSE envelope (github.com/secure-systems-lab/dsse, protocol 1.0.2): a payload, its
// type, and signatures over both.
type Envelope struct {
	PayloadType PayloadType `json:"payloadType"`
	Payload     []byte      `json:"payload"`
	Signatures  []Signature `json:"signatures"`
}

// Signature is one key's signature over the payload's type and bytes.
type Signature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// PublicKey is an Ed25519 public key in unpadded URL-safe base64.
type PublicKey string

// Key is an Ed25519 key pair that signs. It never prints itself.
type Key struct{ private ed25519.PrivateKey }

// NewKey makes a key from the system's randomness.
func NewKey() (Key, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := rand.Read(seed); err != nil {
		return Key{}, fault.Wrap(fault.Unavailable, err, "make a key")
	}
	return KeyFromSeed(seed)
}

// KeyFromSeed is the key with this seed of 32 bytes.
func KeyFromSeed(seed []byte) (Key, error) {
	if len(seed) != ed25519.SeedSize {
		return Key{}, fault.New(fault.Invalid, "a key's seed has %d bytes, want %d", len(seed), ed25519.SeedSize)
	}
	return Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// Seed is the secret to keep: 32 bytes.
func (k Key) Seed() []byte { return k.private.Seed() }

// String hides the key.
func (k Key) String() string { return "***" }

// GoString hides the key.
func (k Key) GoString() string { return "***" }

// Public is the key that verifies.
func (k Key) Public() PublicKey {
	return PublicKey(base64.RawURLEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey)))
}

// ID is the first 16 hexadecimal digits of the SHA-256 of the key's bytes.
func (p PublicKey) ID() string {
	sum := sha256.Sum256([]byte(p))
	return hex.EncodeToString(sum[:8])
}

func (p PublicKey) key() (ed25519.PublicKey, error) {
	b, err := base64.RawURLEncoding.DecodeString(string(p))
	if err != nil || len(b) != ed25519.PublicKeySize {
		return nil, fault.New(fault.Invalid, "%q is not an Ed25519 public key in URL-safe base64", string(p))
	}
	return b, nil
}

// Seal encodes v canonically and signs it.
func Seal(k Key, t PayloadType, v any) (Envelope, error) {
	payload, err := document.Canonical(v)
	if err != nil {
		return Envelope{}, err
	}
	sig := ed25519.Sign(k.private, preAuth(t, payload))
	return Envelope{t, payload, []Signature{{k.Public().ID(), sig}}}, nil
}

// Open verifies that one of keys signed this payload as this type, and returns it.
func (e Envelope) Open(t PayloadType, keys ...PublicKey) ([]byte, error) {
	if e.PayloadType != t {
		return nil, fault.New(fault.Denied, "an envelope of type %q, want %q", e.PayloadType, t)
	}
	for _, p := range keys {
		pub, err := p.key()
		if err != nil {
			return nil, err
		}
		for _, s := range e.Signatures {
			if s.KeyID == p.ID() && ed25519.Verify(pub, preAuth(t, e.Payload), s.Sig) {
				return e.Payload, nil
			}
		}
	}
	return nil, fault.New(fault.Denied, "no signature of %q is by a key that may sign it", t)
}

// preAuth is DSSE's pre-authentication encoding.
func preAuth(t PayloadType, payload []byte) []byte {
	b := []byte("DSSEv1 " + strconv.Itoa(len(t)) + " " + string(t) + " " + strconv.Itoa(len(payload)) + " ")
	return append(b, payload...)
}
