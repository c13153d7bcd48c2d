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
	Name   string
	By     Finder
	Breaks string // the invariants that it breaks, one of which must find it, with blanks between
	Seed   uint64 // of the simulation: the first that found it, which is tried first
}

// Bugs is all of them.
func Bugs() []Bug {
	return []Bug{
		{"answer acknowledged before it is committed", Simulation, "I6", 3},
		{"report acknowledged before it is committed", Simulation, "I6", 43},
		{"sent recorded before its receipt", Simulation, "I2", 19},
		{"equal digest taken for accepted", Simulation, "I1 I2", 28},
		{"equal generation with another digest accepted", Simulation, "I5", 42},
		{"lower generation accepted", Simulation, "I5", 5},
		{"accepted kept after the first effect", Simulation, "I2 I5", 1},
		{"receipt of another report believed", Simulation, "I1 I6", 5},
		{"removal forgotten before it is done", Simulation, "I2 I10", 3},
		{"applied said from accepted", Simulation, "I2", 1},
		{"a missing source is no module", Simulation, "I1", 5},
		{"lease recorded after the request is given", Simulation, "I4", 1},
		{"manifest published before its blobs", Simulation, "I3", 1},
		{"since of a trouble lost at a restart", Simulation, "I8", 6},
		{"a restored controller goes on declaring", Simulation, "I5", 42},
		{"a controller that was taken over writes on", Simulation, "I5", 2},
		{"another writer's changes not read", Simulation, "I2", 11},
		{"inputs not worked out anew", Simulation, "I1", 1},
		{"a closure without its inputs", Simulation, "I1", 2},
		{"a folder is not synced", Power, "", 0},
	}
}
