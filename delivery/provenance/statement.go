package provenance

import (
	"noxmesh/document"
)

// The types that a statement names. BuildType is what the mesh calls a build: the
// commands under build of the module.json in the folder, at the commit, packed
// and published as module.json says.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://slsa.dev/provenance/v1"
	BuildType     = "mesh:build/v1"
)

// Limits is what is read of a statement before it has been looked at.
var Limits = document.Limits{Bytes: 4 << 20, Depth: 8} //nolint:gochecknoglobals // a constant struct

// Statement says of artifacts, each by its digest, how they came about.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Predicate  `json:"predicate"`
}

// Resource is one thing by its digest: of content, of a commit.
type Resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"` // by algorithm
}

// Predicate is how they came about.
type Predicate struct {
	Definition Definition `json:"buildDefinition"`
	Run        Run        `json:"runDetails"`
}

// Definition is what was to be built, and of what.
type Definition struct {
	Type         string     `json:"buildType"`
	External     External   `json:"externalParameters"`
	Internal     Internal   `json:"internalParameters"`
	Dependencies []Resource `json:"resolvedDependencies"`
}

// External is what a person decides: which module, where its source is, and what
// stands in its module.json.
type External struct {
	Module     string `json:"module"`
	Repository string `json:"repository"`
	Ref        string `json:"ref,omitempty"`
	Commit     string `json:"commit"`
	Folder     string `json:"folder,omitempty"` // that module.json is in; empty: the repository's root
	Platform   string `json:"platform"`
	Network    bool   `json:"network,omitempty"` // the commands could reach other machines
}

// Internal is what the mesh decides.
type Internal struct {
	Mesh    string `json:"mesh"`
	Tree    string `json:"tree"` // of the folder at the commit
	Attempt int64  `json:"attempt"`
	Limit   int64  `json:"limit"`  // seconds
	Target  string `json:"target"` // the registry's repository
}

// Run is who built it, for which request, and when.
type Run struct {
	Builder  Builder  `json:"builder"`
	Metadata Metadata `json:"metadata"`
}

// Builder is one builder of a mesh: the one whose key signs the statement.
type Builder struct {
	ID string `json:"id"`
}

// Metadata is of one run. Its times are by the builder's clock.
type Metadata struct {
	Request  string `json:"invocationId"`
	Started  string `json:"startedOn"`  // as Time writes it
	Finished string `json:"finishedOn"` // before it was published
}
