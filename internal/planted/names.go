package planted

// Finder is the tier that must find a bug.
type Finder string

// The tiers. What a power cut shows, no simulation of messages does.
const (
	Simulation Finder = "simulation"
	Power      Finder = "power"
)

// Bug is one that can be planted.
type Bug struct {
	Name string
	By   Finder
}

// Bugs is all of them.
func Bugs() []Bug {
	return []Bug{
		{"answer acknowledged before it is committed", Simulation},
		{"report acknowledged before it is committed", Simulation},
		{"sent recorded before its receipt", Simulation},
		{"equal digest taken for accepted", Simulation},
		{"equal generation with another digest accepted", Simulation},
		{"lower generation accepted", Simulation},
		{"accepted kept after the first effect", Simulation},
		{"receipt of another report believed", Simulation},
		{"removal forgotten before it is done", Simulation},
		{"applied said from accepted", Simulation},
		{"a missing source is no module", Simulation},
		{"lease recorded after the request is given", Simulation},
		{"manifest published before its blobs", Simulation},
		{"two builds for one request", Simulation},
		{"since of a trouble lost at a restart", Simulation},
		{"a restored controller goes on declaring", Simulation},
		{"a controller that was taken over writes on", Simulation},
		{"another writer's changes not read", Simulation},
		{"a folder is not synced", Power},
	}
}
