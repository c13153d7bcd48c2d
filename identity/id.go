package identity

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

// idBytes give 16 letters and digits, 80 bits: among a million ids two are
// alike with a chance of one in a million million.
const idBytes = 10

// NewID mints the id of a node, a builder, a token or a mesh: random, and never
// used again.
func NewID() string {
	b := make([]byte, idBytes)
	_, _ = rand.Read(b) // never fails: it ends the process instead
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}
