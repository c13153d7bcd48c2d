package javascript_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/javascript"
	"noxmesh/internal/fault"
)

func treeOf(texts map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range texts {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

// What a package ships, by what its package.json says.
func TestWhatAPackageShips(t *testing.T) {
	t.Parallel()
	beside := []string{"index.js", "main.js", "lib/index.js", "lib/a.js", "lib/a.d.ts", "lib/a.test.js", "README.md", "node_modules/x/index.js", ".eslintrc.json", ".cache/x", "dist/a/b.js", "module.json"}
	for says, want := range map[string]string{
		`{"name": "a"}`:                                                               ".eslintrc.json dist/a/b.js index.js lib/a.d.ts lib/a.js lib/index.js main.js",
		`{"name": "a", "files": []}`:                                                  "index.js",
		`{"name": "a", "files": ["lib"]}`:                                             "index.js lib/a.d.ts lib/a.js lib/index.js",
		`{"name": "a", "files": ["./lib/", "!lib/*.d.ts"]}`:                           "index.js lib/a.js lib/index.js",
		`{"name": "a", "files": ["dist/*"]}`:                                          "dist/a/b.js index.js",
		`{"name": "a", "files": ["*.js"]}`:                                            "index.js main.js",
		`{"name": "a", "files": ["."]}`:                                               ".cache/x .eslintrc.json dist/a/b.js index.js lib/a.d.ts lib/a.js lib/index.js main.js",
		`{"name": "a", "files": [], "main": "lib"}`:                                   "index.js lib/index.js",
		`{"name": "a", "files": [], "main": "./main", "types": "lib/a.d.ts"}`:         "index.js lib/a.d.ts main.js",
		`{"name": "a", "files": [], "exports": {"./*": {"import": ["./dist/*.js"]}}}`: "dist/a/b.js index.js",
		`{"private": true}`:                                                           "there is no package.json with a name in the folder: it is what others import it by",
	} {
		tree := treeOf(map[string]string{"package.json": says})
		for _, file := range beside {
			tree[file] = &fstest.MapFile{}
		}
		files, err := javascript.Language{}.Library(tree)
		got := strings.TrimSuffix(strings.ReplaceAll(strings.Join(files, " ")+" ", "package.json ", ""), " ")
		if err != nil {
			got = err.Error()
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: %s", says, fault.KindOf(err))
			}
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", says, got, want)
		}
	}
}

// The packages of a workspace are each their own.
func TestTheLibraryOfAWorkspace(t *testing.T) {
	t.Parallel()
	tree := treeOf(map[string]string{
		"package.json": `{"name": "root", "files": ["packages", "x.js"], "workspaces": ["packages/*"]}`, "x.js": "",
		"packages/a/package.json": `{"name": "@t/a", "files": ["a.js"]}`, "packages/a/a.js": "", "packages/a/b.js": "",
		"packages/a/a/package.json": `{"type": "module"}`,
	})
	files, err := javascript.Language{}.Library(tree)
	if got := strings.Join(files, " "); err != nil || got != "package.json packages/a/a.js packages/a/package.json x.js" {
		t.Errorf("%s, %v", got, err)
	}
	w, err := javascript.Language{}.Wire(imports.Laying{Tree: imports.Folder{At: "/build", Files: treeOf(nil)}, Laid: []imports.Folder{{At: "/mesh/root/javascript", Files: tree}}, Made: "/made"})
	if err != nil || w.Links["node_modules/@t/a"] != "/mesh/root/javascript/packages/a" || w.Links["node_modules/root"] != "/mesh/root/javascript" || w.Top["node_modules"] != "/made/node_modules" {
		t.Errorf("%+v, %v", w, err)
	}
}
