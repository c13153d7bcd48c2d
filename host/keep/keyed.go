package keep

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"noxmesh/document"
	"noxmesh/sealed"
)

// keyedBegins is before the digest of a file that has secrets in it. Whoever has the
// record and not the key of the node cannot try values against it.
const keyedBegins = "hmac-sha256:"

// Mark is what files with secrets are known by in the record of whoever has this key.
func Mark(k sealed.Key) []byte { return k.For("mesh-host record") }

// KeyedDigest is what the record has of a file with secrets, of which this is the
// SHA-256, in place of its digest.
func KeyedDigest(mark, sum []byte) document.Digest {
	mac := hmac.New(sha256.New, mark)
	mac.Write(sum)
	return document.Digest(keyedBegins + hex.EncodeToString(mac.Sum(nil)))
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
