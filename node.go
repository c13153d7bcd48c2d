package mesh

import "regexp"

// Node is a managed machine. The id is minted by the controller, random, and
// never used again; the name is a label that a person may change.
type Node struct {
	ID   string `json:"node"`
	Name string `json:"name"`
}

var (
	id       = regexp.MustCompile(`^[a-z0-9]{8,32}$`)
	nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)
)

// ValidID reports whether this could be an id that the controller minted. An id
// becomes part of a broker subject, so nothing else may ever stand in its place.
func ValidID(s string) bool { return id.MatchString(s) }

// ValidNodeName reports whether a node may be called this: a host name in
// lower case, at most 63 characters.
func ValidNodeName(name string) bool { return nodeName.MatchString(name) }
