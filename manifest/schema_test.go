package manifest_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"noxmesh/manifest"
)

func compiled(t testing.TB, schema func() ([]byte, error)) *jsonschema.Schema {
	t.Helper()
	text, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(s *jsonschema.Schema, text []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

// unseen is the bad manifests that a schema takes, by what it cannot see.
func unseen() map[string]string {
	return map[string]string{
		"another place in the document": `artifact-not-declared artifact-not-used artifact-no-build id-twice path-in-path path-twice provides-both-scopes
			provides-scope-itself requires-itself requires-what-it-provides instance-of-itself`,
		"names in a template": `template-empty template-open template-shell template-unknown
			secret-unknown secret-not-declared secret-elsewhere secret-mode instance-none instance-no-value instance-unknown instance-with-name instance-with-instance library-twice`,
		"the text":           `duplicate-key instance-twice not-utf8 number-exponent surrogate surrogate-pair-turned`,
		"what the host owns": `path-reserved`,
	}
}

// Whatever of the bad manifests a schema can see it refuses, and each that it
// cannot is listed with why.
func TestTheSchemaRefusesWhatTheDecoderRefuses(t *testing.T) {
	t.Parallel()
	s := compiled(t, manifest.SourceSchema)
	var taken, listed []string
	for name, in := range badManifests(t) {
		if validate(s, in) == nil {
			taken = append(taken, name)
		}
	}
	for _, names := range unseen() {
		listed = append(listed, strings.Fields(names)...)
	}
	slices.Sort(taken)
	slices.Sort(listed)
	if d := cmp.Diff(listed, taken); d != "" {
		t.Errorf("-listed +taken:\n%s", d)
	}
}

func TestTheSchemaTakesWhatTheDecoderTakes(t *testing.T) {
	t.Parallel()
	source, built := compiled(t, manifest.SourceSchema), compiled(t, manifest.BuiltSchema)
	n := 0
	files, err := filepath.Glob(filepath.Join("testdata", "v1", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := source
		if strings.Contains(file, "built") {
			s = built
		}
		if err := validate(s, in); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		n++
	}
	library := `{"module": "a", "build": {"artifacts": {"go": {"type": "library", "language": "go"}, "js": {"type": "library", "language": "js", "path": "lib"}}}}`
	if _, err := manifest.DecodeSource("module.json", []byte(library)); err != nil || validate(source, []byte(library)) != nil {
		t.Errorf("a library: %v, %v", err, validate(source, []byte(library)))
	}
	commands := `{"module": "a", "resources": [{"id": "a", "type": "check", "command": "${settings.a}-raid"}, {"id": "b", "type": "check", "tcp": "a:1", "command": []},
		{"id": "c", "type": "container", "name": "x", "image": "r.example/x@sha256:` + strings.Repeat("0", 64) + `", "command": ["a", ""]},
		{"id": "d", "type": "container", "name": "y", "image": "r.example/x@sha256:` + strings.Repeat("0", 64) + `", "command": ""}, {"id": "e", "type": "directory", "path": "/e", "command": ""}],
		"settings": {"a": {"type": "string"}}}`
	if _, err := manifest.DecodeSource("module.json", []byte(commands)); err != nil || validate(source, []byte(commands)) != nil {
		t.Errorf("commands: %v, %v", err, validate(source, []byte(commands)))
	}
	empty := `{"module": "a", "provides": [{"name": "x", "scope": ""}], "resources": [{"id": "a", "type": "file", "path": "/a", "content": "", "from": "", "mode": "", "target": "", "artifact": ""}],
		"build": {"artifacts": {"js": {"type": "library", "language": "js", "path": ""}}}}`
	if _, err := manifest.DecodeSource("module.json", []byte(empty)); err != nil || validate(source, []byte(empty)) != nil {
		t.Errorf("what says nothing: %v, %v", err, validate(source, []byte(empty)))
	}
	if n < 6 {
		t.Errorf("%d manifests, there were more", n)
	}
}

// An editor shows what each key means.
func TestEveryKeyOfTheSchemaHasWords(t *testing.T) {
	t.Parallel()
	text, err := manifest.SourceSchema()
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	n := 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(path, one)
			}
		case map[string]any:
			properties, _ := v["properties"].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				p, _ := properties[name].(map[string]any)
				if _, typed := v["type"]; !typed {
					continue // a rule about keys that are named elsewhere
				}
				if p["description"] == nil {
					t.Errorf("%s.%s has no description", path, name)
				}
				n++
				walk(path+"."+name, p)
			}
			for _, under := range []string{"items", "additionalProperties", "anyOf"} {
				walk(path, v[under])
			}
		}
	}
	walk("", root)
	if n < 35 {
		t.Errorf("%d keys, there were more", n)
	}
}
