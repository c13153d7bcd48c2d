package build

import (
	"cmp"
	"maps"
	"slices"

	"noxmesh/document"
)

// Difference is one thing that two builds of one request did not make alike.
type Difference struct {
	Artifact string           `json:"artifact,omitempty"` // its name, as Artifacts has it
	Type     string           `json:"type"`               // as Artifacts has it, or manifest
	Was      document.Digest  `json:"was,omitempty"`      // empty: the first build had none
	Is       document.Digest  `json:"is,omitempty"`       // empty: the second has none
	Files    []FileDifference `json:"files,omitempty"`    // of an archive: the first of those that are not alike
	More     int              `json:"more,omitempty"`     // how many more there are
	Why      string           `json:"why,omitempty"`      // of an archive: why its files are not compared
}

// FileDifference is one path of an archive that is not alike.
type FileDifference struct {
	Path string `json:"path"`
	What string `json:"what"`
}

// OfManifest is the type of a difference between built manifests whose artifacts
// are all alike.
const OfManifest = "manifest"

// Differences is what two builds of one request did not make alike; none where
// each artifact of the one is one of the other.
func Differences(was, is []Artifact) (out []Difference) {
	type key struct{ kind, name string }
	group := func(all []Artifact, others []Artifact) map[key][]document.Digest {
		by := map[key][]document.Digest{}
		for _, a := range all {
			alike := func(o Artifact) bool { return o.Type == a.Type && o.Name == a.Name && o.Digest == a.Digest }
			if !slices.ContainsFunc(others, alike) {
				by[key{a.Type, a.Name}] = append(by[key{a.Type, a.Name}], a.Digest)
			}
		}
		return by
	}
	first, second := group(was, is), group(is, was)
	keys := maps.Clone(first)
	maps.Copy(keys, second)
	inOrder := slices.SortedFunc(maps.Keys(keys), func(a, b key) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) })
	for _, k := range inOrder {
		a, b := first[k], second[k]
		for i := range max(len(a), len(b)) {
			d := Difference{Artifact: k.name, Type: k.kind}
			if i < len(a) {
				d.Was = a[i]
			}
			if i < len(b) {
				d.Is = b[i]
			}
			out = append(out, d)
		}
	}
	return out
}
