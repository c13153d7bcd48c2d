package api

// OwnersIn asks who owns what the code of a module asks for, as somebody's folder
// has it. The mesh need not know the module.
type OwnersIn struct {
	Module string `json:"-" path:"module"`
	Owns   []Ask  `json:"owns"`
	Asks   []Ask  `json:"asks"`
}

// Ask is a name that is owned or asked for, or a path in the module's repository.
type Ask struct {
	Language string `json:"language"`
	Name     string `json:"name,omitempty"` // empty where it is a path
	Path     string `json:"path,omitempty"`
	Test     bool   `json:"test,omitempty"`
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
}

// OwnersOut is the edges that this code would have.
type OwnersOut struct {
	Module  string   `json:"module"`
	Known   bool     `json:"known"`   // the mesh has a module with that name, and the place of its repository
	Edges   []Edge   `json:"edges"`   // to the owner of each name that a module owns
	Against []string `json:"against"` // in words, each name that several own
}
