package image

import "strings"

const (
	docker     = "docker.io"
	official   = "library/"
	maxName    = 255 // without the registry
	maxTag     = 128
	fewestHexs = 32
	latest     = "latest"
)

// Reference is an image as somebody asks for it. It has a tag, a digest, or both:
// then the digest counts.
type Reference struct {
	Registry   string // docker.io, registry.example.org:5000
	Repository string // library/ubuntu
	Tag        string
	Digest     string // as sha256:0123…
}

// Parse is what a reference such as ubuntu:24.04 or
// registry.example:5000/site/base@sha256:… asks for; not ok where it is none.
func Parse(reference string) (r Reference, ok bool) {
	name, digest, has := strings.Cut(reference, "@")
	if has && !isDigest(digest) {
		return Reference{}, false
	}
	r.Digest = digest
	// A colon before the last slash parts a registry from its port.
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		r.Tag = name[at+1:]
		if !isTag(r.Tag) {
			return Reference{}, false
		}
		name = name[:at]
	}
	r.Registry, r.Repository = split(name)
	if len(r.Repository) > maxName || !isRegistry(r.Registry) || isHash(name) {
		return Reference{}, false
	}
	for part := range strings.SplitSeq(r.Repository, "/") {
		if !isPart(part) {
			return Reference{}, false
		}
	}
	if r.Tag == "" && !has {
		r.Tag = latest
	}
	return r, true
}

// Name is the image in full, without tag and digest.
func (r Reference) Name() string { return r.Registry + "/" + r.Repository }

// String is the reference in full: its one form, which Parse gives back.
func (r Reference) String() string {
	s := r.Name()
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// split is the registry of a name, and what is asked of it. The first part of a
// name is a registry only if it looks like a machine's name.
func split(name string) (registry, path string) {
	registry, path, ok := strings.Cut(name, "/")
	if !ok || !strings.ContainsAny(registry, ".:") && registry != "localhost" && strings.ToLower(registry) == registry {
		registry, path = docker, name
	}
	if registry == "index."+docker {
		registry = docker
	}
	if registry == docker && !strings.Contains(path, "/") {
		path = official + path
	}
	return registry, path
}

// isHash reports whether a name is what tools print for an image that has none.
func isHash(name string) bool {
	return len(name) == 64 && only(name, "0123456789abcdef")
}

func only(s, runes string) bool {
	for i := range len(s) {
		if strings.IndexByte(runes, s[i]) < 0 {
			return false
		}
	}
	return true
}

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

func isTag(tag string) bool {
	return tag != "" && len(tag) <= maxTag && tag[0] != '.' && tag[0] != '-' && only(tag, letters+digits+"_.-")
}

// isDigest knows a digest's form, as sha256:0123…; whether it is right only a registry knows.
func isDigest(digest string) bool {
	algorithm, hex, ok := strings.Cut(digest, ":")
	if !ok || len(hex) < fewestHexs || !only(hex, digits+"abcdefABCDEF") {
		return false
	}
	for part := range strings.FieldsFuncSeq(algorithm, func(r rune) bool { return strings.ContainsRune("+.-_", r) }) {
		if !only(part, letters+digits) || strings.Contains(digits, part[:1]) {
			return false
		}
	}
	return strings.Trim(algorithm, "+.-_") == algorithm && algorithm != ""
}

// isRegistry reports whether s is a machine's name or address, perhaps with a port.
func isRegistry(s string) bool {
	host, port := s, "0"
	if at := strings.LastIndexByte(s, ':'); at >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:at], s[at+1:]
	}
	if port == "" || !only(port, digits) {
		return false
	}
	if strings.HasPrefix(host, "[") {
		return len(host) > 2 && strings.HasSuffix(host, "]") && only(host[1:len(host)-1], digits+"abcdefABCDEF:")
	}
	for part := range strings.SplitSeq(host, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' || !only(part, letters+digits+"-") {
			return false
		}
	}
	return true
}

// isPart reports whether s may stand between two slashes: lower-case letters and
// digits, with a dot, one or two underscores, or dashes between them.
func isPart(s string) bool {
	if s == "" || !only(s[:1]+s[len(s)-1:], lower+digits) || !only(s, lower+digits+"._-") {
		return false
	}
	for between := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(lower+digits, r) }) {
		if between != "." && between != "_" && between != "__" && !only(between, "-") {
			return false
		}
	}
	return true
}
