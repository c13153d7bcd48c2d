package environment

import (
	"strings"
	"time"

	"noxmesh/delivery/standing"
	"noxmesh/document"
	"noxmesh/image"
)

// Image is what is known of one name for one platform. Head, Digest and MovedAt
// are of the last look that found it, however the later ones ended.
type Image struct {
	Name     string          // the reference in full, docker.io/library/golang:1.22
	Platform string          // linux/amd64
	Head     document.Digest // what the name itself points to: an index of several platforms, or an image
	Digest   document.Digest // the image for the platform; empty until one was found
	LookedAt time.Time       // the last look that moved anything
	MovedAt  time.Time       // when Digest was first seen
	State    State
	Why      string    // every state but Found
	Since    time.Time // since when it has been in State
}

// Key is one name for one platform.
func (i Image) Key() string { return Key(i.Name, i.Platform) }

// Key is the key of a name for a platform.
func Key(name, platform string) string { return platform + " " + name }

// OfKey is what a key is of.
func OfKey(key string) Image {
	platform, name, _ := strings.Cut(key, " ")
	return Image{Name: name, Platform: platform}
}

// State is how the last look at an image ended.
type State string

// The states. Every one but Found says why, and since when.
const (
	NeverLooked State = ""            // nobody has looked yet
	Found       State = "found"       // it is known where the name points
	Unreachable State = "unreachable" // the registry did not answer, or wants to be left alone
	Refused     State = "refused"     // the registry wants a credential
	Gone        State = "gone"        // the registry has no such image
	NoPlatform  State = "no-platform" // there is one, and not for the platform
	NotImage    State = "not-image"   // what is there is no container image
)

// States is every state there is.
func States() []State {
	return []State{NeverLooked, Found, Unreachable, Refused, Gone, NoPlatform, NotImage}
}

// ParseState is the state with this name, and false for any other word.
func ParseState(name string) (State, bool) { return standing.Named(States(), name) }

// String is the state in words, as status shows it.
func (s State) String() string {
	switch s {
	case NeverLooked:
		return "never looked"
	case Found:
		return "found"
	case Unreachable:
		return "its registry is unreachable"
	case Refused:
		return "its registry refuses it"
	case Gone:
		return "no such image"
	case NoPlatform:
		return "no image for the platform"
	case NotImage:
		return "not a container image"
	}
	return string(s)
}

// Seen is what one look found. Where State is Found, the digests say where the
// name points; otherwise Why says what was in the way.
type Seen struct {
	State  State
	Why    string
	Head   document.Digest
	Digest document.Digest
	Same   bool // the name still points to the known head, and nothing else was asked
}

// Known is the head that need not be read again if the name is still at it, or
// "" if whatever is there must be read.
func (i Image) Known() document.Digest {
	if i.Digest == "" {
		return ""
	}
	return i.Head
}

// Look is the image after one more look at it.
func Look(previous Image, seen Seen, now time.Time) Image {
	next := previous
	if seen.Same {
		seen.State, seen.Head, seen.Digest = Found, previous.Head, previous.Digest
	}
	next.LookedAt = now
	if seen.State != Found {
		return next.enter(seen.State, seen.Why, now)
	}
	if seen.Digest != previous.Digest {
		next.MovedAt = now
	}
	next.Head, next.Digest = seen.Head, seen.Digest
	return next.enter(Found, "", now)
}

// enter is the image in this state; since stands still while the state does.
func (i Image) enter(state State, why string, now time.Time) Image {
	i.State, i.Why, i.Since = state, why, standing.Since(i.State, state, i.Since, now)
	return i
}

// Moved reports whether there is anything to record: the time of a look is not.
func Moved(was, next Image) bool {
	was.LookedAt, next.LookedAt = time.Time{}, time.Time{}
	same := was.Since.Equal(next.Since) && was.MovedAt.Equal(next.MovedAt)
	was.Since, was.MovedAt, next.Since, next.MovedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return !same || was != next
}

// Wanted is the image that a module is to be built in, and what is known of it.
type Wanted struct {
	In    string // as the module says it; empty where it names none
	Image Image  // where it points, unless that is not to be looked up

	Stands bool // it is what a container file stands on, and not what the module is built in

	Owner string          // the module of the mesh whose image it is; empty where it is nobody's
	Made  document.Digest // the image that it makes now; empty where it has made none of what it is now
}

// Reference is the image that is asked for.
func (w Wanted) Reference() image.Reference {
	r, _ := image.Parse(w.In)
	return r
}

// Pinned is the digest that the name itself says, or empty: of that nothing is asked.
func (w Wanted) Pinned() document.Digest { return document.Digest(w.Reference().Digest) }

// Digest is the image that a build would be made in now, or empty where that is
// not known, or none is named.
func (w Wanted) Digest() document.Digest {
	switch {
	case w.Own():
		return w.Made
	case w.Pinned() != "":
		return w.Pinned()
	}
	return w.Image.Digest
}

// Own reports whether it is an image that the mesh itself makes, or that none of its
// modules does: no registry is asked.
func (w Wanted) Own() bool { return w.Reference().IsOwn() }

// Asked is the name of which it is to be found out where it points, or empty.
func Asked(in string) string {
	r, ok := image.Parse(in)
	if !ok || r.Digest != "" || r.IsOwn() {
		return ""
	}
	return r.String()
}

// Words is how the image stands, for people; empty where nothing is to be said:
// none is named, it was found or made, or its name is a digest. Of one that no module
// makes it is said where it is asked for, as of each that is asked for.
func (w Wanted) Words() string {
	what := "the image " + w.In + " that it is built in"
	if w.Stands {
		what = "the image " + w.In + " that its container file stands on"
	}
	switch {
	case w.In == "" || w.Digest() != "" && (w.Own() || w.Pinned() != "" || w.Image.State == Found):
		return ""
	case w.Own() && w.Owner == "":
		return ""
	case w.Own():
		return what + ": module " + w.Owner + " has no build of it now"
	case w.Image.State == NeverLooked:
		return what + ": the controller has not looked at it yet"
	}
	return what + ": " + w.Image.State.String() + ": " + w.Image.Why
}
