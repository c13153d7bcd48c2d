package trouble

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Fingerprint is the same for the same set of ids, in whatever order, and
// another for any other set: 16 hexadecimal digits. Words have no part in it.
func Fingerprint(ids []string) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	return hex.EncodeToString(sum[:8])
}
