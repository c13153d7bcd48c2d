package manifest_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"noxmesh/internal/fault"
	"noxmesh/internal/fault/faulttest"
	"noxmesh/manifest"
)

// TestEveryErrorIsShown: each error text stands in a golden file, with what it is
// said of: those of module.json in testdata/bad too.
func TestEveryErrorIsShown(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	say := func(what string, err error) {
		if err == nil {
			t.Errorf("%s: nothing is wrong with it", what)
			return
		}
		fmt.Fprintf(&said, "%s: %v", what, err)
		if hint := fault.HintOf(err); hint != "" {
			fmt.Fprintf(&said, " (%s)", hint)
		}
		said.WriteString("\n")
	}
	for _, name := range slices.Sorted(maps.Keys(badBuilt())) {
		_, err := manifest.DecodeBuilt("built", []byte(badBuilt()[name]))
		say(name, err)
	}
	for _, name := range slices.Sorted(maps.Keys(badSources())) {
		_, err := manifest.DecodeSource("module.json", []byte(badSources()[name]))
		say(name, err)
	}
	source, err := manifest.DecodeSource("module.json", []byte(`{"module": "a", "resources": [{"id": "b", "type": "file", "path": "/b", "from": "b"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = manifest.Derive(source, provenance(), nil)
	say("a resource of which nothing was made", err)
	wrong := provenance()
	wrong.Commit = "x"
	_, err = manifest.Derive(manifest.Source{Module: "a"}, wrong, nil)
	say("a wrong commit", err)
	say("a folder", manifest.CheckFolder("/a"))
	say("the root", manifest.CheckFolder("."))
	_, err = manifest.Value{}.MarshalJSON()
	say("no value", err)
	for _, s := range []manifest.Setting{{Type: manifest.IntegerSetting}, {Type: manifest.BooleanSetting}, {Type: "odd"}} {
		_, why := s.Value("x")
		fmt.Fprintf(&said, "a setting of %s: %s\n", s.Type, why)
	}
	_, why := manifest.Setting{Type: manifest.StringSetting}.Value("")
	fmt.Fprintf(&said, "a setting that is not set: %s\n", why)
	_, err = manifest.Chosen(map[string]manifest.Setting{"port": {Type: manifest.IntegerSetting}}, map[string]string{"settings.port": "x"})
	say("a chosen setting", err)
	grant := manifest.Grant{With: map[string]manifest.Setting{"size": {Type: manifest.IntegerSetting}}}
	for _, with := range []map[string]manifest.Value{{"siez": manifest.StringValue("1")}, {"size": manifest.StringValue("1")}, {}} {
		fmt.Fprintf(&said, "an instance: %s\n", grant.Takes(with, nil))
	}
	faulttest.Compare(t, *update, said.String())
	files, err := filepath.Glob(filepath.Join("testdata", "bad", "*.want"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said.Write(text)
	}
	for _, text := range faulttest.Unshown(t, ".", said.String()) {
		if !strings.HasPrefix(text.At, "keys.go:") && !slices.Contains(notSaid(), text.Text) { // keys.go is the page about module.json
			t.Errorf("%s: nothing shows %q", text.At, text.Text)
		}
	}
}

// notSaid is names, and examples of which others are shown.
func notSaid() []string {
	return []string{
		"source manifest", "unit state restart_on", "http tcp status", "package version",
		`{"encoding": {"type": "string", "default": "UTF8"}}`, `{"type": "string", "default": "UTF8"}`, `{"port": {"type": "integer", "default": 8080}}`,
		`[["make", "site"]]`, `[["make", "test"]]`, `["make", "test"]`,
		`["/srv/serve", "--port", "80"]`, `["serve", "--port", "80"]`,
	}
}

func badBuilt() map[string]string {
	const good = `"commit": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "tree": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "platform": "linux/amd64"`
	built := func(rest string) string { return `{"format": 1, "module": "a", "built": {` + rest + `}}` }
	return map[string]string{
		"a newer format":      `{"format": 2, "module": "a", "built": {` + good + `, "closure": []}}`,
		"an older format":     `{"format": 0, "module": "a", "built": {` + good + `, "closure": []}}`,
		"a built resource":    `{"format": 1, "module": "a", "resources": [{"id": "b", "type": "file", "path": "/b", "digest": "x", "size": -1}, {"id": "c", "type": "archive", "path": "/c", "digest": "sha256:` + strings.Repeat("a", 64) + `", "size": 3}], "built": {` + good + `, "closure": []}}`,
		"where it comes from": built(`"commit": "x", "tree": "y", "platform": "z", "closure": [], "environment": "w"`),
		"libraries":           built(good + `, "closure": [], "libraries": [{"artifact": "B", "language": "G", "digest": "x"}, {"artifact": "A", "language": "G", "digest": "x"}]`),
		"packages":            built(good + `, "closure": [], "packages": [{"artifact": "B", "name": "B", "version": "v", "digest": "x", "size": 0}, {"artifact": "A", "name": "b", "version": "1", "digest": "x", "size": 1}]`),
		"images":              built(good + `, "closure": [], "images": [{"artifact": "B", "digest": "x", "size": 0}, {"artifact": "A", "digest": "x", "size": 1}]`),
		"another's image":     `{"format": 1, "module": "a", "resources": [{"id": "c", "type": "container", "name": "c", "image": "mesh.internal/b@sha256:` + strings.Repeat("a", 64) + `"}], "built": {` + good + `, "closure": []}}`,
		"bases":               built(good + `, "closure": [], "bases": [{"image": "mesh.internal/a:1", "digest": "x"}, {"image": "b", "digest": "x"}]`),
		"a closure":           built(good + `, "closure": [{"module": "B", "artifact": "G", "digest": "x"}, {"module": "A", "artifact": "G", "digest": "x"}]`),
	}
}

func badSources() map[string]string {
	source := func(rest string) string { return `{"module": "a", ` + rest + `}` }
	many := func(format string, n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ", ")
	}
	return map[string]string{
		"no image":             source(`"build": {"in": "A B"}`),
		"an image's digest":    source(`"build": {"in": "golang@sha256:1"}`),
		"a long image":         source(`"build": {"in": "` + strings.Repeat("a/", 300) + `b"}`),
		"a long base":          source(`"build": {"artifacts": {"i": {"type": "image", "path": "dist", "base": "` + strings.Repeat("a.b/", 3) + strings.Repeat("x", 200) + `:` + strings.Repeat("x", 128) + `@sha512:` + strings.Repeat("0", 200) + `"}}}`),
		"no image of a mesh":   source(`"build": {"in": "mesh.internal/b/c/d"}`),
		"one with a tag":       source(`"build": {"in": "mesh.internal/b:1", "artifacts": {"i": {"type": "image", "path": "dist", "base": "mesh.internal/b@sha256:` + strings.Repeat("0", 64) + `"}}}`),
		"its own image":        source(`"build": {"in": "mesh.internal/a", "artifacts": {"i": {"type": "image", "path": "dist", "base": "mesh.internal/a/i"}}}`),
		"a long target":        source(`"resources": [{"id": "b", "type": "link", "path": "/b", "target": "a\u0000"}]`),
		"a large file":         source(`"resources": [{"id": "b", "type": "file", "path": "/b", "content": "` + strings.Repeat("x", manifest.ContentLimit+1) + `"}]`),
		"the id of a resource": source(`"resources": [{"id": "B", "type": "directory", "path": "/b"}]`),
		"the type of setting":  source(`"settings": {"port": {"type": "quantity"}}`),
		"many settings":        source(`"settings": {` + many(`"s%d": {"type": "string"}`, 25) + `}, "claims": ["tcp:${zzz}"]`),
		"another instance":     source(`"instances": {"db": {"of": "b"}}, "claims": ["tcp:${instances.other.port}"]`),
		"a name among two":     source(`"instances": {"db": {"of": "b"}}, "claims": ["tcp:${nothing}"]`),
		"many instances":       source(`"instances": {` + many(`"i%d": {"of": "b"}`, 4097) + `}`),
	}
}
