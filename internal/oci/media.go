package oci

import (
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// The media types that the mesh publishes. A manifest is an OCI image manifest
// whose config is the built manifest.
const (
	MediaManifest = "application/vnd.oci.image.manifest.v1+json"
	MediaBuilt    = "application/vnd.mesh.built.v1+json"       // config: the built manifest
	MediaIndex    = "application/vnd.mesh.index.v1+json+zstd"  // layer: an archive's index
	MediaArchive  = "application/vnd.mesh.archive.v1.tar+zstd" // layer: an archive's bytes
	MediaFile     = "application/vnd.mesh.file.v1"             // layer: one file
	MediaConfig   = "application/vnd.oci.image.config.v1+json" // config of a container image
	MediaLog      = "application/vnd.mesh.log.v1"              // layer: a build's log

	MediaProvenance = "application/vnd.in-toto.provenance+dsse" // layer, and what such a manifest is: a signed statement of a build
	MediaEmpty      = "application/vnd.oci.empty.v1+json"       // config of what needs none
	MediaReferrers  = "application/vnd.oci.image.index.v1+json" // a list of manifests
	SubjectHeader   = "OCI-Subject"                             // of an answer: the registry lists what was pushed among its subject's referrers
	FiltersHeader   = "OCI-Filters-Applied"                     // of an answer: by what its list was narrowed
)

// TitleAnnotation is what a layer is called where files have names.
const TitleAnnotation = "org.opencontainers.image.title"

// Empty is the bytes of MediaEmpty.
const Empty = "{}"

// Descriptor names one blob.
type Descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      document.Digest   `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Manifest is what one build published: its blobs are there before it is.
type Manifest struct {
	SchemaVersion int               `json:"schemaVersion"` // 2; set by Encode
	MediaType     string            `json:"mediaType"`     // MediaManifest; set by Encode
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        Descriptor        `json:"config"`
	Layers        []Descriptor      `json:"layers"`
	Subject       *Descriptor       `json:"subject,omitempty"` // the manifest that this one is about
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// About is the manifest of one blob that says something of another manifest: where
// that is, a registry lists it among its referrers. Its config is the empty one.
func About(subject, says Descriptor) Manifest {
	return Manifest{
		ArtifactType: says.MediaType, Config: Descriptor{MediaType: MediaEmpty, Digest: document.Sum([]byte(Empty)), Size: int64(len(Empty))},
		Layers: []Descriptor{says}, Subject: &subject,
	}
}

// ManifestLimit is how many bytes a manifest may have.
const ManifestLimit = 4 << 20

// manifestLimits is what is read of a manifest before it has been looked at.
func manifestLimits() document.Limits { return document.Limits{Bytes: ManifestLimit, Depth: 8} }

// Encode is the manifest's bytes and their digest: the same for the same
// manifest, wherever it is made.
func (m Manifest) Encode() ([]byte, document.Digest, error) {
	m.SchemaVersion, m.MediaType = 2, MediaManifest
	if m.Layers == nil {
		m.Layers = []Descriptor{}
	}
	if err := m.check(); err != nil {
		return nil, "", err
	}
	b, err := document.Canonical(m)
	if err != nil {
		return nil, "", fault.Add(err, "encoding a manifest")
	}
	return b, document.Sum(b), nil
}

func (m Manifest) check() error {
	all := append([]Descriptor{m.Config}, m.Layers...)
	if m.Subject != nil {
		all = append(all, *m.Subject)
	}
	for _, d := range all {
		if err := d.check(); err != nil {
			return err
		}
	}
	return nil
}

func (d Descriptor) check() error {
	if !d.Digest.Valid() || d.Size < 0 || d.MediaType == "" {
		return fault.New(fault.Invalid, "a manifest names a blob without its digest, size or media type: %q, %d, %q", document.Short(string(d.Digest)), d.Size, document.Short(d.MediaType))
	}
	return nil
}

// DecodeManifest reads a manifest and refuses what could be read as another kind of document.
func DecodeManifest(b []byte) (Manifest, error) {
	m, err := document.Decode[Manifest]("manifest", b, manifestLimits())
	if err != nil {
		return Manifest{}, err
	}
	if m.SchemaVersion != 2 || m.MediaType != MediaManifest {
		return Manifest{}, fault.New(fault.Invalid, "a manifest of version %d and type %q: want 2 and %s", m.SchemaVersion, document.Short(m.MediaType), MediaManifest)
	}
	if err := m.check(); err != nil {
		return Manifest{}, err
	}
	return m, nil
}
