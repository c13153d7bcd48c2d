package keep

import (
	"encoding/hex"
	"strings"

	"noxmesh/document"
)

// keyedBegins is before the digest of a file that has secrets in it. Whoever has the
// record and not the key of the node cannot try values against it.
const keyedBegins = "hmac-sha256:"

// KeyedDigest is what the record has of a file with secrets in place of its digest.
func KeyedDigest(mac []byte) document.Digest {
	return document.Digest(keyedBegins + hex.EncodeToString(mac))
}

// Keyed reports whether this is of a file with secrets.
func Keyed(d document.Digest) bool { return strings.HasPrefix(string(d), keyedBegins) }

// digestFits reports whether the digest is one that such a thing has.
func (t Thing) digestFits() bool {
	if hex, keyed := strings.CutPrefix(string(t.Digest), keyedBegins); keyed {
		return t.Kind == File && document.Digest("sha256:"+hex).Valid()
	}
	return t.Digest.Valid() == (t.Kind == File)
}
