package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Each schema is one, and takes the documents that are kept for ever.
func TestSchemasTakeWhatIsKept(t *testing.T) {
	t.Parallel()
	kept := map[string]string{
		"module": "../manifest/testdata/v1/module.json", "built": "../manifest/testdata/v1/built.json",
		"declaration": "../declaration/testdata/v1/*.json", "report": "../report/testdata/v1/*.json",
		"request": "../delivery/build/testdata/v1/request.json", "answer": "../delivery/build/testdata/v1/[bef]*.json",
	}
	for _, one := range schemas() {
		text, err := one.text()
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
			t.Errorf("%s: %v", one.name, err)
			continue
		}
		files, err := filepath.Glob(kept[one.name])
		if err != nil || len(files) == 0 {
			t.Errorf("%s: nothing is kept, %v", one.name, err)
		}
		for _, file := range files {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(v); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			if m, is := v.(map[string]any); is {
				m["unknown"] = 1
			}
			if s.Validate(v) == nil {
				t.Errorf("%s: with an unknown key it is taken too", file)
			}
		}
	}
}
