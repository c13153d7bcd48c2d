package image

import "strings"

// Own is the registry under which the images are named that the mesh's own modules
// make. No machine is called so for everybody: a name below it is of the mesh and of
// nobody else, and any other name never is.
const Own = "mesh.internal"

// OfModule is the name of a module's image: mesh.internal/MODULE for the only one
// that it makes, where no artifact is given, or mesh.internal/MODULE/ARTIFACT.
func OfModule(module, artifact string) string {
	name := Own + "/" + module
	if artifact != "" {
		name += "/" + artifact
	}
	return name
}

// IsOwn reports whether it names an image that a module of the mesh makes, or that
// none makes: no registry is asked for it.
func (r Reference) IsOwn() bool { return r.Registry == Own }

// Module is the module whose image it names, and the artifact that the image is;
// that is empty where it is the only one. Not ok where it is no name of an image of
// the mesh.
func (r Reference) Module() (module, artifact string, ok bool) {
	module, artifact, _ = strings.Cut(r.Repository, "/")
	return module, artifact, r.IsOwn() && OfModule(module, artifact) == r.Name() && !strings.Contains(artifact, "/")
}
