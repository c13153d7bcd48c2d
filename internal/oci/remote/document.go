package remote

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// The media types that are asked for, and those of what they name.
const (
	ociIndex       = "application/vnd.oci.image.index.v1+json"
	ociManifest    = "application/vnd.oci.image.manifest.v1+json"
	ociConfig      = "application/vnd.oci.image.config.v1+json"
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerConfig   = "application/vnd.docker.container.image.v1+json"
)

const (
	maxDocument = 4 << 20
	maxLayers   = 512
	maxLayer    = int64(64) << 30
)

// Cause is what is wrong with a name, where it is not the way to the registry.
type Cause string

// The causes.
const (
	Gone       Cause = "there is no such image"
	Refused    Cause = "the registry refuses it"
	NoPlatform Cause = "there is no image for the platform"
	NotImage   Cause = "it is not a container image"
)

// Error is the cause in words.
func (c Cause) Error() string { return string(c) }

// Compression is how a layer's bytes travel.
type Compression string

// The compressions.
const (
	Plain Compression = ""
	Gzip  Compression = "gzip"
	Zstd  Compression = "zstd"
)

// Blob is one blob of an image.
type Blob struct {
	Digest document.Digest
	Size   int64
}

// Layer is one layer of an image.
type Layer struct {
	Blob
	Compression Compression
	Plain       document.Digest // of the bytes once they are unpacked
}

// Image is what an image for one platform is made of.
type Image struct {
	Digest document.Digest // of its manifest
	Layers []Layer         // the lowest first
	Env    [][2]string     // what its programs find in their environment
	Config []byte          // its configuration, as it is
}

// descriptor is one blob that a document names.
type descriptor struct {
	MediaType string          `json:"mediaType"`
	Digest    document.Digest `json:"digest"`
	Size      int64           `json:"size"`
	URLs      []string        `json:"urls"`
	Platform  struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
		Variant      string `json:"variant"`
	} `json:"platform"`
}

// page is an index or a manifest: which, only what is in it says.
type page struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
	Config        *descriptor  `json:"config"`
	Layers        []descriptor `json:"layers"`
}

func notImage(format string, args ...any) error {
	return fault.Wrap(fault.Invalid, NotImage, format, args...)
}

// parsePage reads an index or a manifest. One that could be read as either is
// refused, as is what only says that it is one.
func parsePage(text []byte) (p page, err error) {
	if err := json.Unmarshal(text, &p); err != nil {
		return p, notImage("read its manifest: %s", said(err))
	}
	index, image := len(p.Manifests) > 0, p.Config != nil || len(p.Layers) > 0
	switch {
	case p.SchemaVersion == 1:
		return p, notImage("its manifest is of docker's first form, which says nothing by digest")
	case p.SchemaVersion != 2:
		return p, notImage("its manifest is of version %d, want 2", p.SchemaVersion)
	case index == image:
		return p, notImage("its manifest is neither an index of images nor one image")
	case p.MediaType != "" && index != slices.Contains([]string{ociIndex, dockerIndex}, p.MediaType),
		p.MediaType != "" && image != slices.Contains([]string{ociManifest, dockerManifest}, p.MediaType):
		return p, notImage("its manifest says that it is %q, and is something else", document.Short(p.MediaType))
	case index:
		return p, nil
	}
	return p, p.checkImage()
}

func (p page) isIndex() bool { return len(p.Manifests) > 0 }

func (p page) checkImage() error {
	switch {
	case p.Config == nil || p.Config.MediaType != ociConfig && p.Config.MediaType != dockerConfig:
		kind := ""
		if p.Config != nil {
			kind = p.Config.MediaType
		}
		return notImage("it is of %q", document.Short(kind))
	case !p.Config.valid(maxDocument):
		return notImage("it names its configuration by no digest and size")
	case len(p.Layers) > maxLayers:
		return notImage("it has %d layers, at most %d are read", len(p.Layers), maxLayers)
	}
	for i, l := range p.Layers {
		if !l.valid(maxLayer) {
			return notImage("it names layer %d by no digest and size", i)
		}
		if _, ok := compressionOf(l.MediaType); !ok || len(l.URLs) > 0 {
			return notImage("its layer %d is of %q, which is not read", i, document.Short(l.MediaType))
		}
	}
	return nil
}

func (d descriptor) valid(most int64) bool { return d.Digest.Valid() && d.Size >= 0 && d.Size <= most }

func compressionOf(mediaType string) (Compression, bool) {
	switch mediaType {
	case "application/vnd.oci.image.layer.v1.tar", "application/vnd.docker.image.rootfs.diff.tar":
		return Plain, true
	case "application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.docker.image.rootfs.diff.tar.gzip":
		return Gzip, true
	case "application/vnd.oci.image.layer.v1.tar+zstd", "application/vnd.docker.image.rootfs.diff.tar.zstd":
		return Zstd, true
	}
	return Plain, false
}

// choose is the image of an index for a platform: the first, and of one that has
// several variants the plainest that every such machine runs.
func (p page) choose(platform string) (descriptor, error) {
	var found *descriptor
	var others []string
	for i, m := range p.Manifests {
		is := m.Platform.OS + "/" + m.Platform.Architecture
		if is != platform {
			if is != "unknown/unknown" && is != "/" && !slices.Contains(others, is) {
				others = append(others, is)
			}
			continue
		}
		if !m.valid(maxDocument) {
			return m, notImage("its index names the image for %s by no digest and size", platform)
		}
		if found == nil || plainness(m) < plainness(*found) {
			found = &p.Manifests[i]
		}
	}
	if found == nil {
		return descriptor{}, fault.Wrap(fault.Invalid, NoPlatform, "there are images for %s and none for %s", listed(others), platform)
	}
	return *found, nil
}

// plainness puts the variants of one architecture in order: what all machines of
// it can run comes first.
func plainness(d descriptor) int {
	switch d.Platform.Variant {
	case "":
		return 0
	case "v1", "v8":
		return 1
	}
	return 2
}

func listed(platforms []string) string {
	const most = 8
	var words []string
	for i, p := range platforms {
		if i == most {
			words = append(words, "others")
			break
		}
		words = append(words, document.Printable(p))
	}
	if len(words) == 0 {
		return "no platform"
	}
	return strings.Join(words, ", ")
}

// config is what is read of an image's configuration.
type config struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	RootFS       struct {
		Type    string            `json:"type"`
		DiffIDs []document.Digest `json:"diff_ids"`
	} `json:"rootfs"`
	Config struct {
		Env []string `json:"Env"`
	} `json:"config"`

	text []byte
}

func parseConfig(text []byte) (c config, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return c, notImage("read its configuration: %s", said(err))
	}
	c.text = text
	return c, nil
}

// forPlatform refuses an image that is for another machine.
func (c config) forPlatform(platform string) error {
	if is := c.OS + "/" + c.Architecture; is != platform {
		return fault.Wrap(fault.Invalid, NoPlatform, "it is for %s, and not for %s", document.Printable(is), platform)
	}
	return nil
}

// image puts together what a manifest and its configuration say.
func (p page) image(digest document.Digest, c config) (Image, error) {
	if len(c.RootFS.DiffIDs) != len(p.Layers) {
		return Image{}, notImage("it has %d layers, and its configuration says %d", len(p.Layers), len(c.RootFS.DiffIDs))
	}
	out := Image{Digest: digest, Config: c.text}
	for i, l := range p.Layers {
		if !c.RootFS.DiffIDs[i].Valid() {
			return Image{}, notImage("its configuration names layer %d by no digest", i)
		}
		how, _ := compressionOf(l.MediaType)
		out.Layers = append(out.Layers, Layer{Blob{l.Digest, l.Size}, how, c.RootFS.DiffIDs[i]})
	}
	for _, e := range c.Config.Env {
		name, value, ok := strings.Cut(e, "=")
		if ok && variable(name) && !strings.ContainsRune(value, 0) && len(e) <= 64<<10 && len(out.Env) < 1000 {
			out.Env = append(out.Env, [2]string{name, value})
		}
	}
	return out, nil
}

// ConfigOf is the configuration of the image with this manifest, as one blob.
func ConfigOf(manifest []byte) (Blob, error) {
	p, err := parsePage(manifest)
	if err == nil && p.isIndex() {
		err = notImage("it is an index of several")
	}
	if err != nil {
		return Blob{}, err
	}
	return Blob{p.Config.Digest, p.Config.Size}, nil
}

// Read is what the image with this manifest and configuration is made of, whoever
// has brought them. They are not checked to be those that somebody asked for.
func Read(manifest, configuration []byte, platform string) (Image, error) {
	if _, err := ConfigOf(manifest); err != nil {
		return Image{}, err
	}
	p, err := parsePage(manifest)
	if err != nil {
		return Image{}, err
	}
	c, err := parseConfig(configuration)
	if err == nil {
		err = c.forPlatform(platform)
	}
	if err != nil {
		return Image{}, err
	}
	return p.image(document.Sum(manifest), c)
}

// variable reports whether a name can stand in an environment.
func variable(name string) bool {
	return name != "" && len(name) < 256 && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// said is why a document is no JSON, without the document.
func said(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return "it is no JSON"
	case errors.As(err, &kind):
		return "there is a " + document.Printable(kind.Value) + " at " + document.Printable(kind.Field)
	}
	return "it is no JSON"
}
