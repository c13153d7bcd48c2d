package javascript_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/importstest"
	"noxmesh/delivery/imports/javascript"
	"noxmesh/internal/fault"
	"noxmesh/internal/fault/faulttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestEveryErrorIsShown: each error text stands in a golden file, with what it is said of.
func TestEveryErrorIsShown(t *testing.T) {
	t.Parallel()
	faulttest.Golden(t, *update, importstest.Faults(t, javascript.Language{}, badFiles())+badTrees(), notSaid()...)
}

// notSaid is what nothing brings about: package.json is looked at before it is read.
func notSaid() []string { return []string{"the file is not UTF-8: save it as UTF-8"} }

// badTrees is what is said of trees that are no libraries, or cannot be built against one.
func badTrees() string {
	_, none := javascript.Language{}.Library(treeOf(map[string]string{"package.json": "{}"}))
	lib := imports.Folder{At: "/lib", Files: treeOf(map[string]string{"package.json": `{"name": "a"}`})}
	_, there := javascript.Language{}.Wire(imports.Laying{
		Tree: imports.Folder{At: "/build", Files: treeOf(map[string]string{"node_modules/a": ""})}, Laid: []imports.Folder{lib}, Made: "/made",
	})
	return fmt.Sprintf("library: %v\nwiring: %v (%s)\n", none, there, fault.HintOf(there))
}

func badFiles() map[string]map[string]string {
	bad := map[string]map[string]string{
		"large":           {"a.js": strings.Repeat("\n", imports.FileLimit+1)},
		"not UTF-8":       {"a.js": "\n'\xff'"},
		"many scripts":    {"a.vue": strings.Repeat("<script></script>", 9)},
		"many patterns":   {"package.json": `{"workspaces": [` + strings.Repeat(`"a",`, 1000) + `"b"]}`},
		"deep":            {"a.js": strings.Repeat("(", 1001)},
		"pnpm's patterns": {"pnpm-workspace.yaml": "packages:\n  - a: b\n"},
		"pnpm's list":     {"pnpm-workspace.yaml": "packages: *a\n"},
		"an open script":  {"a.vue": "<script>\n"},
		"another script":  {"a.vue": "<script lang=\"coffee\"></script>"},
	}
	for i, text := range []string{
		"a = [b c]", "a = {= }", "class a b", "class a { = }", "class a { get = }", "a = <b c/ d>", "a = <b></c>", "a = <b / c>", "a = <b %>", "a = <b c=d/>",
		"a = <b c='d", "a = <b>{c d}</b>", "a = <b>c", "a = ", "a = )", "a = b + ;", "import.meta; a = import b", "import %", "export %", "export * from b", "}", "a = (b", "if a", "a b", "a = /b", "a = /b\n/",
		"a = `b", "a = `${b c}`", "/* a", "a = \\", "a = 'b\n'", "a = 'b", "\x01", "for a", "while a", "const %", "a = {;}", "class a { % }", "class a { b: c = }", "class a { b! = }", "a = <b></b c>", "({a: 1} b)", "import {a from 'b'", "export {a from 'b'",
	} {
		bad[fmt.Sprintf("code %02d", i)] = map[string]string{"a.js": text}
	}
	for i, text := range []string{"let a: ", "enum a {%}", "type a = {= }", "enum a { = }", "type a", "let a: b<c", "function a(b: ) {}", "type A = =", "abstract class {=}", "declare module 1 {}"} {
		bad[fmt.Sprintf("type %02d", i)] = map[string]string{"a.ts": text}
	}
	for i, text := range []string{"{a: 1}", `{"a" 1}`, `{"a": }`, `{"a": 1 "b": 2}`, `["a" "b"]`, `{"a": "\x"}`, `{} {}`, `{"a": %}`, "{\"a\": \"b\n\"}", `{"a`, `{"\q": 1}`, "\xff", "{'a': 1}"} {
		bad[fmt.Sprintf("json %02d", i)] = map[string]string{"package.json": text}
	}
	return bad
}
