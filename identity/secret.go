package identity

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
)

// Secret is what proves whoever holds it. It never prints itself; Reveal is for
// the one place that sends or keeps it.
type Secret struct{ value string }

// secretBytes cannot be guessed, so that a plain hash of a secret can be kept.
const secretBytes = 32

// NewSecret makes a secret from the system's randomness.
func NewSecret() Secret {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails: it ends the process instead
	return Secret{base64.RawURLEncoding.EncodeToString(b)}
}

// SecretFrom is the secret that was revealed as this text.
func SecretFrom(text string) Secret { return Secret{text} }

// Reveal is the secret itself.
func (s Secret) Reveal() string { return s.value }

// Empty reports whether there is none.
func (s Secret) Empty() bool { return s.value == "" }

// Hide is text in which *** stands wherever the secret did.
func (s Secret) Hide(text []byte) []byte {
	if s.value == "" || !bytes.Contains(text, []byte(s.value)) {
		return text
	}
	return bytes.ReplaceAll(text, []byte(s.value), []byte("***"))
}

// String hides the secret.
func (Secret) String() string { return "***" }

// GoString hides the secret.
func (Secret) GoString() string { return "***" }

// LogValue hides the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalJSON hides the secret: a document that carries one says so with Reveal.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

// HashSecret is what is kept of a secret by whoever has to check it.
func HashSecret(s Secret) string {
	sum := sha256.Sum256([]byte(s.value))
	return hex.EncodeToString(sum[:])
}

// Matches reports whether this is the secret that was kept as hash. It takes as
// long for a near miss as for any other.
func (s Secret) Matches(hash string) bool {
	return !s.Empty() && subtle.ConstantTimeCompare([]byte(HashSecret(s)), []byte(hash)) == 1
}
