package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/manifest"
)

// The only image of a module has the module's name, and each has its own.
func TestImagesHaveNames(t *testing.T) {
	t.Parallel()
	image := func(name string) string { return `"` + name + `": {"type": "image", "path": "a"}` }
	for artifacts, want := range map[string]map[string]string{
		``: {},
		`"a": {"type": "library", "language": "go"}`: {},
		image("tools"):                 {"mesh.internal/base": "tools", "mesh.internal/base/tools": "tools"},
		image("a") + `, ` + image("b"): {"mesh.internal/base/a": "a", "mesh.internal/base/b": "b"},
	} {
		m, err := manifest.DecodeSource("module.json", []byte(`{"module": "base", "build": {"artifacts": {`+artifacts+`}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, m.Images()); d != "" {
			t.Errorf("%s: %s", artifacts, d)
		}
		b := manifest.Built{Module: "base"}
		for _, artifact := range []string{"a", "b", "tools"} {
			if m.Build.Artifacts[artifact].Type == "image" {
				b.Built.Images = append(b.Built.Images, manifest.Image{Artifact: artifact})
			}
		}
		for _, name := range []string{"mesh.internal/base", "mesh.internal/base/a", "mesh.internal/base/b", "mesh.internal/base/tools", "mesh.internal/other", "base"} {
			if i, there := b.Image(name); there != (want[name] != "") || i.Artifact != want[name] {
				t.Errorf("%s: %s is %+v, %v", artifacts, name, i, there)
			}
		}
	}
	if (manifest.Source{}).Images() != nil {
		t.Error("a module that builds nothing has images")
	}
}

func TestAskedImages(t *testing.T) {
	t.Parallel()
	m, err := manifest.DecodeSource("module.json", []byte(`{"module": "app", "build": {"in": "mesh.internal/tools/go", "artifacts": {
		"a": {"type": "image", "path": "a", "base": "mesh.internal/tools/go"}, "b": {"type": "image", "path": "a", "base": "mesh.internal/base"}, "c": {"type": "image", "path": "a"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []manifest.AskedImage{{Name: "mesh.internal/tools/go"}, {Name: "mesh.internal/base", Artifact: "b"}}
	if d := cmp.Diff(want, m.AskedImages()); d != "" {
		t.Error(d)
	}
}
