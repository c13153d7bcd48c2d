package declaration

import "noxmesh/document"

// Format is the version of the declaration's form that this program writes.
const Format = 1

// Limits is what a host reads of a declaration before it has looked at it.
var Limits = document.Limits{Bytes: 4 << 20, Depth: 16} //nolint:gochecknoglobals // a constant struct

// InlineLimit is the largest body that travels inside a declaration; a larger one is a blob.
const InlineLimit = 64 << 10

// Declaration is what one node should be. (Epoch, Generation) only ever goes up on a node.
type Declaration struct {
	Format     int    `json:"format"`
	Mesh       string `json:"mesh"` // the mesh's id
	Node       string `json:"node"` // the node's id
	Name       string `json:"name"` // the node's name, for people
	Epoch      int64  `json:"epoch"`
	Generation int64  `json:"generation"`
	Body       Body   `json:"body"`
	Where      Where  `json:"where"`
}

// Body is content alone: nothing in it depends on when, where or by what it was built.
type Body struct {
	Modules   []Module   `json:"modules"`
	Resources []Resource `json:"resources"` // in the order in which they are applied
}

// Module is one module that belongs on the node, by its content.
type Module struct {
	Module  string          `json:"module"`
	Content document.Digest `json:"content"`
}

// Type is the kind of a resource.
type Type string

// The types that a host knows.
const (
	File      Type = "file"
	Directory Type = "directory"
	Link      Type = "link"
	Archive   Type = "archive"
	Group     Type = "group"
	User      Type = "user"
	Service   Type = "service"
	Package   Type = "package"
	Sysctl    Type = "sysctl"
	Mount     Type = "mount"
	Check     Type = "check"
	Container Type = "container"
)

// Resource is one thing on the machine. Which fields belong to which type is
// the table in types.go; a field that does not belong is refused.
type Resource struct {
	ID     string          `json:"id"` // module/id
	Type   Type            `json:"type"`
	Path   string          `json:"path,omitempty"`   // file, directory, link, archive: absolute and clean
	Mode   string          `json:"mode,omitempty"`   // file, directory: four octal digits, see ValidMode
	Target string          `json:"target,omitempty"` // link: what it points to, as it is written
	Digest document.Digest `json:"digest,omitempty"` // file: of its bytes; archive: of its index
	Size   int64           `json:"size,omitempty"`   // file: its bytes
	After  []string        `json:"after,omitempty"`  // ids of resources earlier in the list that this one needs

	// Secrets is, of a file, by name, the values that are sealed to this node. Its
	// digest and size are those of a template then, see CutTemplate.
	Secrets map[string]string `json:"secrets,omitempty"`
	*Traits                   // what only some say; most have none, and pay for none
}

// Where says how to get the bytes that the body names by digest. It has no part in the digest.
type Where struct {
	Registry string                     `json:"registry,omitempty"` // https://host:port, no path
	Inline   map[document.Digest]string `json:"inline,omitempty"`   // UTF-8 bodies of at most InlineLimit
	Blobs    map[document.Digest]Blob   `json:"blobs,omitempty"`    // file bodies in the registry
	Archives map[document.Digest]Packed `json:"archives,omitempty"` // by the digest of the index
}

// Blob is a body in a repository of the registry.
type Blob struct {
	Repository string `json:"repository"`
	Size       int64  `json:"size"`
}

// Packed is how an archive travels: its index, compressed, and its frames as one .tar.zst.
type Packed struct {
	Repository string          `json:"repository"`
	Index      document.Digest `json:"index"` // of the compressed index
	IndexSize  int64           `json:"index_size"`
	Blob       document.Digest `json:"blob"`
	Size       int64           `json:"size"`
}

// Tuple is a declaration's place in the order and what it was: the ledger's
// row, and what a host has accepted or applied. The zero Tuple is "none".
type Tuple struct {
	Epoch      int64           `json:"epoch"`
	Generation int64           `json:"generation"`
	Digest     document.Digest `json:"digest,omitempty"`
}

// Before reports whether t comes before u in the order. Digests have no part in it.
func (t Tuple) Before(u Tuple) bool {
	if t.Epoch != u.Epoch {
		return t.Epoch < u.Epoch
	}
	return t.Generation < u.Generation
}

// Digest is the declaration's identity: that of its node and its body.
func (d Declaration) Digest() (document.Digest, error) {
	return document.CanonicalDigest(struct {
		Node string `json:"node"`
		Body Body   `json:"body"`
	}{d.Node, d.Body})
}

// Tuple is the declaration's place in the order and its digest.
func (d Declaration) Tuple() (Tuple, error) {
	digest, err := d.Digest()
	return Tuple{d.Epoch, d.Generation, digest}, err
}

// ContentDigest is the identity of one resource: what a report says it has read back.
func (r Resource) ContentDigest() (document.Digest, error) { return document.CanonicalDigest(r) }
