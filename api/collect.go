package api

import "time"

// CollectIn asks for a collection.
type CollectIn struct {
	Look bool `json:"look,omitempty"` // take nothing away
}

// CollectOut is what a collection took away, or would.
type CollectOut struct {
	Look      bool            `json:"look,omitempty"`
	Grace     int64           `json:"grace"`   // seconds that what nothing names stays
	Reasons   []CollectReason `json:"reasons"` // each of them, in the order in which they are looked at
	Kept      []CollectKept   `json:"kept"`
	Builds    []CollectBuild  `json:"collected"` // the builds that have no bytes any more
	Manifests int             `json:"manifests"` // taken away: of those builds, and those that nobody answered with
	Blobs     int             `json:"blobs"`     // taken away
	Bytes     int64           `json:"bytes"`     // of them
	KeptBlobs int             `json:"kept_blobs"`
	KeptBytes int64           `json:"kept_bytes"`
	Lines     int             `json:"lines"`     // of the record of builds, that left it: older than those of their module that stay in any case, and named by nothing
	Logs      int             `json:"logs"`      // of builds that stay
	LogBytes  int64           `json:"log_bytes"` // that these and those had
	Busy      []string        `json:"busy"`      // the modules that somebody may be publishing: nothing of theirs was taken
}

// CollectReason is how many builds are kept for one reason.
type CollectReason struct {
	Why    string `json:"why"` // declared, told, written, current, fit, newest, input, young
	Builds int    `json:"builds"`
}

// CollectKept is a build that is kept, and why.
type CollectKept struct {
	Module  string   `json:"module"`
	Build   string   `json:"build"`
	Commit  string   `json:"commit"`
	Request string   `json:"request"`
	Why     []string `json:"why"`
}

// CollectBuild is a build whose bytes were taken away, or would be.
type CollectBuild struct {
	Module  string    `json:"module"`
	Build   string    `json:"build"`
	Commit  string    `json:"commit"`
	Request string    `json:"request"`
	At      time.Time `json:"at"` // when it was answered
}
