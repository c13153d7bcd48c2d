package declaration

import (
	"slices"
	"strconv"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
	"noxmesh/image"
)

// Decode reads one declaration. All faults that can be found are said at once,
// as document.Problems in a fault.Invalid.
func Decode(data []byte) (Declaration, error) { return form().Decode(data) }

// DecodeFile is like Decode for a declaration that stands in a file.
func DecodeFile(name string, data []byte) (Declaration, error) {
	f := form()
	f.File = name
	return f.Decode(data)
}

// Encode is d in its one encoding: what is signed.
func (d Declaration) Encode() ([]byte, error) { return form().Encode(d) }

func form() document.Form[Declaration] {
	return document.Form[Declaration]{
		Name: "declaration", Limits: Limits, Speaks: Format, Reader: "this host", Upgrade: "upgrade the host", Check: check,
		Keywords: map[string]document.Keywords{"body.resources[].command": {"type": []string{"array", "string"}, "items": document.Keywords{"type": "string"}}},
	}
}

// validID reports whether this is the id of a resource: MODULE/ID, where both are
// spelled as a module's name is.
func validID(s string) bool {
	module, id, _ := strings.Cut(s, "/")
	return mesh.ValidModuleName(module) && mesh.ValidModuleName(id)
}

func check(d Declaration, r *document.Reading) {
	for _, id := range []struct{ path, id string }{{"mesh", d.Mesh}, {"node", d.Node}} {
		if !mesh.ValidID(id.id) {
			r.Fault(id.path, "want 8 to 32 lower-case letters and digits", "%q is not an id", document.Short(id.id))
		}
	}
	if !mesh.ValidNodeName(d.Name) {
		r.Fault("name", "want a host name in lower case, at most 63", "%q is not the name of a node", document.Short(d.Name))
	}
	if d.Epoch < 1 {
		r.Fault("epoch", "want 1 or more", "epoch %d", d.Epoch)
	}
	if d.Generation < 1 {
		r.Fault("generation", "want 1 or more", "generation %d", d.Generation)
	}
	c := checker{r, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	c.modules(d.Body.Modules)
	for i, res := range d.Body.Resources {
		c.resource(document.At("body.resources", i), res)
	}
	c.where(d.Where)
	for i, res := range d.Body.Resources {
		c.found(document.At("body.resources", i), res, d.Where)
	}
}

type checker struct {
	*document.Reading
	names    map[string]bool // of the modules
	ids      map[string]bool // of the resources so far
	subjects map[string]bool
}

func (c *checker) modules(modules []Module) {
	for i, m := range modules {
		at := document.At("body.modules", i)
		if !mesh.ValidModuleName(m.Module) {
			c.Fault(at+".module", "want lower-case letters, digits and inner hyphens, at most 63", "%q is not the name of a module", document.Short(m.Module))
		}
		if c.names[m.Module] {
			c.Fault(at+".module", "want each module once", "%q is there twice", document.Short(m.Module))
		}
		c.names[m.Module] = true
		c.digest(at+".content", m.Content)
	}
}

func (c *checker) resource(at string, r Resource) {
	module, _, _ := strings.Cut(r.ID, "/")
	switch {
	case !validID(r.ID):
		c.Fault(at+".id", "want MODULE/ID", "%q is not the id of a resource", document.Short(r.ID))
	case !c.names[module]:
		c.Fault(at+".id", "name it in body.modules", "%q is of a module that is not on this node", document.Short(r.ID))
	case c.ids[r.ID]:
		c.Fault(at+".id", "want an id of its own", "another resource is called %q", document.Short(r.ID))
	}
	if why := document.BadPath(r.Path); why != "" && r.Path != "" {
		c.Fault(at+".path", "want a clean absolute path below /", "%q %s", document.Short(r.Path), why)
	} else if subject := r.Subject(); r.Path != "" && c.subjects[r.Path] {
		c.Fault(at+".path", "want one resource for each path", "another resource has the path %q", document.Short(r.Path))
	} else if subject != "" && c.subjects[subject] {
		c.Fault(at, "want one resource for each", "another resource is about %q", document.Short(subject))
	}
	c.fields(at, r)
	c.earlier(at+".after", r.After)
	if r.Traits != nil {
		c.earlier(at+".restart_on", r.RestartOn)
	}
	c.ids[r.ID], c.subjects[r.Subject()], c.subjects[r.Path] = true, true, true
	if r.Type == Mount && r.Path != "" {
		if why := ReservedMount(r.Path); why != "" {
			c.Fault(at+".path", "want a path of its own, as /srv/data", "%q is %s", document.Short(r.Path), why)
		}
	}
}

// earlier checks a list of resources that come before this one.
func (c *checker) earlier(at string, ids []string) {
	for i, id := range ids {
		path := document.At(at, i)
		if !c.ids[id] {
			c.Fault(path, "want a resource earlier in the list", "%q is not the id of an earlier resource", document.Short(id))
		} else if slices.Contains(ids[:i], id) {
			c.Fault(path, "take one of them out", "%q is there twice", document.Short(id))
		}
	}
}

// fields checks what the type needs, and what a value says.
func (c *checker) fields(at string, r Resource) {
	c.belong(at, &r)
	if flaw, ok := ModeFlaw(r.Type, r.Mode); ok {
		c.Fault(at+".mode", flaw.Want, "%s", flaw.What)
	} else if flaw, ok := SecretModeFlaw(r.Mode); ok && len(r.Secrets) > 0 {
		c.Fault(at+".mode", flaw.Want, "%s", flaw.What)
	}
	for _, flaw := range secretFlaws(r.Secrets) {
		c.Fault(at+"."+flaw.Key, flaw.Want, "%s", flaw.What)
	}
	if why := document.BadName(r.Target); why != "" {
		c.Fault(at+".target", "want where the link leads to", "the target %s", why)
	}
	if r.Digest != "" {
		c.digest(at+".digest", r.Digest)
	}
	if r.Size < 0 {
		c.Fault(at+".size", "want 0 or more", "size %d", r.Size)
	}
}

func (c *checker) digest(path string, d document.Digest) {
	if !d.Valid() {
		c.Fault(path, "want sha256: and 64 lower-case hexadecimal digits", "%q is not a digest", document.Short(string(d)))
	}
}

// found checks that where says how to get what the body names.
func (c *checker) found(at string, r Resource, w Where) {
	if r.Type == Container {
		c.ownImage(at, r, w)
	}
	if !r.Digest.Valid() {
		return
	}
	size := int64(-1)
	switch r.Type {
	case File:
		if text, ok := w.Inline[r.Digest]; ok {
			size = int64(len(text))
			c.template(at, r, text)
		} else if blob, ok := w.Blobs[r.Digest]; ok {
			size = blob.Size
		}
		if size >= 0 && size != r.Size {
			c.Fault(at+".size", "want "+strconv.FormatInt(size, 10), "where says that it has %d bytes", size)
		}
		if size < 0 {
			c.Fault(at+".digest", "add it to where.inline or where.blobs", "where does not say how to get %s", r.Digest)
		}
	case Archive:
		if _, ok := w.Archives[r.Digest]; !ok {
			c.Fault(at+".digest", "add it to where.archives", "where does not say how to get %s", r.Digest)
		}
	case Directory, Link, Group, User, Service, Package, Sysctl, Mount, Check, Container:
	}
}

// ownImage checks the same of an image that the mesh has made.
func (c *checker) ownImage(at string, r Resource, w Where) {
	of, ok := image.Parse(r.Said().Image)
	if _, there := w.Blobs[document.Digest(of.Digest)]; ok && of.IsOwn() && !there {
		c.Fault(at+".image", "add it to where.blobs", "where does not say how to get %s", document.Short(of.Digest))
	}
}

// Schema is the JSON Schema of the declaration, by its types.
func Schema() ([]byte, error) { return form().Schema() }
