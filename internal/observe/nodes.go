package observe

import (
	"noxmesh/internal/invariant"
)

// Nodes remembers what each node was seen to have accepted. It is for one
// goroutine. The zero Nodes has seen nothing.
type Nodes struct {
	history map[string][]invariant.Accepted // by root
}

// Look is the node at this root with all that was seen of it before.
func (a *Nodes) Look(root string) (invariant.Node, error) {
	n, err := Node(root)
	if err != nil {
		return n, err
	}
	if a.history == nil {
		a.history = map[string][]invariant.Accepted{}
	}
	was := a.history[root]
	for _, now := range n.History {
		if len(was) == 0 || was[len(was)-1] != now {
			was = append(was, now)
		}
	}
	a.history[root], n.History = was, was
	return n, nil
}
