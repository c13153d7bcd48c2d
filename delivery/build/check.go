package build

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/manifest"
)

const (
	whyLimit     = 16 << 10 // the last lines
	nameLimit    = 4 << 10  // a repository's address
	attemptLimit = 1 << 20
	secondsLimit = 7 * 24 * 60 * 60
)

const wantDigest = "want sha256: and 64 lower-case hexadecimal digits"

var (
	requestID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	platform  = regexp.MustCompile(`^[a-z0-9]{1,32}/[a-z0-9]{1,32}$`)
	target    = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*(/[a-z0-9]+([._-][a-z0-9]+)*)*$`)
)

// DecodeRequest reads one build request. All faults that can be found are said
// at once, as document.Problems in a fault.Invalid.
func DecodeRequest(data []byte) (Request, error) { return requestForm().Decode(data) }

// Encode is r in its one encoding: what is signed.
func (r Request) Encode() ([]byte, error) { return requestForm().Encode(r) }

// DecodeAnswer reads one answer to a build request. All faults that can be found
// are said at once, as document.Problems in a fault.Invalid.
func DecodeAnswer(data []byte) (Answer, error) { return answerForm().Decode(data) }

// Encode is a in its one encoding: what is signed.
func (a Answer) Encode() ([]byte, error) { return answerForm().Encode(a) }

func requestForm() document.Form[Request] {
	return document.Form[Request]{
		Name: "build request", Limits: Limits, Speaks: Format, Reader: "this builder", Upgrade: "upgrade the builder", Check: checkRequest,
	}
}

func checkRequest(v Request, r *document.Reading) {
	c := checker{r}
	c.id("mesh", v.Mesh)
	c.module("module", v.Module)
	if v.Repository == "" || len(v.Repository) > nameLimit || document.BadName(v.Repository) != "" {
		c.Fault("repository", "want the address of a repository", "%q is not an address", document.Short(v.Repository))
	}
	c.objectID("commit", v.Commit)
	if v.Ref != "" && (!strings.HasPrefix(v.Ref, "refs/") || len(v.Ref) > nameLimit || document.BadName(v.Ref) != "") && !document.IsObjectID(v.Ref) {
		c.Fault("ref", "want refs/heads/NAME, refs/tags/NAME or a whole commit", "%q is not a ref", document.Short(v.Ref))
	}
	c.objectID("tree", v.Tree)
	if why := document.BadRelative(v.Folder); v.Folder != "" && (why != "" || v.Folder == ".") {
		c.Fault("folder", "want a clean path below the repository's root, or none", "%q is not a folder", document.Short(v.Folder))
	}
	c.match("platform", v.Platform, platform, "want OS/ARCH, as linux/amd64")
	manifest.CheckClosure(v.Closure, "closure", r)
	c.laid(v)
	c.environment(v.Environment)
	manifest.CheckBases(v.Bases, "bases", r)
	c.checks(v.Check)
	c.between("attempt", v.Attempt, 1, attemptLimit)
	c.between("limit", v.Limit, 1, secondsLimit)
	u, err := url.Parse(v.Registry)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != v.Registry {
		c.Fault("registry", "want https://HOST:PORT and no path", "%q is not a registry", document.Short(v.Registry))
	}
	c.match("target", v.Target, target, "want a repository of the registry")
	if id, err := v.Identity(); err != nil || id != v.ID {
		c.Fault("id", "want "+id, "%q is not the id of what is asked", document.Short(v.ID))
	}
}

type checker struct{ *document.Reading }

// checks checks that it is a request that is made again, where it is one.
func (c checker) checks(request string) {
	if request != "" {
		c.match("check", request, requestID, "want 32 lower-case hexadecimal digits")
	}
}

// environment checks that the image has a name in full, and is named by digest.
func (c checker) environment(e *Environment) {
	if e == nil {
		return
	}
	if r, ok := image.Parse(e.Image); !ok || r.Name() != e.Image {
		c.Fault("environment.image", "want its name in full and without a tag, as docker.io/library/golang", "%q is not that", document.Short(e.Image))
	}
	c.digest("environment.digest", e.Digest)
}

// laid checks that what is laid out is the closure: only that has a part in
// what the request is. A request of an earlier version does not say it.
func (c checker) laid(v Request) {
	if len(v.Laid) > 0 && len(v.Laid) != len(v.Closure) {
		c.Fault("laid", "want one for each of the closure, in its order", "%d are laid out of a closure of %d", len(v.Laid), len(v.Closure))
		return
	}
	for i, l := range v.Laid {
		at := document.At("laid", i)
		if in := v.Closure[i]; l.Module != in.Module || l.Artifact != in.Artifact || l.Digest != in.Digest {
			c.Fault(at, "want one for each of the closure, in its order", "it is not %s of %s", document.Short(in.Artifact), document.Short(in.Module))
		}
		c.module(at+".language", l.Language)
		if l.IsImage() {
			c.image(at+".packed", l)
			continue
		}
		c.packed(at+".packed", l.Packed)
	}
}

// image checks that of an image its manifest is said, and nothing else.
func (c checker) image(path string, l Laid) {
	if want := LaidImage(l.Module, manifest.Image{Digest: l.Digest, Size: l.Packed.Size}).Packed; l.Packed != want {
		c.Fault(path, "want the image's manifest as its one blob", "it is not that of %s", document.Short(string(l.Digest)))
	}
	c.least(path+".size", l.Packed.Size, 1)
}

func (c checker) id(path, id string) {
	if !mesh.ValidID(id) {
		c.Fault(path, "want 8 to 32 lower-case letters and digits", "%q is not an id", document.Short(id))
	}
}

func (c checker) module(path, name string) {
	if !mesh.ValidModuleName(name) {
		c.Fault(path, "want lower-case letters, digits and inner hyphens, at most 63", "%q is not the name of a module", document.Short(name))
	}
}

func (c checker) match(path, s string, form *regexp.Regexp, want string) {
	if len(s) > nameLimit || !form.MatchString(s) {
		c.Fault(path, want, "it is %q", document.Short(s))
	}
}

func (c checker) objectID(path, s string) {
	if !document.IsObjectID(s) {
		c.Fault(path, "want 40 or 64 lower-case hexadecimal digits", "it is %q", document.Short(s))
	}
}

func (c checker) digest(path string, d document.Digest) {
	if !d.Valid() {
		c.Fault(path, wantDigest, "%q is not a digest", document.Short(string(d)))
	}
}

func (c checker) between(path string, n, least, most int64) {
	if n < least || n > most {
		c.Fault(path, "want "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10), "it is %d", n)
	}
}

// RequestSchema is the JSON Schema of a build request, by its types.
func RequestSchema() ([]byte, error) { return requestForm().Schema() }

// AnswerSchema is the JSON Schema of a builder's answer, by its types.
func AnswerSchema() ([]byte, error) { return answerForm().Schema() }
