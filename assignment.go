package mesh

// Assignment says that this module belongs on this node, with these settings.
// Whoever can merge to an assigned module is root on that node: assignment is
// the grant.
type Assignment struct {
	Module   string            `json:"module"`
	Node     string            `json:"node"` // the node's id
	Settings map[string]string `json:"settings,omitempty"`
}
