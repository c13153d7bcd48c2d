package container

import (
	"slices"
	"strings"

	"noxmesh/internal/fault"
)

// The labels of a container that the mesh has made.
const (
	NameLabel  = "mesh.container" // its name, by which its unit takes away what a cut of power has left of it
	MarkLabel  = "mesh.declared"  // what it was started as
	ImageLabel = "mesh.image"     // what its image is called, where the runtime only knows which one it is
)

// Container is one that there is, running or not.
type Container struct {
	ID      string
	Name    string
	Image   string // the id of what it was made from
	Called  string // what that is called
	Running bool
	Labels  map[string]string
}

// Ours reports whether a unit of the host has made it.
func (c Container) Ours() bool { return c.Labels[NameLabel] == c.Name && c.Name != "" }

// Health is what the check of a container has come to.
type Health struct {
	Status string // starting, healthy, unhealthy; empty where there is no check
	Says   string // what the last check said
}

// Image is one that a runtime has.
type Image struct {
	ID      string
	Digests []string // of its manifest, of the index that it came by, and of its configuration where the runtime knows it by that
	Check   *Check
}

// Is reports whether it is the image with this digest.
func (i Image) Is(digest string) bool { return digest != "" && slices.Contains(i.Digests, digest) }

// Unit is what the unit of systemd says that has a runtime run a container.
type Unit struct {
	Needs  string   // units that are up before it
	Kind   []string // lines: how systemd knows that it runs
	Before []string // lines: what takes away what is left of an earlier one
	Run    string   // the command that runs it, to which words are added
	Known  []string // such words, of what it is known by
	Behind []string // lines: what ends it, and all else that systemd does with it
}

// Failed is why a runner could not do what it was told: the disk that is to blame for
// what it said, or else its last words.
func Failed(runner, said string, blamed error, format string, args ...any) error {
	if blamed == nil {
		words := LastWords(said)
		if words == "" {
			words = "it does not say why"
		}
		blamed = fault.New(fault.Conflict, "%s says: %s", runner, words)
	}
	return fault.Wrap(fault.Conflict, blamed, format, args...)
}

// LastWords is the last line of what a program said, which is the error.
func LastWords(text string) string {
	const most = 400
	text = strings.TrimSpace(text)
	text = strings.TrimPrefix(text[strings.LastIndexByte(text, '\n')+1:], "Error: ")
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
