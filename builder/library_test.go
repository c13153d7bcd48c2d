package builder

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/archive"
	"noxmesh/delivery/build"
	"noxmesh/internal/oci"
	"noxmesh/manifest"
)

// module is a repository with one module, which is built into the registry's
// repository of that name.
type module struct {
	*repository
	rig  *rig
	name string
}

func (r *rig) module(name string) module {
	return module{newRepository(r.t), r, name}
}

// build commits the files and builds what is there against these.
func (m module) build(files map[string]string, against ...build.Laid) build.Answer {
	m.t.Helper()
	q := m.request(m.commit(files), "")
	q.Module, q.Target = m.name, m.name
	for _, l := range against {
		q.Closure = append(q.Closure, manifest.Input{Module: l.Module, Artifact: l.Artifact, Digest: l.Digest})
	}
	q.Laid, q.Attempt = against, int64(len(m.rig.controller.answers)+1) // the same commit may be built again
	q = identified(m.t, q)
	a := m.rig.build(q)
	m.t.Logf("%s: %s %s %s, tests %s\n%s", m.name, a.Outcome, a.Step, a.Why, a.Tests, m.rig.controller.logOf(q))
	return a
}

// gives builds and gives what others are built against.
func (m module) gives(files map[string]string, against ...build.Laid) build.Laid {
	m.t.Helper()
	a := m.build(files, against...)
	if a.Outcome != build.OutcomeBuilt || len(a.Manifest.Built.Libraries) != 1 {
		m.t.Fatalf("%s: %s %s: %s", m.name, a.Outcome, a.Step, a.Why)
	}
	l := a.Manifest.Built.Libraries[0]
	return build.Laid{Module: m.name, Artifact: l.Artifact, Language: l.Language, Digest: l.Digest, Packed: a.Where.Archives[l.Digest]}
}

// holds is the files of a library, as the registry gives them.
func (r *rig) holds(l build.Laid) []string {
	r.t.Helper()
	var index bytes.Buffer
	err := r.registry.client.PullBlob(r.t.Context(), oci.Blob{Repository: l.Module, Digest: l.Packed.Index, Size: l.Packed.IndexSize}, &index)
	if err != nil {
		r.t.Fatal(err)
	}
	list, err := archive.DecompressIndex(index.Bytes())
	if err != nil {
		r.t.Fatal(err)
	}
	var files []string
	for _, e := range list.Entries {
		if e.Kind != archive.Directory {
			files = append(files, e.Path)
		}
	}
	return files
}

func libraryManifest(module, language string) string {
	return fmt.Sprintf(`{"module": %q, "build": {"artifacts": {"sdk": {"type": "library", "language": %q}}}}`, module, language)
}

const appManifest = `{
  "module": "app",
  "resources": [{"id": "app", "type": "archive", "artifact": "app", "path": "/opt/app"}],
  "build": {"run": [["mkdir", "out"], %s], "artifacts": {"app": {"type": "archive", "path": "out"}}}
}`

// A change of what nobody compiles against moves no digest, and one of what
// somebody does moves it.
func TestALibraryIsWhatOthersCompileAgainst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lib := r.module("lib")
	first := lib.gives(map[string]string{
		"module.json": libraryManifest("lib", "go"), "go.mod": "module example.com/lib\n\ngo 1.24\n",
		"lib.go": "package lib\n\nimport _ \"embed\"\n\n//go:embed words.txt \"two words.txt\"\nvar Words string\n", "words.txt": "w", "two words.txt": "t",
		"lib_test.go": "package lib\n", "README.md": "x", "testdata/x.go": "package x\n", "sub/fast_amd64.s": "// nothing\n", "sub/sub.go": "package sub\n",
		"nested/module.json": `{"module": "nested"}`, "nested/n.go": "package nested\n", "_old/old.go": "package old\n", "vendor/a/a.go": "package a\n",
	})
	want := []string{"go.mod", "lib.go", "sub/fast_amd64.s", "sub/sub.go", "two words.txt", "words.txt"}
	if d := cmp.Diff(want, r.holds(first)); d != "" {
		t.Error(d)
	}
	same := lib.gives(map[string]string{"lib_test.go": "package lib\n\n// changed\n", "README.md": "y", "testdata/x.go": "package y\n"})
	if same != first {
		t.Errorf("a change to a test and a document made %+v of %+v", same, first)
	}
	if moved := lib.gives(map[string]string{"words.txt": "other"}); moved.Digest == first.Digest {
		t.Error("a change of what is embedded moved nothing")
	}
}

// What is imported is found where it is laid out, in the language's own way: a
// version that there is none of, a folder that is replaced on somebody's machine,
// and a vendor folder are in nobody's way, and the tree is as it was.
func TestGoIsBuiltAgainstWhatIsLaidOut(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	r := newRig(t)
	base, lib := r.module("base"), r.module("lib")
	b := base.gives(map[string]string{
		"module.json": libraryManifest("base", "go"), "go.mod": "module example.com/base\n\ngo 1.21\n\nrequire example.org/none v9.9.9\n", "b.go": "package base\n\nconst Name = \"base\"\n",
	})
	l := lib.gives(map[string]string{
		"module.json": libraryManifest("lib", "go"), "go.mod": "module example.com/lib\n\ngo 1.24\n\nrequire example.com/base v0.1.0\n\nreplace example.com/base => ../base\n",
		"lib.go": "package lib\n\nimport \"example.com/base\"\n\nfunc Name() string { return \"lib on \" + base.Name }\n",
	}, b)
	commands := `["go", "build", "-o", "out/app", "."], ["sh", "-c", "out/app >out/says 2>&1; ls -A >out/tree; find /mesh -newermt 1980-01-02 >out/new"]`
	plain := map[string]string{
		"module.json": fmt.Sprintf(appManifest, commands),
		"go.mod":      "module example.com/app\n\ngo 1.23\n\nrequire (\n\texample.com/base v0.2.0 // indirect\n\texample.com/lib v1.2.3\n)\n\nreplace example.com/lib => ../lib\n\nreplace example.com/base => ../../base\n",
		"main.go":     "package main\n\nimport \"example.com/lib\"\n\nfunc main() { print(lib.Name()) }\n",
	}
	vendored := maps.Clone(plain)
	vendored["go.mod"] += "\nrequire example.org/third/party v1.0.0\n"
	vendored["main.go"] = "package main\n\nimport (\n\t\"example.com/lib\"\n\t\"example.org/third/party\"\n)\n\nfunc main() { print(lib.Name(), party.X) }\n"
	vendored["vendor/example.org/third/party/p.go"] = "package party\n\nconst X = \" and third\"\n"
	vendored["vendor/example.com/lib/lib.go"] = "package lib\n\nfunc Name() string { return \"a copy\" }\n"
	vendored["vendor/modules.txt"] = "# example.com/base v0.2.0 => ../../base\n## explicit\n# example.com/lib v1.2.3 => ../lib\n## explicit; go 1.24\nexample.com/lib\n" +
		"# example.org/third/party v1.0.0\n## explicit; go 1.20\nexample.org/third/party\n# example.com/lib => ../lib\n# example.com/base => ../../base\n"
	joined := map[string]string{
		"module.json": strings.Replace(plain["module.json"], `"."`, `"./app"`, 1), "go.work": "go 1.23\n\nuse (\n\t./app\n\t./part\n)\n\nreplace example.com/lib => /home/me/lib\n",
		"app/go.mod": plain["go.mod"], "app/main.go": strings.Replace(plain["main.go"], "import ", "import \"example.com/part\"\n\nimport ", 1) + "\nvar _ = part.X\n",
		"part/go.mod": "module example.com/part\n\ngo 1.23\n", "part/part.go": "package part\n\nconst X = 1\n",
	}
	for name, c := range map[string]struct {
		files      map[string]string
		says, tree string
	}{
		"plain":    {plain, "lib on base", "go.mod main.go module.json out"},
		"vendored": {vendored, "lib on base and third", "go.mod main.go module.json out vendor"},
		"joined":   {joined, "lib on base", "app go.work module.json out part"},
	} {
		m := module{newRepository(t), r, "app"}
		a := m.build(c.files, b, l)
		if a.Outcome != build.OutcomeBuilt {
			t.Errorf("%s: %s: %s", name, a.Outcome, a.Why)
			continue
		}
		if got := r.content(a, "says"); got != c.says {
			t.Errorf("%s: it says %q, want %q", name, got, c.says)
		}
		if got := strings.Join(strings.Fields(r.content(a, "tree")), " "); got != c.tree {
			t.Errorf("%s: the tree is %q", name, got)
		}
		if got := r.content(a, "new"); got != "" {
			t.Errorf("%s: of another time: %s", name, got)
		}
		if d := cmp.Diff([]manifest.Input{{Module: "base", Artifact: "sdk", Digest: b.Digest}, {Module: "lib", Artifact: "sdk", Digest: l.Digest}}, a.Manifest.Built.Closure); d != "" {
			t.Error(d)
		}
	}
}

// content is a file of the archive that a build made.
func (r *rig) content(a build.Answer, file string) string {
	r.t.Helper()
	p := a.Where.Archives[a.Manifest.Resources[0].Digest]
	dir := r.t.TempDir()
	var index bytes.Buffer
	must(r.t, r.registry.client.PullBlob(r.t.Context(), oci.Blob{Repository: a.Manifest.Module, Digest: p.Index, Size: p.IndexSize}, &index))
	idx, err := archive.DecompressIndex(index.Bytes())
	must(r.t, err)
	body, err := os.Create(filepath.Join(dir, "body"))
	must(r.t, err)
	defer body.Close()
	must(r.t, r.registry.client.PullBlob(r.t.Context(), oci.Blob{Repository: a.Manifest.Module, Digest: p.Blob, Size: p.Size}, body))
	to := filepath.Join(dir, "out")
	must(r.t, os.Mkdir(to, 0o755))
	root, err := os.OpenRoot(to)
	must(r.t, err)
	defer root.Close()
	must(r.t, archive.Unpack(r.t.Context(), idx, archive.Local(body, p.Size), root))
	text, err := root.ReadFile(file)
	must(r.t, err)
	return string(text)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What stands against laying out is the surroundings', and named; what a module
// cannot give is its own.
func TestWhatStandsAgainstALibraryIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := r.module("lib").gives(map[string]string{
		"module.json": libraryManifest("lib", "go"), "go.mod": "module example.com/lib\n", "lib.go": "package lib\n",
	})
	other := r.module("other").gives(map[string]string{
		"module.json": libraryManifest("other", "go"), "go.mod": "module example.com/other\n", "other.go": "package other\n",
	})
	app := map[string]string{"module.json": `{"module": "app"}`, "go.mod": "module example.com/app\n"}
	type change func(*build.Laid)
	for name, c := range map[string]struct {
		change change
		why    string
	}{
		"another's bytes": {func(l *build.Laid) { l.Packed = other.Packed; l.Module = "other" }, "is that of " + string(other.Digest)},
		"another's blob":  {func(l *build.Laid) { l.Packed.Blob, l.Packed.Size = good.Packed.Index, good.Packed.IndexSize }, `lay out "sdk" of "lib", ` + string(good.Digest)},
		"not there":       {func(l *build.Laid) { l.Packed.Blob = good.Digest }, "404"},
		"a language":      {func(l *build.Laid) { l.Language = "cobol" }, `this builder lays out no libraries in "cobol" (upgrade the builder)`},
	} {
		l := good
		c.change(&l)
		m := module{newRepository(t), r, "app"}
		if a := m.build(app, l); a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s %s: %s\nwant in it: %s", name, a.Outcome, a.Step, a.Why, c.why)
		}
	}
	m := r.module("app")
	q := m.request(m.commit(app), "")
	q.Attempt, q.Module, q.Closure = 99, "app", []manifest.Input{{Module: "lib", Artifact: "sdk", Digest: good.Digest}}
	if a := r.build(identified(t, q)); a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, "upgrade the controller") {
		t.Errorf("a closure and nothing laid: %s: %s", a.Outcome, a.Why)
	}
	for name, c := range map[string]struct {
		files map[string]string
		why   string
	}{
		"no go.mod":     {map[string]string{"module.json": libraryManifest("app", "go"), "x.go": "package x\n"}, `artifact "sdk": a library in go: there is no go.mod`},
		"tests alone":   {map[string]string{"module.json": libraryManifest("app", "go"), "go.mod": "module x\n", "x_test.go": "package x\n"}, "there is no Go file but tests"},
		"embedded":      {map[string]string{"module.json": libraryManifest("app", "go"), "go.mod": "module x\n", "x.go": "package x\n\n//go:embed none\nvar x string\n"}, `x.go:3: go:embed names "none"`},
		"leads out":     {map[string]string{"module.json": libraryManifest("app", "go"), "go.mod": "module x\n", "x.go": "package x\n\n//go:embed ../none\nvar x string\n"}, "no path below"},
		"no such thing": {map[string]string{"module.json": libraryManifest("app", "container"), "Dockerfile": "FROM x\n"}, `this builder makes none in that language (libraries are made in go`},
	} {
		m := module{newRepository(t), r, "app"}
		if a := m.build(c.files); a.Outcome != build.OutcomeFailed || a.Step != build.StepPack || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s %s: %s\nwant in it: %s", name, a.Outcome, a.Step, a.Why, c.why)
		}
	}
	if !slices.Contains(r.holds(good), "lib.go") {
		t.Error("what was given is gone")
	}
}
