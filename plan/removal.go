package plan

import "noxmesh/declaration"

// Removal is how much of what a node holds it would no longer be declared to hold.
type Removal struct {
	Gone int `json:"gone"` // resources that would be removed
	Of   int `json:"of"`   // resources that it holds
}

const (
	removalFloor = 10 // fewer are never many
	removalShare = 2  // one of so many of what it holds, and it is not many yet
)

// RemovalOf compares what a node holds, by the ids of the resources that it has
// reported, with what it would be declared to be.
func RemovalOf(held []string, body declaration.Body) Removal {
	stays := make(map[string]bool, len(body.Resources))
	for i := range body.Resources {
		stays[body.Resources[i].ID] = true
	}
	r := Removal{Of: len(held)}
	for _, id := range held {
		if !stays[id] {
			r.Gone++
		}
	}
	return r
}

// Many reports whether so much would go that a person is asked first: ten resources or
// more, which are more than half of what the node holds.
func (r Removal) Many() bool { return r.Gone >= removalFloor && r.Gone*removalShare > r.Of }
