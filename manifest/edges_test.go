package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/document"
	"noxmesh/manifest"
)

const edges = `{
  "module": "meshboard",
  "provides": ["board", {"name": "meshboard", "scope": "mesh"}, {"name": "page", "scope": "node"}],
  "requires": ["name-resolution"],
  "instances": {
    "db": {"of": "postgres-database"},
    "web": {"of": "route", "with": {"host": "board", "port": "${settings.port}", "open": true, "weight": 3, "node": "on ${node.name}"}}
  },
  "grants": {
    "view": {"says": "a page of its own", "with": {"title": {"type": "string"}, "public": {"type": "boolean", "default": false}}, "gives": ["url", "admin-url"]},
    "nothing": {}
  },
  "claims": ["tcp:${instances.web.port}"],
  "capabilities": ["systemd", "amd64"],
  "settings": {"port": {"type": "integer", "default": 8080}},
  "resources": [
    {"id": "config", "type": "file", "path": "/etc/meshboard", "content": "DATABASE_URL=${instances.db.url}\nHOST=${instances.web.host}\n"}
  ]
}
`

func TestTheEdgesOfVersion1DecodeForEver(t *testing.T) {
	t.Parallel()
	golden(t, "edges.json", []byte(edges))
	s, err := manifest.DecodeSource("module.json", []byte(edges))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"board", "page"}, manifest.Scoped(s.Provides, manifest.NodeScope)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"meshboard"}, manifest.Scoped(s.Provides, manifest.MeshScope)); d != "" {
		t.Error(d)
	}
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "edges.canonical.json", b)
	built, err := manifest.Derive(s, provenance(), nil)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := built.Encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "edges.built.json", encoded)
	again, err := manifest.DecodeBuilt("built", encoded)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(built, again); d != "" {
		t.Error(d)
	}
	want := map[string][]string{"db": {"url"}, "web": {"host", "port"}}
	if d := cmp.Diff(want, built.Asked()); d != "" {
		t.Error(d)
	}
	content, _ := built.ContentDigest()
	for name, change := range map[string]func(*manifest.Built){
		"scope":        func(b *manifest.Built) { b.Provides = manifest.OnNode("board", "meshboard", "page") },
		"instances":    func(b *manifest.Built) { b.Instances = nil },
		"grants":       func(b *manifest.Built) { b.Grants = nil },
		"capabilities": func(b *manifest.Built) { b.Capabilities = nil },
	} {
		moved := built
		change(&moved)
		if c, _ := moved.ContentDigest(); c == content {
			t.Errorf("%s is no part of the content", name)
		}
	}
}

// What says the same is the same: how a scope is written, and a $schema, move
// no digest.
func TestTwoWaysToWriteItAreOneContent(t *testing.T) {
	t.Parallel()
	contentOf := func(text string) document.Digest {
		s, err := manifest.DecodeSource("module.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		b, err := manifest.Derive(s, provenance(), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := b.ContentDigest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	plain := contentOf(`{"module": "a", "provides": ["x"]}`)
	for _, text := range []string{
		`{"module": "a", "provides": [{"name": "x", "scope": "node"}]}`, `{"module": "a", "provides": [{"name": "x"}]}`,
		`{"$schema": "./module-json.schema.json", "module": "a", "provides": ["x"]}`, `{"module": "a", "provides": ["x"], "instances": {}, "grants": {}, "capabilities": []}`,
	} {
		if got := contentOf(text); got != plain {
			t.Errorf("%s has another content", text)
		}
	}
	if contentOf(`{"module": "a", "provides": [{"name": "x", "scope": "mesh"}]}`) == plain {
		t.Error("the scope is no part of the content")
	}
}

// A value that is nothing but a setting is that setting, with its type; anything
// else that names one is text.
func TestFillValue(t *testing.T) {
	t.Parallel()
	values := map[string]manifest.Value{
		"settings.port": manifest.IntegerValue(8080), "settings.open": manifest.BooleanValue(true),
		"settings.host": manifest.StringValue("${node.name}"), "node.name": manifest.StringValue("laptop"),
	}
	for in, want := range map[manifest.Value]manifest.Value{
		manifest.StringValue("${settings.port}"):                 manifest.IntegerValue(8080),
		manifest.StringValue("${settings.open}"):                 manifest.BooleanValue(true),
		manifest.StringValue("${settings.host}"):                 manifest.StringValue("${node.name}"),
		manifest.StringValue("${settings.port} "):                manifest.StringValue("8080 "),
		manifest.StringValue("${settings.port}${settings.port}"): manifest.StringValue("80808080"),
		manifest.StringValue("$${settings.port}"):                manifest.StringValue("${settings.port}"),
		manifest.StringValue("8080"):                             manifest.StringValue("8080"),
		manifest.IntegerValue(1):                                 manifest.IntegerValue(1),
		manifest.StringValue(""):                                 manifest.StringValue(""),
	} {
		if got, err := manifest.FillValue(in, values); err != nil || got != want {
			t.Errorf("%+v: got %+v, %v; want %+v", in, got, err, want)
		}
	}
	if _, err := manifest.FillValue(manifest.StringValue("${settings.other}"), values); err == nil {
		t.Error("a name that is not there is filled")
	}
}

// The type of what is filled is that of the setting exactly where the whole of
// the value is one substitution.
func TestFillValueAgainstTheRule(t *testing.T) {
	t.Parallel()
	values := map[string]manifest.Value{"settings.a": manifest.IntegerValue(7), "settings.b": manifest.BooleanValue(false)}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"${settings.a}", "${settings.b}", "$${", "x", "$", "}"}), 0, 4).Draw(t, "parts")
		got, err := manifest.FillValue(manifest.StringValue(strings.Join(parts, "")), values)
		if err != nil {
			return // "$" before "${" makes another text of it
		}
		typed := len(parts) == 1 && strings.HasPrefix(parts[0], "${s")
		if (got.Type() != manifest.StringSetting) != typed {
			t.Fatalf("%q is filled as %+v", parts, got)
		}
	})
}
