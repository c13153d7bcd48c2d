package link

import (
	"crypto/ed25519"
	"strconv"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// PayloadLimit is the largest payload that is signed or opened. A declaration of
// its largest size inside the answer to a hello stays below the broker's limit.
const PayloadLimit = 6 << 20

// SignatureLimit is how many signatures an envelope may carry: enough for a key
// and its successor several times over, few enough to try them all.
const SignatureLimit = 8

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

// Seal encodes v canonically and signs it.
func Seal(k Key, t PayloadType, v any) (Envelope, error) {
	if k.Zero() {
		return Envelope{}, fault.New(fault.Broken, "sign %q without a key", string(t))
	}
	payload, err := document.Canonical(v)
	if err != nil {
		return Envelope{}, err
	}
	if len(payload) > PayloadLimit {
		return Envelope{}, fault.New(fault.Invalid, "%q has %d bytes, at most %d cross", string(t), len(payload), PayloadLimit)
	}
	return Envelope{t, payload, []Signature{sign(k, t, payload)}}, nil
}

// Also is e with k's signature as well: what stays valid while one key takes
// over from another.
func (e Envelope) Also(k Key) (Envelope, error) {
	if k.Zero() {
		return Envelope{}, fault.New(fault.Broken, "sign %q without a key", string(e.PayloadType))
	}
	if len(e.Signatures) >= SignatureLimit {
		return Envelope{}, fault.New(fault.Invalid, "%q has %d signatures already, the most there may be", string(e.PayloadType), SignatureLimit)
	}
	for _, s := range e.Signatures {
		if s.KeyID == k.Public().ID() {
			return Envelope{}, fault.New(fault.Conflict, "%q is signed by key %s already", string(e.PayloadType), s.KeyID)
		}
	}
	signatures := append(make([]Signature, 0, len(e.Signatures)+1), e.Signatures...)
	return Envelope{e.PayloadType, e.Payload, append(signatures, sign(k, e.PayloadType, e.Payload))}, nil
}

// Open verifies that one of keys signed this payload as this type, and returns it.
func (e Envelope) Open(t PayloadType, keys ...PublicKey) ([]byte, error) {
	if err := e.bounded(t); err != nil {
		return nil, err
	}
	signed := preAuth(t, e.Payload)
	for _, p := range keys {
		pub, err := p.key()
		if err != nil {
			return nil, err
		}
		for _, s := range e.Signatures {
			if s.KeyID == p.ID() && ed25519.Verify(pub, signed, s.Sig) {
				return e.Payload, nil
			}
		}
	}
	return nil, fault.New(fault.Denied, "no signature of %q is by a key that may sign it", string(t))
}

// bounded is what can be refused before any signature is tried. With each key
// id at most once, one verification per known key is all that anybody can cause.
func (e Envelope) bounded(t PayloadType) error {
	switch {
	case e.PayloadType != t:
		return fault.New(fault.Denied, "an envelope of type %q, want %q", document.Short(string(e.PayloadType)), string(t))
	case len(e.Payload) > PayloadLimit:
		return fault.New(fault.Denied, "%q has %d bytes, at most %d are read", string(t), len(e.Payload), PayloadLimit)
	case len(e.Signatures) > SignatureLimit:
		return fault.New(fault.Denied, "%q has %d signatures, at most %d are tried", string(t), len(e.Signatures), SignatureLimit)
	}
	seen := map[string]bool{}
	for _, s := range e.Signatures {
		if seen[s.KeyID] {
			return fault.New(fault.Denied, "%q has two signatures by key %q", string(t), document.Short(s.KeyID))
		}
		seen[s.KeyID] = true
	}
	return nil
}

func sign(k Key, t PayloadType, payload []byte) Signature {
	return Signature{k.Public().ID(), ed25519.Sign(k.private, preAuth(t, payload))}
}

// preAuth is DSSE's pre-authentication encoding.
func preAuth(t PayloadType, payload []byte) []byte {
	head := "DSSEv1 " + strconv.Itoa(len(t)) + " " + string(t) + " " + strconv.Itoa(len(payload)) + " "
	return append(append(make([]byte, 0, len(head)+len(payload)), head...), payload...)
}
