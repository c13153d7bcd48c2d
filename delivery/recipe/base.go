package recipe

import (
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

// Stands is why nothing can stand on an image of this name, whatever the mesh knows
// of it, or nothing. In is the image that the module's commands run in.
func Stands(named, in string) string {
	of, ok := image.Parse(named)
	switch {
	case !ok:
		return "it is not the name of an image"
	case of.IsOwn() || of.Digest != "" || named == in:
		return ""
	}
	return "it is a name that may mean another image tomorrow: name it by its digest, as NAME@sha256:…, or name it as build.in too"
}
