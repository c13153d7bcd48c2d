package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/manifest"
)

func TestLinesOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want manifest.Lines
	}{
		"nothing of others": {`{"module": "a", "provides": ["requires"]}`, manifest.Lines{}},
		"on one line":       {`{"module": "a", "requires": ["b", "c"]}`, manifest.Lines{Requires: map[string]int{"b": 1, "c": 1}, Instances: map[string]int{}}},
		"each on its own": {"{\n\"summary\": \"b\",\n\"module\": \"a\",\n\"requires\": [\n\n\"b\",\n\"c\"\n]\n}", manifest.Lines{
			Requires: map[string]int{"b": 6, "c": 7}, Instances: map[string]int{},
		}},
		"with carriage returns": {"{\r\n\"module\": \"a\",\r\n\"requires\": [\r\n\"b\"]}", manifest.Lines{Requires: map[string]int{"b": 4}, Instances: map[string]int{}}},
		"an escaped name":       {"{\"module\": \"a\",\n\"requires\": [\"\\u0062\"]}", manifest.Lines{Requires: map[string]int{"b": 2}, Instances: map[string]int{}}},
		"an instance is where its name is": {"{\"module\": \"a\", \"instances\": {\n\"db\":\n\n{\n\"of\": \"postgres-database\"}\n,\"web\": {\"of\": \"route\"}}}", manifest.Lines{
			Requires: map[string]int{}, Instances: map[string]int{"db": 2, "web": 6},
		}},
		"each image": {"{\"module\": \"a\", \"build\": {\"in\":\n\"golang:1.26\", \"artifacts\": {\n\"same\": {\"type\": \"image\", \"path\": \"a\", \"base\": \"golang:1.26\"},\n\"other\": {\"type\": \"image\", \"path\": \"a\",\n\"base\": \"mesh.internal/b\"}}}}", manifest.Lines{
			Requires: map[string]int{}, Instances: map[string]int{}, In: 1, Bases: map[string]int{"other": 5},
		}},
	} {
		m, err := manifest.DecodeSource("module.json", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, manifest.LinesOf([]byte(c.text), m)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
