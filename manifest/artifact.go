package manifest

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
)

// artifactTypes is what a build can make.
func artifactTypes() []string { return []string{typeArchive, typeLibrary, typePackage, typeImage} }

// artifactFields is which keys belong to an artifact of each type besides its
// type, and which of them must be there.
type artifactFields struct{ must, may []string }

func artifactFieldsOf(artifactType string) (artifactFields, bool) {
	table := map[string]artifactFields{
		typeArchive: {must: []string{"path"}},
		typeLibrary: {must: []string{"language"}, may: []string{"path"}},
		typePackage: {must: []string{"path", "version"}, may: []string{"name", "depends"}},
		typeImage:   {must: []string{}, may: []string{"path", "file", "base", "at", "command", "env"}},
	}
	f, ok := table[artifactType]
	return f, ok
}

// artifactKeys is the keys that depend on an artifact's type.
func artifactKeys() []string {
	return []string{"path", "language", "name", "version", "depends", "file", "base", "at", "command", "env"}
}

// says is which of the keys that depend on its type an artifact has.
func (a Artifact) says(key string) bool {
	return map[string]bool{
		"path": a.Path != "", "language": a.Language != "", "name": a.Name != "", "version": a.Version != "", "depends": a.Depends != nil,
		"file": a.File != "", "base": a.Base != "", "at": a.At != "", "command": a.Command != nil, "env": a.Env != nil,
	}[key]
}

func (c *checker) artifact(path, name string, a Artifact) {
	f, known := artifactFieldsOf(a.Type)
	if !known {
		c.Fault(path+".type", document.Nearest(a.Type, artifactTypes(), wantArtifactType), "%q is not the type of an artifact", document.Short(a.Type))
	}
	for _, key := range artifactKeys() {
		switch {
		case known && a.says(key) && !slices.Contains(f.must, key) && !slices.Contains(f.may, key):
			c.FaultKey(path+"."+key, "take it out", "%s does not belong to an artifact of type %s", key, a.Type)
		case !a.says(key) && slices.Contains(f.must, key) && key != "path": // of which relative says it
			c.Fault(path, wantOf(key), "an artifact of type %s needs %s", a.Type, key)
		}
	}
	if a.Path != "" || !known || slices.Contains(f.must, "path") || a.Type == typeImage && a.File == "" {
		c.relative(path+".path", a.Path)
	}
	switch {
	case a.Type == typeLibrary && a.Language != "" && !mesh.ValidModuleName(a.Language):
		c.Fault(path+".language", wantLanguage, "%q is not the name of a language", document.Short(a.Language))
	case a.Type == typePackage:
		c.debian(path, name, a)
	case a.Type == typeImage:
		c.image(path, a)
	}
}

// image checks what an image says of itself.
func (c *checker) image(path string, a Artifact) {
	c.file(path, a)
	if a.At != "" && a.At != "/" && (a.At[0] != '/' || document.BadRelative(a.At[1:]) != "") {
		c.Fault(path+".at", "want a clean absolute path, as /srv", "%q is not where something can be in an image", document.Short(a.At))
	}
	if a.Command != nil {
		c.words(path+".command", a.Command)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		at := document.Join(path+".env", name)
		if !variable.MatchString(name) {
			c.FaultKey(at, "want letters, digits and _, and no digit first", "%+q is not the name of a variable", document.Short(name))
		}
		if len(a.Env[name]) > ContentLimit || strings.ContainsRune(a.Env[name], 0) {
			c.Fault(at, "want at most 64 KiB and no zero byte", "the value cannot stand in an environment")
		}
	}
}

// file checks an image that is made as a container file says.
func (c *checker) file(path string, a Artifact) {
	if a.File == "" {
		return
	}
	c.relative(path+".file", a.File)
	for _, key := range []string{"base", "at", "command", "env"} {
		if a.says(key) {
			c.FaultKey(path+"."+key, "take it out, and say it in the container file", "%s is said by the container file %q", key, document.Short(a.File))
		}
	}
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

const wantArtifactType = "want archive, library, package or image"

const wantLanguage = `want the one that others import it in, as "language": "go"`

const wantVersion = `want it as Debian writes one, as "version": "1.4.2"; raise it with what is in the package`

func wantOf(key string) string {
	if key == "version" {
		return wantVersion
	}
	return wantLanguage
}

const (
	debianName    = `[a-z0-9][a-z0-9+.-]{1,62}`
	debianVersion = `([0-9]{1,4}:)?[0-9]([A-Za-z0-9.+~-]{0,62}[A-Za-z0-9.+~])?`
	debianNeed    = debianName + `( \((<<|<=|=|>=|>>) ` + debianVersion + `\))?`
)

var (
	packageName    = regexp.MustCompile(`^` + debianName + `$`)
	packageVersion = regexp.MustCompile(`^` + debianVersion + `$`)
	packageNeed    = regexp.MustCompile(`^` + debianNeed + `( \| ` + debianNeed + `)*$`)
)

// debian checks what a package says of itself.
func (c *checker) debian(path, name string, a Artifact) {
	if called := cmp.Or(a.Name, name); !packageName.MatchString(called) {
		c.Fault(path+strings.Repeat(".name", min(len(a.Name), 1)), "want lower-case letters, digits, + - and ., at least 2 and at most 63, in name", "%q is not the name of a package", document.Short(called))
	}
	if a.Version != "" && !packageVersion.MatchString(a.Version) {
		c.Fault(path+".version", wantVersion, "%q is not the version of a package", document.Short(a.Version))
	}
	if !c.once(path+".depends", a.Depends) {
		return
	}
	for i, need := range a.Depends {
		if len(need) > saysLimit || !packageNeed.MatchString(need) {
			c.Fault(document.At(path+".depends", i), `want one package, as "libc6 (>= 2.36)", or several with | between them, of which one is enough`, "%q is not a package to depend on", document.Short(need))
		}
	}
}

// eachOnce checks that no two artifacts are one to whoever uses them.
func (c *checker) eachOnce(all map[string]Artifact) {
	languages, packages := map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, path := all[name], document.Join("build.artifacts", name)
		switch a.Type {
		case typeLibrary:
			if other, there := languages[a.Language]; there {
				c.Fault(path+".language", "make one library of both", "the artifact %q is the module's library in %q already", document.Short(other), document.Short(a.Language))
			}
			if a.Language != "" {
				languages[a.Language] = name
			}
		case typePackage:
			called := cmp.Or(a.Name, name)
			if other, there := packages[called]; there {
				c.FaultKey(path, "give each a name of its own", "the artifact %q is the package %q already", document.Short(other), document.Short(called))
			}
			packages[called] = name
		}
	}
}

// PackageName is what the package is called that an artifact of this name is.
func (a Artifact) PackageName(artifact string) string { return cmp.Or(a.Name, artifact) }

// artifactExamples is what the values of an artifact look like.
func artifactExamples() map[string]string {
	return map[string]string{
		"build.artifacts.*":           `{"type": "archive", "path": "dist"}`,
		"build.artifacts.*.type":      `"archive"`,
		"build.artifacts.*.path":      `"dist"`,
		"build.artifacts.*.language":  `"go"`,
		"build.artifacts.*.name":      `"board"`,
		"build.artifacts.*.version":   `"1.4.2"`,
		"build.artifacts.*.depends":   `["libc6 (>= 2.36)"]`,
		"build.artifacts.*.file":      `"Containerfile"`,
		"build.artifacts.*.base":      `"debian@sha256:0123…"`,
		"build.artifacts.*.at":        `"/srv"`,
		"build.artifacts.*.command":   `["/srv/serve", "--port", "80"]`,
		"build.artifacts.*.command[]": `"/srv/serve"`,
		"build.artifacts.*.env":       `{"PORT": "80"}`,
		"build.artifacts.*.env.*":     `"80"`,
		"build.artifacts.*.depends[]": `"libc6 (>= 2.36)"`,
	}
}
