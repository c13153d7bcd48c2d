package manifest

import (
	"noxmesh/document"
)

// Lines is where module.json says what the module needs of others: lines from 1.
type Lines struct {
	Requires  map[string]int `json:"requires,omitempty"`  // by what is required
	Instances map[string]int `json:"instances,omitempty"` // by the instance's name
	In        int            `json:"in,omitempty"`        // the image that it is built in
	Bases     map[string]int `json:"bases,omitempty"`     // by artifact: what an image stands on
}

// OfImage is the line that asks for an image, by the artifact that stands on it; of
// the one that commands run in where there is none.
func (l Lines) OfImage(artifact string) int {
	if artifact == "" {
		return l.In
	}
	return l.Bases[artifact]
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
	asked := m.AskedImages()
	for _, i := range asked {
		paths = append(paths, i.path())
	}
	if len(paths) == 0 {
		return Lines{}
	}
	at := document.Lines(data, paths)
	out := Lines{Requires: make(map[string]int, len(m.Requires)), Instances: make(map[string]int, len(m.Instances))}
	for i, name := range m.Requires {
		out.Requires[name] = at[document.At("requires", i)]
	}
	for name := range m.Instances {
		out.Instances[name] = at[document.Join("instances", name)]
	}
	for _, i := range asked {
		if i.Artifact == "" {
			out.In = at[i.path()]
			continue
		}
		if out.Bases == nil {
			out.Bases = map[string]int{}
		}
		out.Bases[i.Artifact] = at[i.path()]
	}
	return out
}

// path is where the manifest says it.
func (i AskedImage) path() string {
	if i.Artifact == "" {
		return inPath
	}
	return basePath(i.Artifact)
}
