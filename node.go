package mesh

// Node is a managed machine. The id is minted by the controller, random, and
// never used again; the name is a label that a person may change.
type Node struct {
	ID   string `json:"node"`
	Name string `json:"name"`
}

// ValidID reports whether this could be an id that the controller minted. An id
// becomes part of a broker subject, so nothing else may ever stand in its place.
func ValidID(s string) bool { return len(s) >= 8 && len(s) <= 32 && plain(s, "") }

// ValidNodeName reports whether a node may be called this: a host name in
// lower case, at most 63 characters.
func ValidNodeName(name string) bool { return label(name, "-.") }
