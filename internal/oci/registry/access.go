package registry

import (
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// Access is what somebody asks leave for.
type Access struct {
	Repository string // empty where only the credential is asked about
	Write      bool   // otherwise it reads
	User       string
	Password   string // as it was sent
	RequestID  string // the build request that it says it holds open, or ""

	Referrers document.Digest // of this manifest, where a list of them is read
}

// Format writes the access without its password.
func (a Access) Format(f fmt.State, _ rune) {
	a.Password = "***"
	type plain Access
	_, _ = fmt.Fprintf(f, "%+v", plain(a))
}

var uploadID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// route is what a request is about. A request that is none of the few known
// forms is refused here and never reaches the registry behind.
func route(r *http.Request) (Access, error) {
	a, err := place(r)
	if err != nil {
		return Access{}, err
	}
	if !a.Write {
		return a, nil
	}
	// The registry behind also reads parameters from a form in the body.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil &&
		(kind == "application/x-www-form-urlencoded" || strings.HasPrefix(kind, "multipart/")) {
		return Access{}, fault.New(fault.Denied, "a form is not an upload")
	}
	return a, nil
}

func place(r *http.Request) (Access, error) {
	if r.URL.RawPath != "" {
		return Access{}, fault.New(fault.Invalid, "the path is encoded where it need not be")
	}
	if r.URL.Path == "/v2/" && reads(r.Method) {
		return Access{}, nil
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2/"), "/")
	if !strings.HasPrefix(r.URL.Path, "/v2/") || len(parts) < 3 {
		return Access{}, fault.New(fault.NotFound, "no such path")
	}
	at := func(back int) string { return parts[len(parts)-back] }
	name := func(back int) string { return strings.Join(parts[:len(parts)-back], "/") }
	if len(parts) >= 4 && at(3) == "blobs" && at(2) == "uploads" {
		return upload(r, name(3), at(1))
	}
	switch at(2) {
	case "blobs":
		return byDigest(r, name(2), at(1), false)
	case "manifests":
		return byDigest(r, name(2), at(1), true)
	case "referrers":
		return about(r, name(2), at(1))
	}
	return Access{}, fault.New(fault.Denied, "the mesh's registry has only blobs, manifests and referrers, by digest")
}

func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func byDigest(r *http.Request, repo, digest string, writable bool) (Access, error) {
	if err := checkRepository(repo); err != nil {
		return Access{}, err
	}
	if !document.Digest(digest).Valid() {
		return Access{}, fault.New(fault.Denied, "%q is a tag: the mesh names everything by digest", digest)
	}
	if r.URL.RawQuery != "" {
		return Access{}, fault.New(fault.Denied, "a blob or a manifest takes no parameters")
	}
	switch {
	case reads(r.Method):
		return Access{Repository: repo}, nil
	case r.Method == http.MethodPut && writable:
		if r.Header.Get("Content-Type") != oci.MediaManifest {
			return Access{}, fault.New(fault.Denied, "a manifest of type %q: want %s", r.Header.Get("Content-Type"), oci.MediaManifest)
		}
		return Access{Repository: repo, Write: true}, nil
	}
	return Access{}, fault.New(fault.Denied, "%s: nothing is deleted or changed here", r.Method)
}

// about is a question for the referrers of a manifest. Whoever may read the
// repository may ask; what the registry behind would make of it is nothing.
func about(r *http.Request, repo, digest string) (Access, error) {
	if err := checkRepository(repo); err != nil {
		return Access{}, err
	}
	if !document.Digest(digest).Valid() {
		return Access{}, fault.New(fault.Invalid, "%q is not a digest: want that of the manifest whose referrers are asked for", document.Short(digest))
	}
	if !reads(r.Method) {
		return Access{}, fault.New(fault.Denied, "%s: a list of referrers is only read", r.Method)
	}
	return Access{Repository: repo, Referrers: document.Digest(digest)}, nil
}

func upload(r *http.Request, repo, id string) (Access, error) {
	if err := checkRepository(repo); err != nil {
		return Access{}, err
	}
	q := r.URL.Query()
	if q.Has("mount") || q.Has("from") {
		return Access{}, fault.New(fault.Denied, "a blob is not mounted from another repository: push it")
	}
	switch {
	case id == "" && r.Method == http.MethodPost && len(q) == 0:
	case uploadID.MatchString(id) && r.Method == http.MethodPut && len(q["digest"]) == 1 && document.Digest(q.Get("digest")).Valid():
	default:
		return Access{}, fault.New(fault.Denied, "%s: an upload is one POST and one PUT with its digest", r.Method)
	}
	return Access{Repository: repo, Write: true}, nil
}

// checkRepository refuses a name in which the registry behind could find another place to cut.
func checkRepository(repo string) error {
	if err := oci.CheckRepository(repo); err != nil {
		return err
	}
	for part := range strings.SplitSeq(repo, "/") {
		if slices.Contains([]string{"blobs", "manifests", "tags", "uploads", "referrers"}, part) {
			return fault.New(fault.Invalid, "repository %q: %q means something else in a registry's paths", repo, part)
		}
	}
	return nil
}
