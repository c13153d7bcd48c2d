package manifest

import (
	"noxmesh/declaration"
	"noxmesh/document"
)

// Name is the file at a module's root.
const Name = "module.json"

// Limits is what is read of a manifest before it has been looked at.
var Limits = document.Limits{Bytes: 1 << 20, Depth: 32} //nolint:gochecknoglobals // a constant struct

// Source is module.json as it stands in a repository.
type Source struct {
	Schema       string              `json:"$schema,omitempty"` // for editors; has no meaning here
	Module       string              `json:"module"`
	Summary      string              `json:"summary,omitempty"`
	Provides     []Provided          `json:"provides,omitempty"`
	Requires     []string            `json:"requires,omitempty"`
	Instances    map[string]Instance `json:"instances,omitempty"`
	Grants       map[string]Grant    `json:"grants,omitempty"`       // by kind
	Claims       []string            `json:"claims,omitempty"`       // "tcp:8080", "udp:53", "name:board"
	Capabilities []string            `json:"capabilities,omitempty"` // "systemd", "amd64"
	Settings     map[string]Setting  `json:"settings,omitempty"`
	Secrets      map[string]Secret   `json:"secrets,omitempty"`
	Resources    []Resource          `json:"resources,omitempty"`
	Build        *Build              `json:"build,omitempty"`
}

// Resource is one thing that the module puts on a machine. In content, path and
// target, and in the names and paths among the traits, ${settings.NAME}, ${instances.NAME.VALUE}, ${node.name} and ${node.id}
// are substituted; $${ is a plain ${. In the content of a file ${secret.NAME} is filled on the node.
type Resource struct {
	ID       string  `json:"id"`
	Type     string  `json:"type"` // one of declaration.Types
	Path     string  `json:"path,omitempty"`
	Mode     string  `json:"mode,omitempty"`
	Content  *string `json:"content,omitempty"`  // file: inline
	From     string  `json:"from,omitempty"`     // file: a file of the module's folder, never substituted
	Target   string  `json:"target,omitempty"`   // link
	Artifact string  `json:"artifact,omitempty"` // archive, container: one of build.artifacts

	After []string `json:"after,omitempty"` // ids of resources earlier in the list that this one waits for
	*declaration.Traits
}

// Build says what to make of the source.
type Build struct {
	In        string              `json:"in,omitempty"` // a container image; empty: the builder's own root file system
	Run       [][]string          `json:"run,omitempty"`
	Test      [][]string          `json:"test,omitempty"`
	Artifacts map[string]Artifact `json:"artifacts,omitempty"`
	Network   bool                `json:"network,omitempty"` // its commands reach other machines
	Limits    *BuildLimits        `json:"limits,omitempty"`
}

// Artifact is one thing that a build makes.
type Artifact struct {
	Type     string   `json:"type"`               // archive, library, package or image
	Path     string   `json:"path,omitempty"`     // a folder of the module's folder, after the build; of a library the whole folder where it is empty
	Language string   `json:"language,omitempty"` // of a library
	Name     string   `json:"name,omitempty"`     // of a package, where it is not the artifact's
	Version  string   `json:"version,omitempty"`  // of a package: somebody raises it, no commit does
	Depends  []string `json:"depends,omitempty"`  // of a package: "libc6 (>= 2.36)"

	File    string            `json:"file,omitempty"`    // of an image: the container file that it is made as; empty: of a folder
	Base    string            `json:"base,omitempty"`    // of an image: what it stands on; empty: on nothing
	At      string            `json:"at,omitempty"`      // of an image: where in it the folder is; empty: at its root
	Command []string          `json:"command,omitempty"` // of an image: what it runs; empty: what its base does
	Env     map[string]string `json:"env,omitempty"`     // of an image: beside its base's
}

// Built is the manifest that a build derives: what a machine may be told, by digest.
type Built struct {
	Format       int                 `json:"format"`
	Module       string              `json:"module"`
	Summary      string              `json:"summary,omitempty"`
	Provides     []Provided          `json:"provides,omitempty"`
	Requires     []string            `json:"requires,omitempty"`
	Instances    map[string]Instance `json:"instances,omitempty"`
	Grants       map[string]Grant    `json:"grants,omitempty"`
	Claims       []string            `json:"claims,omitempty"`
	Capabilities []string            `json:"capabilities,omitempty"`
	Settings     map[string]Setting  `json:"settings,omitempty"`
	Secrets      map[string]Secret   `json:"secrets,omitempty"`
	Resources    []BuiltResource     `json:"resources,omitempty"`
	Built        Provenance          `json:"built"`
}

// BuiltResource is a resource whose bytes are named by digest. Content stays a
// template: it is filled when a plan is made.
type BuiltResource struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Path    string          `json:"path,omitempty"`
	Mode    string          `json:"mode,omitempty"`
	Content *string         `json:"content,omitempty"`
	Target  string          `json:"target,omitempty"`
	Digest  document.Digest `json:"digest,omitempty"` // of the file's bytes, or of the archive's index
	Size    int64           `json:"size,omitempty"`   // of the file

	After []string `json:"after,omitempty"`
	*declaration.Traits
}

// Provenance is what the build was made of: its input closure. What others are
// built against stands here too: it is of the build, and nothing on a machine.
type Provenance struct {
	Commit    string    `json:"commit"`
	Tree      string    `json:"tree"`
	Platform  string    `json:"platform"`
	Closure   []Input   `json:"closure"`
	Libraries []Library `json:"libraries,omitempty"`
	Packages  []Package `json:"packages,omitempty"`
	Images    []Image   `json:"images,omitempty"`

	// Environment is the image that commands ran in; empty where that was the
	// builder's own root file system, or none ran.
	Environment document.Digest `json:"environment,omitempty"`

	// Bases is what the image of a container file stands on, where that is named by a
	// tag: what the tags meant.
	Bases []Base `json:"bases,omitempty"`

	// Network is that commands reached other machines: what it was made of may be
	// more than the rest says.
	Network bool `json:"network,omitempty"`
}

// Library is what a build gives others to be built against in one language.
type Library struct {
	Artifact string          `json:"artifact"`
	Language string          `json:"language"`
	Digest   document.Digest `json:"digest"` // of the archive's index
}

// Package is a package that a build made.
type Package struct {
	Artifact string          `json:"artifact"`
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Digest   document.Digest `json:"digest"` // of its bytes
	Size     int64           `json:"size"`
}

// Image is a container image that a build made.
type Image struct {
	Artifact string          `json:"artifact"`
	Digest   document.Digest `json:"digest"` // of its manifest
	Size     int64           `json:"size"`   // of its manifest
}

// Input is one artifact that was laid out for the compile.
type Input struct {
	Module   string          `json:"module"`
	Artifact string          `json:"artifact"`
	Digest   document.Digest `json:"digest"`
}

// Base is an image that something stands on.
type Base struct {
	Image  string          `json:"image"`  // its name in full, with its tag: docker.io/library/debian:12
	Digest document.Digest `json:"digest"` // of the image for the platform
}

// BuildDigest is the build's identity: of the whole.
func (b Built) BuildDigest() (document.Digest, error) { return document.CanonicalDigest(b) }

// ContentDigest is what the build amounts to on a machine: of all but where it came from.
func (b Built) ContentDigest() (document.Digest, error) {
	return document.CanonicalDigest(struct {
		Format       int                 `json:"format"`
		Module       string              `json:"module"`
		Summary      string              `json:"summary,omitempty"`
		Provides     []Provided          `json:"provides,omitempty"`
		Requires     []string            `json:"requires,omitempty"`
		Instances    map[string]Instance `json:"instances,omitempty"`
		Grants       map[string]Grant    `json:"grants,omitempty"`
		Claims       []string            `json:"claims,omitempty"`
		Capabilities []string            `json:"capabilities,omitempty"`
		Settings     map[string]Setting  `json:"settings,omitempty"`
		Secrets      map[string]Secret   `json:"secrets,omitempty"`
		Resources    []BuiltResource     `json:"resources,omitempty"`
	}{b.Format, b.Module, b.Summary, b.Provides, b.Requires, b.Instances, b.Grants, b.Claims, b.Capabilities, b.Settings, b.Secrets, b.Resources})
}
