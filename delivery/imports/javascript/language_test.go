package javascript_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/javascript"
)

// read is what the files of a module in a folder say, a line for each thing.
func read(folder string, files map[string]string) []string {
	in := imports.Input{Platform: "linux/amd64", Folder: folder}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		in.Files = append(in.Files, imports.File{Path: name, Text: []byte(files[name])})
	}
	found := javascript.Language{}.Read(in)
	rand.Shuffle(len(in.Files), func(i, j int) { in.Files[i], in.Files[j] = in.Files[j], in.Files[i] })
	if d := cmp.Diff(found, javascript.Language{}.Read(in)); d != "" {
		panic("the order of the files matters: " + d)
	}
	var said []string
	for _, o := range found.Owns {
		said = append(said, fmt.Sprintf("%s owns %s", o.At, o.Name))
	}
	for _, i := range found.Imports {
		what := i.Name
		if i.Path != "" {
			what = "path " + i.Path
		}
		if i.Test {
			what += " (test)"
		}
		said = append(said, fmt.Sprintf("%s %s", i.At, what))
	}
	for _, f := range found.Faults {
		said = append(said, fmt.Sprintf("%s ! %s", f.At, f.Why))
	}
	return said
}

// one is the names that one file asks for, with their lines, in the order of names.
func one(file, text string) string {
	var said []string
	for _, each := range read("", map[string]string{file: text}) {
		said = append(said, strings.TrimPrefix(each, file+":"))
	}
	return strings.Join(said, ", ")
}

func TestOwners(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"@a/b/c": "@a/b", "@a/b": "@a/b", "b/c": "b", "b": "b", "b/c/d.js": "b", "a.b-c_d": "a.b-c_d", "JSONStream": "JSONStream",
		"": "", "@a": "", "@/x": "", "@a/": "", "~/x": "", ".x": "", "$lib/x": "", "#x": "", "/x": "", "a b": "", "é": "",
	} {
		if got := strings.Join(javascript.Language{}.Owners(name), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestWants(t *testing.T) {
	t.Parallel()
	l := javascript.Language{}
	for _, name := range []string{
		"a.js", "a.mjs", "a.cjs", "a.jsx", "a.ts", "a.mts", "a.cts", "a.tsx", "a.d.ts", "a.vue", "a.svelte", "x/a.test.ts", "package.json",
		"x/package.json", "tsconfig.json", "x/tsconfig.base.json", "jsconfig.json", "pnpm-workspace.yaml",
	} {
		if !l.Wants(name, false) {
			t.Errorf("%s is not wanted", name)
		}
	}
	for _, name := range []string{"node_modules/a/index.js", "x/node_modules/a/package.json", "a.astro", "a.mdx", "a.json", "a.jsxx", "js", "go.mod"} {
		if l.Wants(name, false) {
			t.Errorf("%s is wanted", name)
		}
	}
	for name, want := range map[string]bool{
		"package.json": true, "tsconfig.json": true, "jsconfig.json": true, "tsconfig.base.json": true,
		"pnpm-workspace.yaml": false, "a.js": false, "a.json": false,
	} {
		if l.Wants(name, true) != want {
			t.Errorf("%s above: want %v", name, want)
		}
	}
	if l.Name() != "javascript" {
		t.Error(l.Name())
	}
}

// TestBuiltin asks Node.js, where there is one, for its own list.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(context.Background(), "node", "-p", "JSON.stringify(require('module').builtinModules)").Output()
	if err != nil {
		t.Skip("there is no node here")
	}
	var names []string
	if err := json.Unmarshal(out, &names); err != nil {
		t.Fatal(err)
	}
	if len(names) < 60 {
		t.Fatal(names)
	}
	for _, name := range names {
		if got := one("a.js", fmt.Sprintf("import %q; import %q", name, strings.TrimSuffix("node:"+name, "node:node:"))); got != "" {
			t.Errorf("%s is asked for: %s", name, got)
		}
	}
	if got := one("a.js", `import "node:sqlite"; import "process/browser"; import "buffer/"; import "sqlite"`); got != "1 buffer/, 1 process/browser, 1 sqlite" {
		t.Error(got)
	}
}

func TestTests(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{
		"a.test.ts", "a.spec.js", "a.test-d.ts", "x/__tests__/a.js", "x/__mocks__/a.js", "test/a.js", "tests/x/a.ts", "e2e/a.ts",
		"vitest.config.ts", "jest.setup.js", "karma.conf.js", "cypress/a.js", "a.cy.ts", "setupTests.ts",
	} {
		files["in/test/"+name] = fmt.Sprintf("import %q", "t-"+strings.NewReplacer("/", "-").Replace(name))
	}
	for _, name := range []string{"a.js", "test.js", "tested/a.js", "latest.ts", "vite.config.ts", "a.stories.tsx", "eslint.config.js", "contest.spec/a.js"} {
		files["in/test/"+name] = fmt.Sprintf("import %q", "c-"+strings.NewReplacer("/", "-").Replace(name))
	}
	for _, said := range read("in/test", files) {
		if strings.Contains(said, " t-") != strings.HasSuffix(said, "(test)") {
			t.Error(said)
		}
	}
	want := []string{"b.js:1 both", "a.test.js:2 only (test)"}
	if d := cmp.Diff(want, read("", map[string]string{"a.test.js": "import 'both'\nimport 'only'", "b.js": "require('both')"})); d != "" {
		t.Error(d)
	}
}
