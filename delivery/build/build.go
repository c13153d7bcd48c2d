package build

import (
	"slices"

	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/manifest"
)

// Format is the version of both documents' form that this program writes.
const Format = 1

// Limits is what is read of either before it has been looked at.
var Limits = document.Limits{Bytes: 1 << 20, Depth: 12} //nolint:gochecknoglobals // a constant struct

// Request asks a builder for one build. Signed by a declare key.
type Request struct {
	Format      int              `json:"format"`
	Mesh        string           `json:"mesh"`
	ID          string           `json:"id"` // see Identity; 32 of the digits of a digest
	Module      string           `json:"module"`
	Repository  string           `json:"repository"`
	Commit      string           `json:"commit"`
	Ref         string           `json:"ref,omitempty"` // where the commit was seen: some forges give none by its id
	Tree        string           `json:"tree"`          // of the folder at the commit
	Folder      string           `json:"folder,omitempty"`
	Platform    string           `json:"platform"` // linux/amd64
	Closure     []manifest.Input `json:"closure"`
	Laid        []Laid           `json:"laid,omitempty"` // the closure, with how to get each; it has no part in Identity
	Environment *Environment     `json:"environment,omitempty"`
	Bases       []manifest.Base  `json:"bases,omitempty"` // what container files stand on by a tag
	Attempt     int64            `json:"attempt"`
	Check       string           `json:"check,omitempty"` // the request that is made again, to compare what comes of it; empty: it is made to be delivered
	Limit       int64            `json:"limit"`           // seconds from the lease to the end, at most
	Registry    string           `json:"registry"`
	Target      string           `json:"target"` // the registry's repository that the builder may write
}

// Environment is the image whose root file system commands run in.
type Environment struct {
	Image  string          `json:"image"`  // its name in full, without a tag: docker.io/library/golang
	Digest document.Digest `json:"digest"` // of the image for the platform, or of an index that names it
}

// InImages is the language in which images ask for each other. What is laid out in
// it is an image: its digest is that of its manifest, which lies in the registry as
// one blob.
const InImages = "container"

// Laid is one input of the closure: what another module gives in one language,
// where it lies in the registry under that module's name.
type Laid struct {
	Module   string          `json:"module"`
	Artifact string          `json:"artifact"`
	Language string          `json:"language"`
	Digest   document.Digest `json:"digest"` // of the archive's index, or of the image
	Packed   Packed          `json:"packed"`
}

// LaidImage is an image of another module as it is laid out.
func LaidImage(module string, i manifest.Image) Laid {
	return Laid{Module: module, Artifact: i.Artifact, Language: InImages, Digest: i.Digest, Packed: Packed{Blob: i.Digest, Size: i.Size}}
}

// IsImage reports whether it is an image.
func (l Laid) IsImage() bool { return l.Language == InImages }

// Identity is what ID must be, a hash of what is asked: module, commit, tree, closure, environment,
// platform, attempt, and what it checks.
func (r Request) Identity() (string, error) {
	d, err := document.CanonicalDigest(struct {
		Module   string           `json:"module"`
		Commit   string           `json:"commit"`
		Tree     string           `json:"tree"`
		Platform string           `json:"platform"`
		Closure  []manifest.Input `json:"closure"`
		In       document.Digest  `json:"environment,omitempty"`
		Bases    []manifest.Base  `json:"bases,omitempty"`
		Attempt  int64            `json:"attempt"`
		Check    string           `json:"check,omitempty"`
	}{r.Module, r.Commit, r.Tree, r.Platform, r.Closure, r.In(), r.Bases, r.Attempt, r.Check})
	if err != nil {
		return "", err
	}
	return d.Hex()[:32], nil
}

// Base is what the name of an image with a tag means for this build.
func (r Request) Base(of image.Reference) (document.Digest, bool) {
	i := slices.IndexFunc(r.Bases, func(b manifest.Base) bool { return b.Image == of.String() })
	if i < 0 {
		return "", false
	}
	return r.Bases[i].Digest, true
}

// In is the image that commands are to run in; empty for the builder's own root
// file system.
func (r Request) In() document.Digest {
	if r.Environment == nil {
		return ""
	}
	return r.Environment.Digest
}

// Outcome is how a build ended.
type Outcome string

// The outcomes. OutcomeBuilt says nothing of the tests; OutcomeEnvironment is no verdict.
const (
	OutcomeBuilt       Outcome = "built"
	OutcomeFailed      Outcome = "failed"
	OutcomeEnvironment Outcome = "environment"
)

// Step is where a build stood when it failed.
type Step string

// The steps.
const (
	StepClone   Step = "clone"
	StepBuild   Step = "build"
	StepPack    Step = "pack"
	StepPublish Step = "publish"
)

// Tests is what the module's own tests said.
type Tests string

// What tests say. TestsNone is a module without tests.
const (
	TestsPassed Tests = "passed"
	TestsFailed Tests = "failed"
	TestsNone   Tests = "none"
)

// Answer is what a builder made of one request. Signed by the builder's key.
// Times are Unix milliseconds by the builder's clock.
type Answer struct {
	Format     int             `json:"format"`
	Mesh       string          `json:"mesh"`
	Request    string          `json:"request"`
	Builder    string          `json:"builder"`
	Outcome    Outcome         `json:"outcome"`
	Step       Step            `json:"step,omitempty"`       // failed
	Why        string          `json:"why,omitempty"`        // failed, environment: the last lines
	Build      document.Digest `json:"build,omitempty"`      // built: of the whole built manifest
	Content    document.Digest `json:"content,omitempty"`    // built: of all but its built
	Manifest   *manifest.Built `json:"manifest,omitempty"`   // built: the built manifest itself
	Published  document.Digest `json:"published,omitempty"`  // built: the OCI manifest's
	Where      *Where          `json:"where,omitempty"`      // built: how the bytes travel
	Tests      Tests           `json:"tests,omitempty"`      // built
	Provenance document.Digest `json:"provenance,omitempty"` // built: the OCI manifest's that says what it was made of; earlier builders say nothing
	Steps      []Took          `json:"steps,omitempty"`      // in their order; of one that failed, the last is where; a builder of an earlier version says none
	Log        document.Digest `json:"log"`
	LogSize    int64           `json:"log_size"`
	Began      int64           `json:"began"`
	Ended      int64           `json:"ended"`
}

// Where is how the bytes of one build travel: it has no part in any identity.
type Where struct {
	Blobs    map[document.Digest]int64  `json:"blobs,omitempty"`    // files by digest: size
	Archives map[document.Digest]Packed `json:"archives,omitempty"` // by the index's digest
}

// Packed is one archive's two blobs.
type Packed struct {
	Index     document.Digest `json:"index"` // of the compressed index; empty of an image
	IndexSize int64           `json:"index_size"`
	Blob      document.Digest `json:"blob"`
	Size      int64           `json:"size"`
}
