package manifest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
	"noxmesh/image"
)

// Images is the names by which others ask for the images that the module makes, and
// which artifact each is.
func (s Source) Images() map[string]string {
	if s.Build == nil {
		return nil
	}
	var made []string
	for name, a := range s.Build.Artifacts {
		if a.Type == typeImage {
			made = append(made, name)
		}
	}
	return imagesOf(s.Module, made)
}

// Image is the image that others ask for by this name, of those that the build made.
func (b Built) Image(name string) (Image, bool) {
	var made []string
	for _, i := range b.Built.Images {
		made = append(made, i.Artifact)
	}
	artifact, there := imagesOf(b.Module, made)[name]
	at := slices.IndexFunc(b.Built.Images, func(i Image) bool { return there && i.Artifact == artifact })
	if at < 0 {
		return Image{}, false
	}
	return b.Built.Images[at], true
}

// imagesOf is the names of a module's images: each has that of its artifact, and the
// only one the module's too.
func imagesOf(module string, made []string) map[string]string {
	names := map[string]string{}
	for _, artifact := range made {
		names[image.OfModule(module, artifact)] = artifact
		if len(made) == 1 {
			names[image.OfModule(module, "")] = artifact
		}
	}
	return names
}

// AskedImage is an image that the manifest asks for.
type AskedImage struct {
	Name     string // in full, without tag and digest
	Artifact string // that stands on it; empty for the one that commands run in
}

// MadeAs reports whether an image is made as a container file of the folder says.
func (s Source) MadeAs(file string) bool {
	if s.Build == nil {
		return false
	}
	for _, a := range s.Build.Artifacts {
		if a.File == file && file != "" {
			return true
		}
	}
	return false
}

// HasFiles reports whether any image is made as a container file says.
func (s Source) HasFiles() bool {
	if s.Build == nil {
		return false
	}
	for _, a := range s.Build.Artifacts {
		if a.File != "" {
			return true
		}
	}
	return false
}

// AskedImages is every image that the manifest asks for, what its commands run in
// first. What stands on that asks for nothing more.
func (s Source) AskedImages() (all []AskedImage) {
	if s.Build == nil {
		return nil
	}
	ask := func(reference, artifact string) {
		if r, ok := image.Parse(reference); ok {
			all = append(all, AskedImage{r.Name(), artifact})
		}
	}
	ask(s.Build.In, "")
	for _, name := range slices.Sorted(maps.Keys(s.Build.Artifacts)) {
		if base := s.Build.Artifacts[name].Base; base != s.Build.In {
			ask(base, name)
		}
	}
	return all
}

const inPath = "build.in"

func basePath(artifact string) string { return document.Join("build.artifacts", artifact) + ".base" }

// in checks what the module is built in: the name of an image as everybody writes
// it, or one that says the very bytes.
func (c *checker) in(module, name string) {
	if name == "" {
		return
	}
	r, ok := image.Parse(name)
	before, digest, pinned := strings.Cut(name, "@")
	_, known := image.Parse(before)
	switch {
	case !ok && pinned && known && !document.Digest(digest).Valid():
		c.Fault(inPath, wantDigest, "%q is not a digest", document.Short(digest))
	case !ok:
		c.Fault(inPath, wantImage, "%q is not the name of an image", document.Short(name))
	case r.Digest != "" && !document.Digest(r.Digest).Valid():
		c.Fault(inPath, wantDigest, "%q is not a digest", document.Short(r.Digest))
	case len(name) > imageLimit:
		c.Fault(inPath, "want at most "+strconv.Itoa(imageLimit), "%d bytes", len(name))
	case r.IsOwn():
		c.own(inPath, module, name, r)
	}
}

const (
	wantImage  = "want it as docker writes it, as golang:1.26, or REGISTRY/NAME:TAG, or NAME@sha256:…"
	wantOwn    = "want " + image.Own + "/MODULE, or " + image.Own + "/MODULE/ARTIFACT where that makes several"
	imageLimit = 512
)

// own checks the name of an image of the mesh: which bytes it means is worked out
// from what that module has built, and not for others to say.
func (c *checker) own(path, module, name string, r image.Reference) {
	of, artifact, ok := r.Module()
	switch {
	case !ok, !mesh.ValidModuleName(of), artifact != "" && !mesh.ValidModuleName(artifact):
		c.Fault(path, wantOwn, "%q is not the name of an image of the mesh", document.Short(name))
	case name != r.Name():
		c.Fault(path, "want "+r.Name(), "%q has a tag or a digest: which image of the module %q it is the mesh works out", document.Short(name), of)
	case of == module:
		c.Fault(path, "name what the module's own image is made of", "%q is an image of the module itself", document.Short(name))
	}
}

// base checks what an image stands on: bytes that are part of what the build is
// made of.
func (c *checker) base(path, module, base, in string) {
	if base == "" || base == in {
		return
	}
	switch r, ok := image.Parse(base); {
	case !ok:
		c.Fault(path, wantImage, "%q is not the name of an image", document.Short(base))
	case len(base) > imageLimit:
		c.Fault(path, "want at most "+strconv.Itoa(imageLimit), "%d bytes", len(base))
	case r.IsOwn():
		c.own(path, module, base, r)
	case !document.Digest(r.Digest).Valid():
		c.Fault(path, "name it by its digest, as NAME@sha256:…, or as build.in names it", "%q is a name that may mean another image tomorrow, and this version follows none but that of build.in", document.Short(base))
	}
}
