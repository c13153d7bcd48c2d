package api

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/identity"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

const page = "../docs/openapi.json"

// The description that is published is that of the table.
func TestReference(t *testing.T) {
	t.Parallel()
	var now strings.Builder
	e := json.NewEncoder(&now)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(OpenAPI()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(published), now.String()); diff != "" {
		t.Errorf("%s is out of date: make docs writes it (-page +now):\n%s", page, diff)
	}
}

type description struct {
	Paths map[string]map[string]struct {
		OperationID string              `json:"operationId"`
		Summary     string              `json:"summary"`
		Role        string              `json:"x-role"`
		Security    []map[string][]any  `json:"security"`
		Responses   map[string]struct{} `json:"responses"`
		Parameters  []struct {
			Name     string `json:"name"`
			In       string `json:"in"`
			Required bool   `json:"required"`
		} `json:"parameters"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Properties map[string]map[string]any `json:"properties"`
			Required   []string                  `json:"required"`
		} `json:"schemas"`
	} `json:"components"`
}

// The description is whole in itself: each reference leads somewhere, each name
// in a path is a parameter, and nothing has two names.
func TestTheDescriptionHoldsTogether(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	refs := regexp.MustCompile(`"\$ref":"([^"]*)"`).FindAllStringSubmatch(string(text), -1)
	if len(refs) < len(Table()) {
		t.Errorf("only %d references", len(refs))
	}
	for _, ref := range refs {
		name, ok := strings.CutPrefix(ref[1], "#/components/schemas/")
		if _, there := d.Components.Schemas[name]; !ok || !there {
			t.Errorf("%s leads nowhere", ref[1])
		}
	}
	for name, schema := range d.Components.Schemas {
		for field, of := range schema.Properties {
			if of["type"] == nil && of["$ref"] == nil {
				t.Errorf("the description has no word for %s of %s", field, name)
			}
		}
		for _, field := range schema.Required {
			if _, ok := schema.Properties[field]; !ok {
				t.Errorf("%s requires %q and has no such field", name, field)
			}
		}
	}
	var ids []string
	for path, methods := range d.Paths {
		for method, op := range methods {
			ids = append(ids, op.OperationID)
			var inPath []string
			for _, p := range op.Parameters {
				if p.In == "path" {
					inPath = append(inPath, "{"+p.Name+"}")
				}
				if p.Required != (p.In == "path") {
					t.Errorf("%s %s: %s is required: %v", method, path, p.Name, p.Required)
				}
			}
			wanted := regexp.MustCompile(`\{[^}]*\}`).FindAllString(path, -1)
			slices.Sort(inPath)
			slices.Sort(wanted)
			if !slices.Equal(inPath, wanted) {
				t.Errorf("%s %s has the parameters %v", method, path, inPath)
			}
			if op.Summary == "" || len(op.Responses) != 2 || (len(op.Security) == 0) != (op.Role == string(identity.Anyone)) {
				t.Errorf("%s %s is not whole: %+v", method, path, op)
			}
		}
	}
	slices.Sort(ids)
	if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) || n != len(Table()) {
		t.Errorf("%d operations of %d rows: %v", n, len(Table()), ids)
	}
}
