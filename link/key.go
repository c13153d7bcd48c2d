package link

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"log/slog"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

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

// Zero reports whether there is no key in k.
func (k Key) Zero() bool { return len(k.private) == 0 }

// Seed is the secret to keep: 32 bytes.
func (k Key) Seed() []byte { return k.private.Seed() }

// String hides the key.
func (k Key) String() string { return "***" }

// GoString hides the key.
func (k Key) GoString() string { return "***" }

// LogValue hides the key.
func (k Key) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalJSON hides the key.
func (k Key) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

// Public is the key that verifies.
func (k Key) Public() PublicKey {
	return PublicKey(base64.RawURLEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey)))
}

// Valid reports whether p is the one way to write a public key.
func (p PublicKey) Valid() bool {
	_, err := p.key()
	return err == nil
}

// ID is the first 16 hexadecimal digits of the SHA-256 of the key's bytes, or
// "" where p is not valid. It says which key to try and proves nothing.
func (p PublicKey) ID() string {
	b, err := p.key()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// PEM is the key as other programs take it: SubjectPublicKeyInfo in PEM.
func (p PublicKey) PEM() (string, error) {
	b, err := p.key()
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKIXPublicKey(b)
	if err != nil {
		return "", fault.Wrap(fault.Broken, err, "encode key %q", p.ID())
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

func (p PublicKey) key() (ed25519.PublicKey, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(string(p))
	if err != nil || len(b) != ed25519.PublicKeySize || base64.RawURLEncoding.EncodeToString(b) != string(p) {
		return nil, fault.New(fault.Invalid, "%q is not an Ed25519 public key in URL-safe base64", document.Short(string(p)))
	}
	return b, nil
}
