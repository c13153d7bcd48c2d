package plan

import (
	"fmt"
	"slices"
	"strings"

	"noxmesh/declaration"
)

// What fits into one declaration. A host refuses a larger one, and would then
// be told nothing at all; so the module that would make it too large is named.
const (
	// bodyLimit leaves the rest of the document some room.
	bodyLimit = 4<<20 - 16<<10
	// resourceLimit is how many a report can list and stay below its own limit.
	resourceLimit = 10_000
)

// room is what of it is taken.
type room struct{ bytes, resources int }

// lacks is what there is no room for; empty where there is.
func (r room) lacks(w *worked) string {
	if n := r.resources + len(w.resources); n > resourceLimit {
		return fmt.Sprintf("with it the node would have %d resources, at most %d go into one declaration", n, resourceLimit)
	}
	if n := r.bytes + weight(w); n > bodyLimit {
		return fmt.Sprintf("with it the declaration would have up to %d bytes, at most %d go; put large content into files of the repository and name them with \"from\"", n, bodyLimit)
	}
	return ""
}

func (r *room) take(w *worked) {
	r.resources += len(w.resources)
	r.bytes += weight(w)
}

// weight is how many bytes the module has in a declaration, at most: what each
// entry has beside its own text is counted as if all of its fields were there.
func weight(w *worked) int {
	const digest, resource, entry = 80, 180, 260
	n := 2*len(w.module) + digest + 40
	others := 0 // that a service comes after
	for i := range w.resources {
		r := &w.resources[i]
		if !r.Type.IsFile() || strings.Contains(r.Path, "/systemd/system/") || isSource(r.Path) {
			others++
		}
		if !r.Type.IsFile() || len(r.Owners()) > 0 {
			n += others * idLimit
		}
		if mounts := r.Mounts(); len(mounts) > 0 { // it comes after what lies there
			n += len(w.resources) * idLimit
		}
		n += resource + digest + escaped(r.Path) + escaped(r.Target) + len(r.ID) + idLimit + len(r.After)*idLimit
		if r.Traits != nil {
			n += traitsWeight(r)
		}
		n += secretsWeight(r)
	}
	for _, text := range w.where.Inline {
		n += digest + escaped(text)
	}
	for _, b := range w.where.Blobs {
		n += digest + entry + len(b.Repository)
	}
	for _, p := range w.where.Archives {
		n += digest + entry + 2*digest + len(p.Repository)
	}
	return n
}

// traitsWeight is how many bytes the traits of a resource have, with the resources
// that it comes after because it names them.
func traitsWeight(r *declaration.Resource) int {
	const keys = 300
	n := keys
	n += len(r.RestartOn) * idLimit
	for _, text := range append([]string{r.Name, r.Owner, r.Group, r.Home, r.Shell, r.Unit, r.Version, r.Value, r.Source, r.FSType, r.Options, r.HTTP, r.TCP, r.DNS, r.File, r.Command.Name}, r.Groups...) {
		n += escaped(text) + idLimit
	}
	for _, text := range slices.Concat([]string{r.Image, r.User}, r.Command.Words, r.Ports) {
		n += escaped(text) + 3
	}
	for name, text := range r.Env {
		n += len(name) + escaped(text) + 6
	}
	for _, text := range r.Volumes {
		n += escaped(text) + 3 + idLimit
	}
	return n
}

// secretsWeight is how many bytes the sealed values of a file have.
func secretsWeight(r *declaration.Resource) int {
	n := 0
	for name, sealed := range r.Secrets {
		n += len(name) + len(sealed) + 20
	}
	return n
}

// idLimit is the longest id of a resource, which another one comes after.
const idLimit = 63 + 1 + 63

// escaped is how many bytes s has as a string of JSON, without its quotes.
func escaped(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += 5
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}

func merge(into *declaration.Where, from declaration.Where) {
	for digest, text := range from.Inline {
		into.Inline = put(into.Inline, digest, text)
	}
	for digest, blob := range from.Blobs {
		into.Blobs = put(into.Blobs, digest, blob)
	}
	for digest, packed := range from.Archives {
		into.Archives = put(into.Archives, digest, packed)
	}
}
