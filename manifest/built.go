package manifest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/fault"
)

// Format is the version of the built manifest's form that this program writes.
const Format = 1

var platform = regexp.MustCompile(`^[a-z0-9]{1,32}/[a-z0-9]{1,32}$`)

// DecodeBuilt reads a built manifest. The name is the message's, for the errors.
func DecodeBuilt(name string, data []byte) (Built, error) {
	f := builtForm()
	f.File = name
	return f.Decode(data)
}

// Encode is b in its one encoding, the bytes that BuildDigest is the digest of.
func (b Built) Encode() ([]byte, error) { return builtForm().Encode(b) }

// Check adds to a reading what is wrong with a built manifest that is part of
// another document.
func (b Built) Check(r *document.Reading, path string) {
	if b.Format != Format {
		r.Fault(path+".format", "want 1", "format %d", b.Format)
	}
	inner := document.Look("")
	checkBuilt(b, inner)
	r.Take(inner, path)
}

func builtForm() document.Form[Built] {
	return document.Form[Built]{
		Name: "built manifest", Limits: Limits, Speaks: Format, Reader: "this program", Upgrade: "upgrade this program",
		Later: laterKeys(), Like: examples(), Check: checkBuilt,
	}
}

func checkBuilt(b Built, r *document.Reading) {
	m := common{b.Module, b.Summary, b.Provides, b.Requires, b.Instances, b.Grants, b.Claims, b.Capabilities, b.Settings, b.Secrets}
	c := newChecker(r, m)
	c.common(m)
	things := make([]thing, len(b.Resources))
	for i, x := range b.Resources {
		things[i] = x.thing()
		at := document.At("resources", i)
		if x.Digest != "" && !x.Digest.Valid() {
			c.Fault(at+".digest", wantDigest, "%q is not a digest", document.Short(string(x.Digest)))
		}
		if x.Size < 0 || x.Size > 0 && x.Digest == "" {
			c.Fault(at+".size", "want the size of what the digest is of", "size %d", x.Size)
		}
		if x.Type == typeArchive && x.Size != 0 {
			c.Fault(at+".size", "take it out", "size does not belong to a resource of type archive")
		}
	}
	c.things(things)
	c.provenance(b.Built)
	c.ownImages(b)
}

// ownImages checks that the images of the mesh that containers run are those that
// this build has made.
func (c *checker) ownImages(b Built) {
	for i, x := range b.Resources {
		if x.Traits == nil {
			continue
		}
		if of, ok := image.Parse(x.Image); ok && of.IsOwn() && !b.made(of) {
			c.Fault(document.At("resources", i)+".image", "want one of built.images", "%q is not made by this build", document.Short(x.Image))
		}
	}
}

// made reports whether this image is one that the build has made.
func (b Built) made(of image.Reference) bool {
	i, there := b.Image(of.Name())
	return there && string(i.Digest) == of.Digest
}

// running is a container that runs this image.
func (x BuiltResource) running(name string) BuiltResource {
	t := *x.Traits
	t.Image = name
	x.Traits, x.Digest, x.Size = &t, "", 0
	return x
}

const wantDigest = "want sha256: and 64 lower-case hexadecimal digits"

func (x BuiltResource) thing() thing {
	f := fieldsOf(x.Type)
	return thing{
		id: x.ID, kind: x.Type, path: x.Path, must: f.built, mode: x.Mode, content: x.Content, target: x.Target, after: x.After, traits: x.Traits,
		has: map[string]bool{
			"path": x.Path != "", "mode": x.Mode != "", "content": x.Content != nil, "target": x.Target != "", "digest": x.Digest != "",
		},
	}.withTraits()
}

func (c *checker) provenance(p Provenance) {
	if !document.IsObjectID(p.Commit) {
		c.Fault("built.commit", "want 40 or 64 lower-case hexadecimal digits", "%q is not a commit", document.Short(p.Commit))
	}
	if !document.IsObjectID(p.Tree) {
		c.Fault("built.tree", "want 40 or 64 lower-case hexadecimal digits", "%q is not a tree", document.Short(p.Tree))
	}
	if !platform.MatchString(p.Platform) {
		c.Fault("built.platform", "want OS/ARCH, as linux/amd64", "%q is not a platform", document.Short(p.Platform))
	}
	CheckClosure(p.Closure, "built.closure", c.Reading)
	if p.Environment != "" {
		c.digest("built.environment", p.Environment)
	}
	CheckBases(p.Bases, "built.bases", c.Reading)
	c.libraries(p.Libraries)
	c.packages(p.Packages)
	c.images(p.Images)
}

func (c *checker) ofArtifact(at, name string) {
	if !mesh.ValidModuleName(name) {
		c.Fault(at+".artifact", wantName, "%q is not the name of an artifact", document.Short(name))
	}
}

func (c *checker) digest(path string, d document.Digest) {
	if !d.Valid() {
		c.Fault(path, wantDigest, "%q is not a digest", document.Short(string(d)))
	}
}

func (c *checker) libraries(all []Library) {
	languages := map[string]bool{}
	for i, l := range all {
		at := document.At("built.libraries", i)
		if languages[l.Language] {
			c.Fault(at+".language", "want one library in each language", "there is another in %q", document.Short(l.Language))
		}
		languages[l.Language] = true
		c.ofArtifact(at, l.Artifact)
		if !mesh.ValidModuleName(l.Language) {
			c.Fault(at+".language", wantName, "%q is not the name of a language", document.Short(l.Language))
		}
		c.digest(at+".digest", l.Digest)
		if i > 0 && strings.Compare(all[i-1].Artifact, l.Artifact) >= 0 {
			c.Fault(at, "sort by artifact, each once", "it does not come after the library before it")
		}
	}
}

func (c *checker) images(all []Image) {
	for i, x := range all {
		at := document.At("built.images", i)
		c.ofArtifact(at, x.Artifact)
		c.digest(at+".digest", x.Digest)
		if x.Size < 1 {
			c.Fault(at+".size", "want the size of what the digest is of", "size %d", x.Size)
		}
		if i > 0 && all[i-1].Artifact >= x.Artifact {
			c.Fault(at, "sort by artifact, each once", "it does not come after the image before it")
		}
	}
}

func (c *checker) packages(all []Package) {
	for i, p := range all {
		at := document.At("built.packages", i)
		c.ofArtifact(at, p.Artifact)
		if !packageName.MatchString(p.Name) {
			c.Fault(at+".name", "want lower-case letters, digits, + - and .", "%q is not the name of a package", document.Short(p.Name))
		}
		if !packageVersion.MatchString(p.Version) {
			c.Fault(at+".version", "want it as Debian writes one", "%q is not the version of a package", document.Short(p.Version))
		}
		c.digest(at+".digest", p.Digest)
		if p.Size < 1 {
			c.Fault(at+".size", "want the size of what the digest is of", "size %d", p.Size)
		}
		if i > 0 && all[i-1].Artifact >= p.Artifact {
			c.Fault(at, "sort by artifact, each once", "it does not come after the package before it")
		}
	}
}

// CheckClosure adds to a reading what is wrong with an input closure: it is
// sorted and each input is there once, so that two equal closures are equal.
func CheckClosure(closure []Input, path string, r *document.Reading) {
	for i, in := range closure {
		at := document.At(path, i)
		if !mesh.ValidModuleName(in.Module) {
			r.Fault(at+".module", wantName, "%q is not the name of a module", document.Short(in.Module))
		}
		if !mesh.ValidModuleName(in.Artifact) {
			r.Fault(at+".artifact", wantName, "%q is not the name of an artifact", document.Short(in.Artifact))
		}
		if !in.Digest.Valid() {
			r.Fault(at+".digest", wantDigest, "%q is not a digest", document.Short(string(in.Digest)))
		}
		if i > 0 && in.Compare(closure[i-1]) <= 0 {
			r.Fault(at, "sort by module, artifact and digest, each once", "it does not come after the input before it")
		}
	}
}

// CheckBases finds what is wrong with what images stand on.
func CheckBases(bases []Base, path string, r *document.Reading) {
	for i, b := range bases {
		at := document.At(path, i)
		if of, ok := image.Parse(b.Image); !ok || of.String() != b.Image || of.Digest != "" || of.IsOwn() {
			r.Fault(at+".image", "want its name in full with its tag, as docker.io/library/debian:12", "%q is not that", document.Short(b.Image))
		}
		if !b.Digest.Valid() {
			r.Fault(at+".digest", wantDigest, "%q is not a digest", document.Short(string(b.Digest)))
		}
		if i > 0 && b.Image <= bases[i-1].Image {
			r.Fault(at, "sort by image, each once", "it does not come after the one before it")
		}
	}
}

// Compare is the order of a closure: module, artifact, digest.
func (in Input) Compare(other Input) int {
	return cmp.Or(cmp.Compare(in.Module, other.Module), cmp.Compare(in.Artifact, other.Artifact), cmp.Compare(in.Digest, other.Digest))
}

// Resolved is what a build made of one resource: the bytes of a file, or an
// archive by its index.
type Resolved struct {
	Digest document.Digest
	Size   int64 // of a file
}

// Derive is the built manifest of a source: each artifact and each file that it
// names by where it is becomes a digest, and build is gone. Resolved has one
// entry for each resource with an artifact or a from, by its id.
func Derive(src Source, prov Provenance, resolved map[string]Resolved) (Built, error) {
	prov.Closure = append([]Input{}, prov.Closure...)
	slices.SortFunc(prov.Closure, Input.Compare)
	prov.Closure = slices.Compact(prov.Closure)
	b := Built{
		Format: Format, Module: src.Module, Summary: src.Summary, Provides: src.Provides, Requires: src.Requires,
		Instances: src.Instances, Grants: src.Grants, Claims: src.Claims, Capabilities: src.Capabilities, Settings: src.Settings, Secrets: src.Secrets, Built: prov,
	}
	for _, x := range src.Resources {
		y := BuiltResource{ID: x.ID, Type: x.Type, Path: x.Path, Mode: x.Mode, Content: x.Content, Target: x.Target, After: x.After, Traits: x.Traits}
		if x.From != "" || x.Artifact != "" {
			made, ok := resolved[x.ID]
			if !ok {
				return Built{}, fault.New(fault.Broken, "derive the manifest of %q: nothing was made for resource %q", src.Module, x.ID)
			}
			if y.Digest, y.Size = made.Digest, made.Size; x.Type == typeContainer {
				y = y.running(image.OfModule(src.Module, x.Artifact) + "@" + string(made.Digest))
			}
			if x.Type == typeArchive {
				y.Size = 0 // a compressed size has no part in an identity
			}
		}
		b.Resources = append(b.Resources, y)
	}
	inner := document.Look("built manifest")
	checkBuilt(b, inner)
	if err := inner.Err(); err != nil {
		return Built{}, fault.Wrap(fault.Broken, err, "derive the manifest of %q", src.Module)
	}
	return b, nil
}
