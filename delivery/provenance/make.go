package provenance

import (
	"strings"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/manifest"
)

// Made is all that a statement follows from.
type Made struct {
	Request   build.Request
	Builder   string // its id
	Manifest  manifest.Built
	Published document.Digest // of the OCI manifest
	Blobs     []Blob          // that it names, in its order
	Began     time.Time       // by the builder's clock, as is Finished
	Finished  time.Time
}

// Blob is one blob that was published.
type Blob struct {
	Name   string // what it is called there
	Digest document.Digest
}

// Of is the statement about what was made.
func Of(m Made) (Statement, error) {
	whole, err := m.Manifest.BuildDigest()
	if err != nil {
		return Statement{}, err
	}
	content, err := m.Manifest.ContentDigest()
	if err != nil {
		return Statement{}, err
	}
	r := m.Request
	s := Statement{
		Type: StatementType, PredicateType: PredicateType,
		Subject: []Resource{sha256(r.Target, "", m.Published), sha256("build", "", whole), sha256("content", "", content)},
		Predicate: Predicate{
			Definition: Definition{
				Type: BuildType,
				External: External{
					Module: r.Module, Repository: r.Repository, Ref: r.Ref, Commit: r.Commit, Folder: r.Folder, Platform: r.Platform,
					Network: m.Manifest.Built.Network,
				},
				Internal:     Internal{Mesh: r.Mesh, Tree: r.Tree, Attempt: r.Attempt, Limit: r.Limit, Target: r.Target},
				Dependencies: dependencies(r),
			},
			Run: Run{
				Builder:  Builder{"mesh:" + r.Mesh + "/builder/" + m.Builder},
				Metadata: Metadata{r.ID, Time(m.Began), Time(m.Finished)},
			},
		},
	}
	for _, b := range m.Blobs {
		s.Subject = append(s.Subject, sha256(b.Name, "", b.Digest))
	}
	return s, nil
}

// dependencies is what a build is made of: its source, what it is built against,
// and the images that it is built in and stands on.
func dependencies(r build.Request) []Resource {
	all := []Resource{{Name: "source", URI: source(r), Digest: map[string]string{gitCommit: r.Commit}}}
	for _, in := range r.Closure {
		all = append(all, sha256(in.Module+"/"+in.Artifact, "mesh:"+r.Mesh+"/module/"+in.Module, in.Digest))
	}
	if e := r.Environment; e != nil {
		all = append(all, sha256("environment", "oci://"+e.Image, e.Digest))
	}
	for _, b := range r.Bases {
		all = append(all, sha256(b.Image, "oci://"+b.Image, b.Digest))
	}
	return all
}

// source is where the source is, as other tools write it.
func source(r build.Request) string {
	at := "git+" + r.Repository
	if strings.HasPrefix(r.Ref, "refs/") {
		at += "@" + r.Ref
	}
	return at
}

func sha256(name, uri string, d document.Digest) Resource {
	return Resource{Name: name, URI: uri, Digest: map[string]string{"sha256": d.Hex()}}
}

const gitCommit = "gitCommit"

// timeForm is RFC 3339 in UTC, to the millisecond: one way to write each time.
const timeForm = "2006-01-02T15:04:05.000Z"

// Time is how a statement writes a time.
func Time(t time.Time) string { return t.UTC().Format(timeForm) }

// times is when the build began and finished, and whether it says so.
func (m Metadata) times() (began, finished time.Time, ok bool) {
	began, one := time.Parse(timeForm, m.Started)
	finished, two := time.Parse(timeForm, m.Finished)
	return began, finished, one == nil && two == nil && Time(began) == m.Started && Time(finished) == m.Finished
}
