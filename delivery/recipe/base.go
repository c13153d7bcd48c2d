package recipe

import (
	"slices"

	"noxmesh/delivery/imports/container"
	"noxmesh/image"
)

// Called is why a file is not called as a container file is, or nothing: what it
// stands on is found by that.
func Called(file string) (what, want string) {
	if (container.Language{}).Wants(file, false) {
		return "", ""
	}
	return "is not called as a container file is", "call it Containerfile, or as site.Containerfile: what it stands on is found by that"
}

// Bases is the images that a container file stands on and names by a tag, in full and
// sorted; none where it is not taken, which a builder says.
func Bases(path string, text []byte, platform string) (all []string) {
	r, err := Read(path, text, platform, func(named string) string { return Stands(named) })
	if err != nil {
		return nil
	}
	for _, s := range r.Stages {
		if of, ok := image.Parse(s.Image); ok && s.Image != Scratch && of.Digest == "" && !of.IsOwn() {
			all = append(all, of.String())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Stands is why nothing can stand on an image of this name, whatever the mesh knows
// of it, or nothing.
func Stands(named string) string {
	if _, ok := image.Parse(named); !ok {
		return "it is not the name of an image"
	}
	return ""
}
