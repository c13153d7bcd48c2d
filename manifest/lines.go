package manifest

import (
	"noxmesh/document"
)

// Lines is where module.json says what the module needs of others: lines from 1.
type Lines struct {
	Requires  map[string]int `json:"requires,omitempty"`  // by what is required
	Instances map[string]int `json:"instances,omitempty"` // by the instance's name
	In        int            `json:"in,omitempty"`        // the image that it is built in
}

// LinesOf is the lines of the manifest that was read from these bytes.
func LinesOf(data []byte, m Source) Lines {
	var paths []string
	for i := range m.Requires {
		paths = append(paths, document.At("requires", i))
	}
	for name := range m.Instances {
		paths = append(paths, document.Join("instances", name))
	}
	const in = "build.in"
	if m.Build != nil && m.Build.In != "" {
		paths = append(paths, in)
	}
	if len(paths) == 0 {
		return Lines{}
	}
	at := document.Lines(data, paths)
	out := Lines{Requires: make(map[string]int, len(m.Requires)), Instances: make(map[string]int, len(m.Instances))}
	out.In = at[in]
	for i, name := range m.Requires {
		out.Requires[name] = at[document.At("requires", i)]
	}
	for name := range m.Instances {
		out.Instances[name] = at[document.Join("instances", name)]
	}
	return out
}
