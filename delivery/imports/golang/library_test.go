package golang_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/golang"
	"noxmesh/internal/fault"
)

func treeOf(texts map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range texts {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

// What a package embeds belongs to what others compile against, as the go
// command takes it.
func TestWhatIsEmbedded(t *testing.T) {
	t.Parallel()
	beside := map[string]string{
		"go.mod": "module m\n", "a.txt": "", "b c.txt": "", "dir/x": "", "dir/.y": "", "dir/_z/w": "", "dir/sub/v": "", "dir/other/go.mod": "module o\n", "dir/other/u": "", "[a].txt": "", "testdata/t": "",
	}
	for line, want := range map[string]string{
		"a.txt":                                "a.txt",
		"*.txt":                                "[a].txt|a.txt|b c.txt",
		`"b c.txt" a.txt`:                      "a.txt|b c.txt",
		"`b c.txt`":                            "b c.txt",
		"dir":                                  "dir/sub/v|dir/x",
		"all:dir":                              "dir/.y|dir/_z/w|dir/sub/v|dir/x",
		"dir/*":                                "dir/.y|dir/_z/w|dir/other/u|dir/sub/v|dir/x",
		`\[a\].txt`:                            "[a].txt",
		"testdata":                             "testdata/t",
		"none":                                 `m.go:5: go:embed names "none", and there is no such file`,
		"../a.txt":                             `m.go:5: go:embed names "../a.txt", which is no path below the package's folder`,
		"/a.txt":                               `m.go:5: go:embed names "/a.txt", which is no path below the package's folder`,
		`"a.txt`:                               "m.go:5: a string in go:embed has no end",
		"[":                                    `m.go:5: go:embed names "[": syntax error in pattern`,
		"a.txt\nvar S = `\n//go:embed none\n`": "a.txt",
	} {
		tree := treeOf(beside)
		tree["m.go"] = &fstest.MapFile{Data: []byte("package m\n\nimport _ \"embed\"\n\n//go:embed " + line + "\nvar F string\n")}
		files, err := golang.Language{}.Library(tree)
		got := strings.Join(files, "|")
		if err != nil {
			got = err.Error()
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: %s", line, fault.KindOf(err))
			}
		}
		for _, always := range []string{"dir/other/go.mod", "go.mod", "m.go"} {
			got = strings.ReplaceAll("|"+got+"|", "|"+always+"|", "|")
			got = strings.Trim(got, "|")
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", line, got, want)
		}
	}
}

// What the go command is shown.
func TestWiring(t *testing.T) {
	t.Parallel()
	lib := imports.Folder{At: "/mesh/lib/go", Files: treeOf(map[string]string{
		"go.mod": "module example.com/lib\n\ngo 1.25.1\n\nrequire example.org/none v1.0.0\n", "sub/go.mod": "module example.com/lib/sub\n",
	})}
	app := imports.Folder{At: "/build", Files: treeOf(map[string]string{
		"go.mod":             "module \"example.com/app\"\n\ngo 1.24\n\nrequire (\n\texample.com/lib v1.2.3 // why\n\texample.org/third v1.0.0\n)\n\nreplace example.com/lib/sub v0.1.0 => ../sub\n\nretract [v1.0.0, v1.1.0]\n",
		"vendor/modules.txt": "# example.com/lib v1.2.3\n## explicit\nexample.com/lib\n# example.org/third v1.0.0\n## explicit; go 1.20\nexample.org/third/x\n# example.org/third/v2 v2.0.0\nexample.org/third/v2\n# example.com/lib/sub v0.1.0 => ../sub\n",
		"tool/go.mod":        "module example.com/tool\n",
	})}
	got, err := golang.Language{}.Wire(imports.Laying{Tree: app, Laid: []imports.Folder{lib}, Made: "/made"})
	if err != nil {
		t.Fatal(err)
	}
	want := imports.Wiring{
		Env: [][2]string{{"GOWORK", "/made/go.work"}, {"GOFLAGS", "-overlay=/made/overlay.json"}},
		Files: map[string]string{
			"go.work":            "go 1.25.1\nuse /mesh/lib/go\nuse /mesh/lib/go/sub\nuse /build\n",
			"go.mod.1":           "module example.com/lib\ngo 1.25.1\n",
			"go.mod.2":           "module example.com/lib/sub\n",
			"go.mod.3":           "module example.com/app\ngo 1.24\nrequire example.org/third v1.0.0\n",
			"overlay.json":       `{"Replace":{"/build/go.mod":"/made/go.mod.3","/mesh/lib/go/go.mod":"/made/go.mod.1","/mesh/lib/go/sub/go.mod":"/made/go.mod.2"}}`,
			"vendor/modules.txt": "## workspace\n# example.org/third v1.0.0\n## explicit; go 1.20\nexample.org/third/x\n# example.org/third/v2 v2.0.0\nexample.org/third/v2\n",
		},
		Links: map[string]string{"vendor/example.org/third": "/build/vendor/example.org/third"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for name, c := range map[string]struct{ file, text, why string }{
		"go.mod":       {"go.mod", "module\n", "go.mod:1"},
		"go.work":      {"go.work", "use (\n", "go.work:1"},
		"uses outside": {"go.work", "use ../x\n", `go.work:1: it uses "../x", outside of the module's folder`},
		"uses nothing": {"go.work", "use ./x\n", `read "x/go.mod"`},
	} {
		_, err := golang.Language{}.Wire(imports.Laying{Tree: imports.Folder{At: "/build", Files: treeOf(map[string]string{c.file: c.text})}, Made: "/made"})
		if err == nil || !strings.Contains(err.Error(), c.why) || fault.KindOf(err) == fault.Unavailable {
			t.Errorf("%s: %v, want %s", name, err, c.why)
		}
	}
}
