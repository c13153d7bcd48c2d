package identity

import (
	"log/slog"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// Format is the version of the join documents' form that this program writes.
const Format = 1

// JoinPath is where a join is asked for.
const JoinPath = "/v1/join"

// What is read of a join document before it has been looked at.
const (
	requestLimit = 16 << 10
	answerLimit  = 64 << 10
)

// Kind is what joins.
type Kind string

// The kinds.
const (
	KindNode    Kind = "node"
	KindBuilder Kind = "builder"
)

// Side is the side of the broker's table that a kind belongs to, and false for
// any other word.
func (k Kind) Side() (link.Side, bool) {
	switch k {
	case KindNode:
		return link.Nodes, true
	case KindBuilder:
		return link.Builders, true
	default:
		return "", false
	}
}

// JoinRequest is what a node or builder says of itself: the token's proof, and
// the public halves of the keys that it has made.
type JoinRequest struct {
	Format  int            `json:"format"`
	Token   string         `json:"token"`  // the token's id
	Secret  string         `json:"secret"` // the token's secret, revealed
	Kind    Kind           `json:"kind"`
	Name    string         `json:"name"` // the machine's own name, for people
	Sign    link.PublicKey `json:"sign"`
	Nats    string         `json:"nats"`
	Seal    string         `json:"seal,omitempty"` // node: the age recipient that secrets are sealed to
	Version string         `json:"version"`
	Speaks  []int          `json:"speaks"` // the formats of declarations or build requests that it understands
}

// JoinAnswer is all that a node or builder has to know of the mesh.
type JoinAnswer struct {
	Format         int           `json:"format"`
	Mesh           string        `json:"mesh"`
	ID             string        `json:"id"`
	Name           string        `json:"name"`
	CA             string        `json:"ca"`     // PEM
	Broker         string        `json:"broker"` // tls://host:port
	JWT            string        `json:"jwt"`
	Registry       string        `json:"registry"` // https://host:port
	RegistrySecret string        `json:"registry_secret"`
	Keys           link.Envelope `json:"keys"`
}

// String names who asks and hides the secret.
func (r JoinRequest) String() string { return string(r.Kind) + " " + r.Name }

// GoString names who asks and hides the secret.
func (r JoinRequest) GoString() string { return r.String() }

// LogValue names who asks and hides the secret.
func (r JoinRequest) LogValue() slog.Value { return slog.StringValue(r.String()) }

// String names who joined and hides the secrets.
func (a JoinAnswer) String() string { return a.ID + " " + a.Name }

// GoString names who joined and hides the secrets.
func (a JoinAnswer) GoString() string { return a.String() }

// LogValue names who joined and hides the secrets.
func (a JoinAnswer) LogValue() slog.Value { return slog.StringValue(a.String()) }

// DecodeJoinRequest reads exactly one request, and refuses what no node or
// builder of ours would send.
func DecodeJoinRequest(data []byte) (JoinRequest, error) {
	r, err := document.Decode[JoinRequest]("join request", data, document.Limits{Bytes: requestLimit, Depth: 3})
	if err != nil {
		return JoinRequest{}, err
	}
	return orNothing(r, r.Check())
}

// DecodeJoinAnswer reads exactly one answer. What it says is not believed yet:
// see Join.
func DecodeJoinAnswer(data []byte) (JoinAnswer, error) {
	a, err := document.Decode[JoinAnswer]("join answer", data, document.Limits{Bytes: answerLimit, Depth: 5})
	if err != nil {
		return JoinAnswer{}, err
	}
	return orNothing(a, a.check())
}

// Check refuses what no node or builder of ours would send, for whoever has
// decoded the request by other means.
func (r JoinRequest) Check() error {
	switch _, known := r.Kind.Side(); {
	case r.Format != Format:
		return fault.New(fault.Invalid, "join request: format %d, this program reads %d", r.Format, Format).
			With("install the mesh's own version of the program that joins")
	case !mesh.ValidID(r.Token):
		return fault.New(fault.Invalid, "join request: its token is not an id")
	case r.Secret == "" || len(r.Secret) > 128:
		return fault.New(fault.Invalid, "join request: its secret has not the length that secrets have")
	case !known:
		return fault.New(fault.Invalid, "join request: %q does not join; want %s or %s", string(r.Kind), KindNode, KindBuilder)
	case !mesh.ValidNodeName(r.Name):
		return fault.New(fault.Invalid, "join request: %q is not a name: want a host name in lower case, at most 63 characters", r.Name)
	case !r.Sign.Valid():
		return fault.New(fault.Invalid, "join request: its signing key is not a public key")
	case !userKey(r.Nats):
		return fault.New(fault.Invalid, "join request: its broker key is not a user's public key")
	case r.Kind == KindNode && !sealKey(r.Seal):
		return fault.New(fault.Invalid, "join request: its sealing key is not an age recipient")
	case r.Kind == KindBuilder && r.Seal != "" && !sealKey(r.Seal):
		return fault.New(fault.Invalid, "join request: its sealing key is not an age recipient")
	}
	return r.checkSaid()
}

func (r JoinRequest) checkSaid() error {
	if r.Version == "" || len(r.Version) > 64 || strings.ContainsFunc(r.Version, notPrinted) {
		return fault.New(fault.Invalid, "join request: its version is not one short word")
	}
	if len(r.Speaks) == 0 || len(r.Speaks) > 32 {
		return fault.New(fault.Invalid, "join request: it speaks %d formats, want 1 to 32", len(r.Speaks))
	}
	for _, f := range r.Speaks {
		if f < 1 || f > 1<<16 {
			return fault.New(fault.Invalid, "join request: format %d does not exist", f)
		}
	}
	return nil
}

func (a JoinAnswer) check() error {
	switch {
	case a.Format != Format:
		return fault.New(fault.Invalid, "join answer: format %d, this program reads %d", a.Format, Format).
			With("install the mesh's own version of this program")
	case !mesh.ValidID(a.Mesh) || !mesh.ValidID(a.ID):
		return fault.New(fault.Invalid, "join answer: mesh %q, id %q: want ids", a.Mesh, a.ID)
	case !mesh.ValidNodeName(a.Name):
		return fault.New(fault.Invalid, "join answer: %q is not a name", a.Name)
	case !strings.HasPrefix(a.Broker, "tls://"):
		return fault.New(fault.Invalid, "join answer: %q is not a broker's address: want tls://host:port", a.Broker)
	case a.JWT == "":
		return fault.New(fault.Invalid, "join answer: it has no permission for the broker")
	}
	if err := checkURL(a.Registry); err != nil {
		return fault.Add(err, "join answer: the registry's address %q", a.Registry)
	}
	return nil
}

// userKey is the form of a broker user's public key: U and 55 more of base 32.
// The broker's own library checks its sum when the permission is written.
func userKey(s string) bool {
	return len(s) == 56 && s[0] == 'U' && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// sealKey is the form of an age X25519 recipient. Whoever seals to it parses it whole.
func sealKey(s string) bool {
	rest, ok := strings.CutPrefix(s, "age1")
	return ok && len(rest) == 58 && strings.Trim(rest, "qpzry9x8gf2tvdw0s3jn54khce6mua7l") == ""
}

func notPrinted(r rune) bool { return r <= ' ' || r > '~' }
