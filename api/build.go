package api

import (
	"time"

	"noxmesh/status"
)

// BuildsIn narrows the list.
type BuildsIn struct {
	Module string `json:"-" query:"module"`
	Failed bool   `json:"-" query:"failed"` // only those that ended without a fit build
	Since  int64  `json:"-" query:"since"`  // only those asked for then or later; Unix milliseconds
	Before string `json:"-" query:"before"` // only those older than this build
	Limit  int    `json:"-" query:"limit"`
}

// BuildsOut is past builds, newest first.
type BuildsOut struct {
	Builds  []BuildOut   `json:"builds"`
	More    bool         `json:"more,omitempty"`    // there are older ones: ask for those before the last
	Removed []RemovedOut `json:"removed,omitempty"` // what retention has removed of the modules that were asked for
}

// RemovedOut is how much of a module retention has removed from the record.
type RemovedOut struct {
	Module string    `json:"module"`
	Builds int64     `json:"builds"`
	Logs   int64     `json:"logs"` // of builds that stay, or stayed then
	At     time.Time `json:"at"`   // when it last did
}

// BuildOut is one request of the builders and what became of it.
type BuildOut struct {
	Request     string        `json:"request"`
	Module      string        `json:"module"`
	Commit      string        `json:"commit"`
	Platform    string        `json:"platform"`
	State       string        `json:"state"` // open, leased, withdrawn, built, failed, environment
	Step        string        `json:"step,omitempty"`
	Why         string        `json:"why,omitempty"`
	Verdict     string        `json:"verdict,omitempty"`
	Build       string        `json:"build,omitempty"`
	Content     string        `json:"content,omitempty"`
	Builder     string        `json:"builder,omitempty"`      // its id
	BuilderName string        `json:"builder_name,omitempty"` // what it is called
	Asked       time.Time     `json:"asked"`
	Began       time.Time     `json:"began,omitzero"`
	Ended       time.Time     `json:"ended,omitzero"`
	Doing       *Doing        `json:"doing,omitempty"` // of one that is being made
	Usual       *UsualOut     `json:"usual,omitempty"` // of one that is being made, or that is shown by itself
	Steps       []StepOut     `json:"steps,omitempty"` // how long each took; the last of one that failed is where
	Artifacts   []ArtifactOut `json:"artifacts,omitempty"`
	LogSize     int64         `json:"log_size,omitempty"`
	Environment string        `json:"environment,omitempty"` // the image that commands run in
	Own         bool          `json:"own,omitempty"`         // they run in the builder's own root file system, which is not reproducible in general
	Network     bool          `json:"network,omitempty"`     // they could reach other machines, and what was made is not reproducible in general
	Moved       string        `json:"moved,omitempty"`       // why the newest build of its module is stale, where the image is
	Collected   time.Time     `json:"collected,omitzero"`    // when the build's bytes were taken away from the registry, since nothing named it
	Provenance  string        `json:"provenance,omitempty"`  // of one that was built: the digest of the manifest that says what of; none where its builder is of an earlier version
	Finding     string        `json:"finding,omitempty"`
	Check       string        `json:"check,omitempty"` // the request that it makes again, to compare: it is no build itself
}

// Doing is where a build is that is being made.
type Doing struct {
	Step  string    `json:"step"`
	Since time.Time `json:"since"`
}

// UsualOut is how long the last builds of the module for this platform took that
// ended well: the median.
type UsualOut = status.Usual

// StepOut is how long one step of a build took.
type StepOut = status.Step

// ArtifactOut is one thing that a build has published.
type ArtifactOut struct {
	Name   string `json:"name,omitempty"` // of an archive or a file: the resources that it is for
	Type   string `json:"type"`           // archive, file, image, library, package
	Digest string `json:"digest"`
	Size   int64  `json:"size"` // bytes that travel; 0 of images that share their layers
}

// BuildIn names a build by its request, its digest, or the beginning of either.
type BuildIn struct {
	Build string `json:"-" path:"build"`
}

// BuildShowOut is everything that the record says of one build.
type BuildShowOut struct {
	BuildOut
	Repository   string       `json:"repository"`
	Ref          string       `json:"ref,omitempty"`
	Folder       string       `json:"folder,omitempty"`
	Tree         string       `json:"tree"`
	Attempt      int64        `json:"attempt"`
	Limit        int64        `json:"limit"`           // seconds that it may take
	Image        string       `json:"image,omitempty"` // the name of the image that commands run in
	Closure      []InputOut   `json:"closure"`
	Bases        []BaseOut    `json:"bases,omitempty"` // what its container files stand on by a tag
	Tests        string       `json:"tests,omitempty"`
	Reproducible string       `json:"reproducible,omitempty"` // yes, no, never checked; of a build
	Checks       []CheckedOut `json:"checks,omitempty"`       // newest first
	Lost         int64        `json:"lost,omitempty"`         // leases that ran out
	Last         string       `json:"last,omitempty"`         // the log's last lines
	LogRemoved   time.Time    `json:"log_removed,omitzero"`   // when retention has removed the log
	LogHeld      int64        `json:"log_held"`               // bytes of the log that the record has
}

// CheckOut is a check that was asked for.
type CheckOut struct {
	Request string `json:"request"` // of the check
	Of      string `json:"of"`      // the request that is made again
	Module  string `json:"module"`
	Builder string `json:"builder"`           // that made what is checked
	Already bool   `json:"already,omitempty"` // it had been asked for, and has not ended
}

// CheckedOut is one check, and what came of it.
type CheckedOut struct {
	BuildOut
	Made        string       `json:"made,omitempty"` // the build that came of it, where one did
	Same        bool         `json:"same,omitempty"` // it has made the same
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one thing that a check did not make alike.
type Difference struct {
	Artifact string           `json:"artifact,omitempty"`
	Type     string           `json:"type"`            // of the artifact, or manifest where all artifacts are alike
	Was      string           `json:"was,omitempty"`   // its digest; empty where there was none
	Is       string           `json:"is,omitempty"`    // what the check made; empty where it made none
	Files    []FileDifference `json:"files,omitempty"` // of an archive: the first of those that are not alike
	More     int              `json:"more,omitempty"`  // how many more there are
	Why      string           `json:"why,omitempty"`   // of an archive: why its files are not compared
}

// FileDifference is one path of an archive that is not alike.
type FileDifference struct {
	Path string `json:"path"`
	What string `json:"what"`
}

// InputOut is one artifact of another module that a build was made against.
type InputOut struct {
	Module   string `json:"module"`
	Artifact string `json:"artifact"`
	Digest   string `json:"digest"`
}

// BaseOut is what the name of an image meant for a build.
type BaseOut struct {
	Image  string `json:"image"`
	Digest string `json:"digest"`
}

// CancelOut is a build that was cancelled.
type CancelOut struct {
	Request string `json:"request"`
	Module  string `json:"module"`
	Builder string `json:"builder,omitempty"` // that was making it
}

// LogIn names a build by its request, its digest, or the beginning of either.
type LogIn struct {
	Build  string `json:"-" path:"build"`
	Offset int64  `json:"-" query:"offset"`
	Grep   string `json:"-" query:"grep"` // only the lines that contain this
}

// LogOut is a piece of a log, or lines of it.
type LogOut struct {
	Request  string    `json:"request"`
	Offset   int64     `json:"offset"`            // of Text
	Text     string    `json:"text"`              // empty where lines were asked for
	Lines    []LogLine `json:"lines,omitempty"`   // those that contain what was asked for
	More     bool      `json:"more,omitempty"`    // there are more of these
	Complete bool      `json:"complete"`          // nothing will follow
	Removed  time.Time `json:"removed,omitzero"`  // when retention has removed it
	Missing  int64     `json:"missing,omitempty"` // bytes at its end that never came
}

// LogLine is one line of a log.
type LogLine struct {
	Line int    `json:"line"` // the first is 1
	Text string `json:"text"`
}
