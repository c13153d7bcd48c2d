package declaration

import (
	"encoding/json"
	"fmt"
	"strings"

	"noxmesh/document"
)

// unknown is how a host begins to say that it refuses what it does not know.
const unknown = "it says what this version of the host does not take: "

// WhyUnknown is why a host refuses a declaration that is rightly signed, and says what
// this host does not know: a later version has made it. Not all of it is said.
func WhyUnknown(err error) string {
	const shown, most = 3, 1 << 10
	var faults []string
	problems := document.ProblemsOf(err)
	for _, p := range problems {
		faults = append(faults, strings.TrimPrefix(p.Path+": ", ": ")+p.What)
	}
	if len(faults) == 0 {
		faults = []string{err.Error()}
	}
	more := ""
	if n := len(faults) - shown; n > 0 {
		faults, more = faults[:shown], fmt.Sprintf("; and %d more", n)
	}
	text := strings.Join(faults, "; ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return unknown + text + more
}

// IsUnknown reports whether that is why a host has refused a declaration. Of another
// version it would take it.
func IsUnknown(why string) bool { return strings.HasPrefix(why, unknown) }

// TupleOf is the place and the digest of a declaration, whatever there is in its body
// that this version does not know: a host says which one it was that it refused. Who
// signed it was verified.
func TupleOf(payload []byte) (Tuple, error) {
	d, err := document.Part[struct {
		Node       string          `json:"node"`
		Epoch      int64           `json:"epoch"`
		Generation int64           `json:"generation"`
		Body       json.RawMessage `json:"body"`
	}](payload)
	if err != nil {
		return Tuple{}, err
	}
	digest, err := document.CanonicalDigest(struct {
		Node string          `json:"node"`
		Body json.RawMessage `json:"body"`
	}{d.Node, d.Body})
	if err != nil {
		return Tuple{}, err
	}
	return Tuple{d.Epoch, d.Generation, digest}, nil
}
