package document

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"noxmesh/internal/fault"
)

// Digest is the SHA-256 of some bytes, written "sha256:" and 64 lower-case
// hexadecimal digits. The empty Digest is "not known".
type Digest string

const digestPrefix = "sha256:"

// Sum is the digest of b.
func Sum(b []byte) Digest {
	sum := sha256.Sum256(b)
	return FromHash(sum[:])
}

// FromHash is the digest with these 32 bytes.
func FromHash(sum []byte) Digest { return Digest(digestPrefix + hex.EncodeToString(sum)) }

// ParseDigest is s as a digest; anything but the exact form is refused.
func ParseDigest(s string) (Digest, error) {
	d := Digest(s)
	if !d.Valid() {
		return "", fault.New(fault.Invalid, "%q is not a digest: want sha256: and 64 lower-case hexadecimal digits", Short(s))
	}
	return d, nil
}

// Valid reports whether d has the exact form.
func (d Digest) Valid() bool {
	h, ok := strings.CutPrefix(string(d), digestPrefix)
	if !ok || len(h) != 2*sha256.Size {
		return false
	}
	for i := range len(h) {
		if c := h[i]; c-'0' > 9 && c-'a' > 5 {
			return false
		}
	}
	return true
}

// Hex is the 64 digits without the algorithm, or "" where d is not valid.
func (d Digest) Hex() string {
	if !d.Valid() {
		return ""
	}
	return string(d[len(digestPrefix):])
}

// Short is the first 12 hexadecimal digits, for people.
func (d Digest) Short() string {
	if h := d.Hex(); h != "" {
		return h[:12]
	}
	return string(d)
}
