package build

import (
	"cmp"
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/manifest"
)

// Artifact is one thing that a build has published.
type Artifact struct {
	Name   string // of an archive or a file: the resources that it is for, since a built manifest no longer says which artifact it was
	Type   string // archive, file, image, library or package
	Digest document.Digest
	Size   int64 // bytes that travel; of an image with its layers, and 0 where several share them
}

// The types of what a build publishes.
const (
	ofArchive = "archive"
	ofFile    = "file"
	ofImage   = "image"
	ofLibrary = "library"
	ofPackage = "package"
)

// Artifacts is everything that a build has published, by type and name.
func Artifacts(m manifest.Built, w Where) []Artifact {
	var all []Artifact
	named := map[document.Digest]bool{}
	for _, l := range m.Built.Libraries {
		named[l.Digest] = true
		all = append(all, Artifact{l.Artifact, ofLibrary, l.Digest, w.Archives[l.Digest].Size})
	}
	for _, p := range m.Built.Packages {
		named[p.Digest] = true
		all = append(all, Artifact{p.Artifact, ofPackage, p.Digest, p.Size})
	}
	users := map[document.Digest][]string{}
	for _, r := range m.Resources {
		if r.Digest != "" {
			users[r.Digest] = append(users[r.Digest], r.ID)
		}
	}
	for digest, packed := range w.Archives {
		if !named[digest] {
			named[digest] = true
			all = append(all, Artifact{strings.Join(users[digest], " "), ofArchive, digest, packed.Size})
		}
	}
	rest := int64(0)
	for digest, size := range w.Blobs {
		switch {
		case named[digest]:
		case len(users[digest]) > 0:
			all = append(all, Artifact{strings.Join(users[digest], " "), ofFile, digest, size})
		default:
			rest += size
		}
	}
	for _, x := range m.Built.Images {
		size := int64(0)
		if len(m.Built.Images) == 1 {
			size = rest
		}
		all = append(all, Artifact{x.Artifact, ofImage, x.Digest, size})
	}
	slices.SortFunc(all, func(a, b Artifact) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	return all
}
