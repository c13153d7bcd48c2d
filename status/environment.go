package status

import (
	"strings"
	"time"

	"noxmesh/delivery"
	"noxmesh/delivery/environment"
	"noxmesh/document"
)

// Environment is what a module's commands run in.
type Environment struct {
	Image   string    `json:"image,omitempty"`   // as the module names it; empty: the builder's own root file system
	Module  string    `json:"module,omitempty"`  // whose image it is, where it is a module's
	Digest  string    `json:"digest,omitempty"`  // what that is now; empty where it was not found yet
	Built   string    `json:"built,omitempty"`   // what the newest build was made in; empty: a builder's own
	Made    bool      `json:"made"`              // there is a build
	Network bool      `json:"network,omitempty"` // the newest build's commands could reach other machines
	State   string    `json:"state,omitempty"`   // of the last look at it; empty where nothing is looked up
	Why     string    `json:"why,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// OwnSays is what it means that commands ran in no image.
const OwnSays = "the builder's own root file system, which is not reproducible in general"

// NetworkSays is what it means that commands could reach other machines.
const NetworkSays = "could reach other machines, and what it made is not reproducible in general"

// EnvironmentOf is what a module's commands run in, or nil where it has none and
// names no image.
func EnvironmentOf(d delivery.Facts, w environment.Wanted) *Environment {
	b := d.Source.Manifest.Build
	if w.In == "" && (b == nil || len(b.Run)+len(b.Test) == 0) {
		return nil
	}
	e := &Environment{Image: w.In, Digest: string(w.Digest())}
	if made := delivery.NewestBuild(d); made != nil {
		e.Built, e.Made, e.Network = string(made.Manifest.Built.Environment), true, made.Manifest.Built.Network
	}
	switch {
	case w.Own():
		e.Module = w.Owner
	case w.In != "" && w.Pinned() == "":
		e.State, e.Why, e.Since = w.Image.State.String(), w.Image.Why, w.Image.Since
	}
	return e
}

// Moved reports whether a build was made in something else than it would be now.
func (e Environment) Moved() bool {
	return e.Made && e.Built != e.Digest && (e.Digest != "" || e.Image == "")
}

// Words is the environment in a sentence, as status shows it.
func (e Environment) Words() string {
	if e.Network {
		return e.where() + "; it " + NetworkSays
	}
	return e.where()
}

func (e Environment) where() string {
	switch {
	case e.Moved():
		return MovedWords(e.Image, e.Built, e.Digest)
	case e.Image == "":
		return "built in " + OwnSays
	case e.Digest == "":
		return "to be built in " + e.Image + ", of which it is not known yet what it is"
	case strings.HasSuffix(e.Image, "@"+e.Digest):
		return "built in " + e.Image
	}
	return "built in " + e.Image + ", which is " + shortDigest(e.Digest)
}

// MovedWords is why a module is stale that was built in another image than its
// name means now.
func MovedWords(image, from, to string) string {
	was := "in " + shortDigest(from)
	if from == "" {
		was = "in " + OwnSays
	}
	switch {
	case image == "":
		return "built " + was + ", and names no image now"
	case strings.HasSuffix(image, "@"+to):
		return "to be built in " + image + ", built " + was
	}
	return image + " is now " + shortDigest(to) + ", built " + was
}

// shortDigest is enough of a digest to find it by.
func shortDigest(d string) string {
	const most = len("sha256:") + 12
	if document.Digest(d).Valid() {
		return d[:most]
	}
	return d
}
