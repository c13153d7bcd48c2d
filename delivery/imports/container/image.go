package container

import "noxmesh/image"

// Image is the name of the image that a reference such as ubuntu:24.04 or
// registry.example:5000/site/base@sha256:… is for, in full and without tag and
// digest; not ok where it is none.
func Image(reference string) (name string, ok bool) {
	r, ok := image.Parse(reference)
	if !ok {
		return "", false
	}
	return r.Name(), true
}
