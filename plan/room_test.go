package plan

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	"noxmesh/document"
	"noxmesh/manifest"
)

func TestLimitsLeaveRoom(t *testing.T) {
	t.Parallel()
	if rest := declaration.Limits.Bytes - bodyLimit; rest < 4<<10 || rest > 64<<10 {
		t.Fatalf("%d bytes are left for the rest of a declaration", rest)
	}
}

// TestWeightIsNeverLess: what a module is said to weigh is at least what it
// weighs, and not several times as much where it is large.
func TestWeightIsNeverLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,63}`)
		w := &worked{module: name.Draw(t, "module"), build: &artifact.Build{}}
		b := manifest.Built{}
		for i := range rapid.IntRange(0, 5).Draw(t, "resources") {
			r := manifest.BuiltResource{ID: name.Draw(t, "id"), Path: fmt.Sprintf("/%d", i) + rapid.StringMatching(`(/[a-z"\\]{1,9}){0,3}`).Draw(t, "path"), Mode: "0755"}
			switch r.Type = rapid.SampledFrom([]string{"file", "link", "directory", "archive"}).Draw(t, "type"); r.Type {
			case "file":
				text := rapid.StringMatching(`[a-z\x00-\x1f"\\é]{0,300}`).Draw(t, "content")
				r.Content = &text
			case "link":
				r.Target = rapid.StringMatching(`[a-z"\\]{1,200}`).Draw(t, "target")
			case "archive":
				r.Digest = document.Sum([]byte(r.Path))
				w.where.Archives = put(w.where.Archives, r.Digest, declaration.Packed{
					Repository: w.module, Index: r.Digest, IndexSize: 1 << 50, Blob: r.Digest, Size: 1 << 50,
				})
			}
			b.Resources = append(b.Resources, r)
		}
		w.build.Manifest = b
		for _, r := range b.Resources {
			w.resource(r, nil)
		}
		after(w.resources)
		body, err := document.Canonical(declaration.Body{Modules: []declaration.Module{{Module: w.module, Content: document.Sum(nil)}}, Resources: w.resources})
		if err != nil {
			t.Fatal(err)
		}
		where, err := document.Canonical(w.where)
		if err != nil {
			t.Fatal(err)
		}
		frame := len(`{"modules":[],"resources":[]}`) + len(`{"archives":{},"blobs":{},"inline":{}}`)
		if got, is := weight(w), len(body)+len(where)-frame; got < is {
			t.Fatalf("it weighs %d, and is said to weigh %d\n%s\n%s", is, got, body, where)
		}
	})
}

func TestCompileLeavesOutWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	half := func(name, text string) Module {
		m := manifest.Built{Module: name}
		for i := range 33 {
			content := text[:len(text)-2] + fmt.Sprintf("%02d", i)
			m.Resources = append(m.Resources, manifest.BuiltResource{ID: fmt.Sprintf("f%d", i), Type: "file", Path: fmt.Sprintf("/%s/%d", name, i), Content: &content})
		}
		return Module{Name: name, Declared: &artifact.Build{Manifest: m}}
	}
	small := Module{Name: "small", Declared: &artifact.Build{Manifest: manifest.Built{Module: "small"}}}
	text := strings.Repeat("x", declaration.InlineLimit)
	p := Compile(factsOf([]string{"z"}, half("a", text), half("z", text), small))
	if len(p.Body.Modules) != 2 || p.Body.Modules[1].Module != "z" || len(p.LeftOut) != 1 ||
		!strings.HasPrefix(p.LeftOut[0].Why, "with it the declaration would have up to ") {
		t.Fatalf("%v, left out %v, held %v", p.Body.Modules, p.LeftOut, p.Held)
	}

	many := func(name string, n int) Module {
		m := manifest.Built{Module: name}
		for i := range n {
			m.Resources = append(m.Resources, manifest.BuiltResource{ID: fmt.Sprintf("d%d", i), Type: "directory", Path: fmt.Sprintf("/%s%d", name, i)})
		}
		return Module{Name: name, Declared: &artifact.Build{Manifest: m}}
	}
	p = Compile(factsOf(nil, many("a", resourceLimit-1), many("b", 2), small))
	if len(p.Body.Modules) != 2 || len(p.LeftOut) != 1 || p.LeftOut[0] != (Reason{Module: "b", Why: "with it the node would have 10001 resources, at most 10000 go into one declaration"}) {
		t.Fatalf("%v, left out %v", p.Body.Modules, p.LeftOut)
	}
}

func factsOf(had []string, modules ...Module) Facts {
	f := Facts{Mesh: "mesh00000001", Had: had, Modules: modules}
	f.Node.ID, f.Node.Name = "node00000001", "laptop"
	for _, m := range modules {
		f.Assigned = append(f.Assigned, assign(m.Name, f.Node.ID))
	}
	return f
}

func assign(module, node string) mesh.Assignment { return mesh.Assignment{Module: module, Node: node} }
