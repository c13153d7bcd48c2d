package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/fault"
)

// DecodeSource reads a module.json as it stands in a repository. The name is
// the file's, for the errors.
func DecodeSource(name string, data []byte) (Source, error) {
	f := sourceForm()
	f.File = name
	return f.Decode(data)
}

// Encode is s in its one encoding.
func (s Source) Encode() ([]byte, error) { return sourceForm().Encode(s) }

func sourceForm() document.Form[Source] {
	later := laterKeys()
	for _, key := range []string{"digest", "size"} { // of a built manifest
		later["resources[]."+key] = "a build says the " + key + " of what it makes; name an artifact of build.artifacts, or a file in from"
	}
	later["resources[].secrets"] = "declare them under secrets, beside resources, and write ${secret.NAME} into the content"
	return document.Form[Source]{Name: "source manifest", Limits: Limits, Later: later, Like: examples(), Check: checkSource}
}

func checkSource(s Source, r *document.Reading) {
	m := common{s.Module, s.Summary, s.Provides, s.Requires, s.Instances, s.Grants, s.Claims, s.Capabilities, s.Settings, s.Secrets}
	c := newChecker(r, m)
	c.common(m)
	things := make([]thing, len(s.Resources))
	for i, x := range s.Resources {
		things[i] = x.thing()
		at := document.At("resources", i)
		if x.From == "." {
			c.Fault(at+".from", "want the path of a file below the module's folder", "it is the folder itself")
		} else if x.From != "" {
			c.relative(at+".from", x.From)
		}
		c.resourceArtifact(at+".artifact", x, s.Build)
		c.resourceImage(at+".image", x)
	}
	c.things(things)
	if s.Build != nil {
		c.build(s.Module, *s.Build, s.Resources)
	}
}

func (x Resource) thing() thing {
	f := fieldsOf(x.Type)
	return thing{
		id: x.ID, kind: x.Type, path: x.Path, must: f.source, mode: x.Mode, content: x.Content, target: x.Target, after: x.After, traits: x.Traits,
		has: map[string]bool{
			"path": x.Path != "", "mode": x.Mode != "", "content": x.Content != nil, "from": x.From != "",
			"target": x.Target != "", "artifact": x.Artifact != "",
		},
	}.withTraits()
}

// resourceArtifact checks the artifact that a resource puts on a machine.
func (c *checker) resourceArtifact(path string, x Resource, b *Build) {
	if x.Artifact == "" {
		return
	}
	var made Artifact
	there := false
	if b != nil {
		made, there = b.Artifacts[x.Artifact]
	}
	is := document.Short(x.Artifact)
	switch {
	case !there:
		c.Fault(path, wantArtifact(x.Artifact, b), "%q is not made by build.artifacts", is)
	case x.Type == typeContainer && made.Type != typeImage:
		c.Fault(path, "want an artifact of type image", "%q is %s %s", is, articleOf(made.Type), document.Short(made.Type))
	case made.Type == typeImage && x.Type != typeContainer:
		c.Fault(path, "want an artifact of type archive, or a resource of type container", "%q is an image", is)
	case made.Type == typePackage:
		c.Fault(path, "want an artifact of type archive: what the mesh has made itself no machine gets as a package yet", "%q is a package", is)
	}
}

func articleOf(artifactType string) string {
	if artifactType == typeArchive {
		return "an"
	}
	return "a"
}

// resourceImage refuses an image of the mesh by its name: which one it is, is worked
// out by what the module makes.
func (c *checker) resourceImage(path string, x Resource) {
	if x.Traits == nil {
		return
	}
	if of, ok := image.Parse(x.Image); ok && of.IsOwn() {
		c.Fault(path, `name the artifact in its place, as "artifact": "web"`, "%q is an image that a module of the mesh makes, and a container runs one of its own module", document.Short(x.Image))
	}
}

func wantArtifact(named string, b *Build) string {
	if b == nil || len(b.Artifacts) == 0 {
		return `say under build.artifacts what it is, as {"site": {"type": "archive", "path": "dist"}}`
	}
	known := slices.Sorted(maps.Keys(b.Artifacts))
	otherwise := "the artifacts are " + list(known)
	if len(known) > nearLimit {
		return otherwise
	}
	return document.Nearest(named, known, otherwise)
}

func (c *checker) build(module string, b Build, resources []Resource) {
	c.in(module, b.In)
	c.commands("build.run", b.Run)
	c.commands("build.test", b.Test)
	if b.Limits != nil {
		c.limits("build.limits", *b.Limits)
	}
	used := map[string]bool{}
	for _, x := range resources {
		used[x.Artifact] = true
	}
	for _, name := range slices.Sorted(maps.Keys(b.Artifacts)) {
		path := document.Join("build.artifacts", name)
		if !mesh.ValidModuleName(name) {
			c.FaultKey(path, wantName, "%+q is not the name of an artifact", document.Short(name))
		}
		a := b.Artifacts[name]
		if !used[name] && (a.Type == typeArchive || !slices.Contains(artifactTypes(), a.Type)) {
			c.FaultKey(path, "name it in a resource of type archive, or take it out", "no resource puts the artifact %q on a machine", document.Short(name))
		}
		c.artifact(path, name, a)
		if a.Type == typeImage {
			c.base(path+".base", module, a.Base, b.In)
		}
	}
	c.eachOnce(b.Artifacts)
}

// commands checks lists of words: each is run as it is, by no shell.
func (c *checker) commands(path string, commands [][]string) {
	for i, words := range commands {
		c.words(document.At(path, i), words)
	}
}

func (c *checker) words(at string, words []string) {
	if len(words) == 0 {
		c.Fault(at, `want the program and its words, as ["make", "site"]`, "the command is empty")
		return
	}
	if words[0] == "" {
		c.Fault(document.At(at, 0), "want the name of a program", "the first word is empty")
	}
	for j, word := range words {
		if strings.ContainsRune(word, 0) {
			c.Fault(document.At(at, j), "take it out", "the word holds a zero byte")
		}
	}
}

// CheckFolder refuses what could not be a module's folder in its repository;
// empty is the repository's root.
func CheckFolder(folder string) error {
	if folder == "" {
		return nil
	}
	if why := document.BadRelative(folder); why != "" || folder == "." {
		return fault.New(fault.Invalid, "folder %q %s", folder, cmp.Or(why, "is the root")).
			With("write it relative to the repository's root, as services/board; leave it out for the root")
	}
	return nil
}
