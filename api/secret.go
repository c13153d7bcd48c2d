package api

import (
	"net/http"
	"time"

	"noxmesh/identity"
)

// Secrets lists what is known of secrets: never a value.
func Secrets() Call[SecretsIn, SecretsOut] {
	return call[SecretsIn, SecretsOut]("secrets", http.MethodGet, "/v1/secrets", identity.Viewer, "The secrets of modules on nodes: which version each has, and which the node has reported as applied. Never a value.")
}

// SecretRecipients asks to whom a value is to be sealed.
func SecretRecipients() Call[SecretRecipientsIn, SecretRecipientsOut] {
	return call[SecretRecipientsIn, SecretRecipientsOut]("secret-recipients", http.MethodPost, "/v1/modules/{module}/secrets/{secret}/recipients", identity.Operator,
		"To whom the next value of a secret is to be sealed, and which version it is.")
}

// SecretSet keeps values that somebody has sealed.
func SecretSet() Call[SecretSetIn, SecretSetOut] {
	c := call[SecretSetIn, SecretSetOut]("secret-set", http.MethodPut, "/v1/modules/{module}/secrets/{secret}", identity.Operator,
		"Keep a value of a secret, which was sealed to each node's key before it came here.")
	c.Row.Limit = sealedLimit
	return c
}

// SecretRemove forgets values.
func SecretRemove() Call[SecretRemoveIn, SecretSetOut] {
	return call[SecretRemoveIn, SecretSetOut]("secret-remove", http.MethodPost, "/v1/modules/{module}/secrets/{secret}/remove", identity.Operator,
		"Forget the value of a secret on some nodes, or on all.")
}

// sealedLimit is what is read of sealed values: a value is sealed to each node by
// itself, and all of them come at once, so that all have the same version.
const sealedLimit = 64 << 20

// SecretsIn narrows the list.
type SecretsIn struct {
	Module string `json:"-" query:"module"`
	Node   string `json:"-" query:"node"` // by name or id
}

// SecretsOut is what is known of secrets, by module, secret and node.
type SecretsOut struct {
	Secrets []SecretOut `json:"secrets"`
}

// SecretOut is one secret of a module on one node.
type SecretOut struct {
	Module    string    `json:"module"`
	Secret    string    `json:"secret"`
	Node      string    `json:"node"`
	Name      string    `json:"name"` // of the node
	Says      string    `json:"says,omitempty"`
	Needed    bool      `json:"needed"`            // the module belongs on the node, and has it in a file
	Version   int64     `json:"version,omitempty"` // of its value; none where there is no value
	SetAt     time.Time `json:"set_at,omitzero"`
	SetBy     string    `json:"set_by,omitempty"`
	Applied   int64     `json:"applied,omitempty"` // the version that the node has reported last to have in its files
	AppliedAt time.Time `json:"applied_at,omitzero"`
}

// SecretRecipientsIn names a secret, and the nodes that it is for; none are all that
// the module belongs on.
type SecretRecipientsIn struct {
	Module string   `json:"-" path:"module"`
	Secret string   `json:"-" path:"secret"`
	Nodes  []string `json:"nodes,omitempty"` // by name or id
}

// SecretRecipientsOut is to whom a value is to be sealed.
type SecretRecipientsOut struct {
	Mesh       string      `json:"mesh"`
	Module     string      `json:"module"`
	Secret     string      `json:"secret"`
	Version    int64       `json:"version"` // that the next value has
	Recipients []Recipient `json:"recipients"`
	Without    []Keyless   `json:"without,omitempty"` // nodes that it cannot be sealed to now
}

// Recipient is one node, and its key.
type Recipient struct {
	Node      string `json:"node"`
	Name      string `json:"name"`
	Recipient string `json:"recipient"`
}

// Keyless is a node that has no key which a value could be sealed to, and why.
type Keyless struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// SecretSetIn is one value of a secret, sealed to each of some nodes.
type SecretSetIn struct {
	Module  string   `json:"-" path:"module"`
	Secret  string   `json:"-" path:"secret"`
	Version int64    `json:"version"`
	Values  []Sealed `json:"values"`
}

// Sealed is a value sealed to one node.
type Sealed struct {
	Node      string `json:"node"` // its id
	Recipient string `json:"recipient"`
	Sealed    string `json:"sealed"`
}

// SecretSetOut is on which nodes a secret has this version now, or has no value any more.
type SecretSetOut struct {
	Module  string    `json:"module"`
	Secret  string    `json:"secret"`
	Version int64     `json:"version,omitempty"`
	Nodes   []string  `json:"nodes"`             // names
	Without []Keyless `json:"without,omitempty"` // nodes that it could not be sealed to
}

// SecretRemoveIn names a secret, and nodes; none are all.
type SecretRemoveIn struct {
	Module string   `json:"-" path:"module"`
	Secret string   `json:"-" path:"secret"`
	Nodes  []string `json:"nodes,omitempty"` // by name or id
}
