package javascript_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files reads a text of several files, each behind a line with its name.
func files(text string) map[string]string {
	all := map[string]string{}
	for _, each := range strings.Split(text, "-- ")[1:] {
		name, body, _ := strings.Cut(each, " --\n")
		all[name] = body
	}
	return all
}

func TestMapping(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, folder, text, want string }{
		{"a package", "", "-- package.json --\n{\n\t\"name\": \"@a/b\"}\n-- a.js --\nimport '@a/b/c'; import '@a/bc'", "package.json:2 owns @a/b\na.js:1 @a/bc"},
		{"no name", "", "-- package.json --\n{}", ""},
		{"a broken package", "", "-- package.json --\n{\n\"name\": }\n-- a.js --\nimport 'x'", "a.js:1 x\npackage.json:2 ! \"}\" is not expected here: a value would be right"},
		{
			"paths that leave", "p/a", "-- p/a/x/b.js --\nimport '../../c/d'; import '../..'; import '../../../e.css'; import './f'; import '../g'; import '../../../..'; import '../../../../h'",
			"p/a/x/b.js:1 path e.css\np/a/x/b.js:1 path p\np/a/x/b.js:1 path p/c/d",
		},
		{"the root of the repository", "p", "-- p/b.js --\nimport '..'", "p/b.js:1 path ."},
		{"a folder that begins alike", "p/a", "-- p/a/b.js --\nimport '../ab/c'\n-- p/ab/c.js --\nimport 'no'", "p/a/b.js:1 path p/ab/c"},
		{"into node_modules", "p", "-- p/a.js --\nimport '../node_modules/@b/c/d.css'", "p/a.js:1 @b/c/d.css"},
		{"a reference to a file", "p", "-- p/a.ts --\n/// <reference path='../b.d.ts' />\n/// <reference path=\"c.d.ts\" />\n", "p/a.ts:1 path b.d.ts"},
		{
			"workspaces", "", `-- package.json --
{"name": "root", "workspaces": ["./packages/*", "{x,y}/**", "!x/no"]}
-- packages/a/package.json --
{"name": "a"}
-- packages/a/fixtures/b/package.json --
{"name": "no1"}
-- x/no/package.json --
{"name": "no2"}
-- y/1/2/package.json --
{"name": "y12"}
-- examples/e/package.json --
{"name": "no3"}
-- packages/a/i.js --
import 'root'; import 'y12/z'; import 'no3'`,
			"packages/a/package.json:1 owns a\npackage.json:1 owns root\ny/1/2/package.json:1 owns y12\npackages/a/i.js:1 no3",
		},
		{"workspaces as an object", "", "-- package.json --\n{\"workspaces\": {\"packages\": [\"a\"]}}\n-- a/package.json --\n{\"name\": \"a\"}", "a/package.json:1 owns a"},
		{"workspaces of pnpm", "", `-- pnpm-workspace.yaml --
# packages: no
catalog:
  - 'b'

packages:   # these
  # and
  - 'a/*' # here
  - "c"
- d
  - '!a/no'
more: [ 'b' ]
-- a/1/package.json --
{"name": "a1"}
-- a/no/package.json --
{"name": "no"}
-- b/package.json --
{"name": "b"}
-- c/package.json --
{"name": "c"}
-- d/package.json --
{"name": "d"}`, "a/1/package.json:1 owns a1\nc/package.json:1 owns c\nd/package.json:1 owns d"},
		{"workspaces of pnpm in a row", "", "-- pnpm-workspace.yaml --\n\"packages\": [a, 'b',\n  \"c\" ]\n-- c/package.json --\n{\"name\": \"c\"}\n-- d/package.json --\n{\"name\": \"d\"}", "c/package.json:1 owns c"},
		{
			"workspaces of pnpm that are no list", "", "-- pnpm-workspace.yaml --\na: 1\npackages: *a\n-- a/pnpm-workspace.yaml --\npackages:\n  - a: b",
			"a/pnpm-workspace.yaml:2 ! the list of packages is read where each is a plain or quoted string on its line\npnpm-workspace.yaml:2 ! packages is read where it is a list of strings",
		},
		{
			"packages beside each other", "", "-- a/package.json --\n{\"name\": \"a\"}\n-- b/package.json --\n{\"name\": \"b\"}\n-- test/c/package.json --\n{\"name\": \"c\"}\n-- a/d/package.json --\n{\"name\": \"d\"}",
			"a/package.json:1 owns a\nb/package.json:1 owns b",
		},
		{"above owns nothing", "p", "-- package.json --\n{\"name\": \"root\", \"workspaces\": [\"*\"]}\n-- p/package.json --\n{\"name\": \"p\"}", "p/package.json:1 owns p"},
		{
			"other names", "p/q", `-- package.json --
{"dependencies": {"up": "npm:above@2", "far": "file:lib/far"}}
-- p/q/package.json --
{"devDependencies": {"a": "npm:@b/c@^1", "d": "workspace:e@*", "f": "workspace:^1.2", "g": "file:../g", "h": "link:./h", "i": "workspace:../i", "j": "^1", "k": "github:x/y", "l": "npm:latest"}}
-- p/q/x.js --
import 'a/z'; import 'd'; import 'f'; import 'g/z'; import 'h'; import 'i'; import 'j'; import 'k'; import 'l'; import 'up/z'; import 'far'`,
			"p/q/x.js:1 path lib/far\np/q/x.js:1 path p/g\np/q/x.js:1 path p/i\n" +
				"p/q/x.js:1 @b/c/z\np/q/x.js:1 above/z\np/q/x.js:1 e\np/q/x.js:1 f\np/q/x.js:1 j\np/q/x.js:1 k\np/q/x.js:1 l",
		},
		{
			"imports of a package", "p", `-- package.json --
{"imports": {"#above": "no"}}
-- p/package.json --
{"imports": {"#a": "./a.js", "#b": {"node": "b", "default": ["./b.js", {"x": "c"}]}, "#d/*": "@d/*/e", "#d/f/*.js": "f/*", "#g": null, "#h": "#a", "#i": "node:fs"}}
-- p/x.js --
import '#a'; import '#b'; import '#d/1/2'; import '#d/f/3.js'; import '#d/f/4'; import '#g'; import '#h'; import '#i'; import '#none'; import '#above'`,
			"p/x.js:1 @d/1/2/e\np/x.js:1 @d/f/4/e\np/x.js:1 b\np/x.js:1 c\np/x.js:1 f/3",
		},
		{
			"paths", "p", `-- tsconfig.base.json --
{ /* shared */ "compilerOptions": {"paths": {"@lib/*": ["./lib/*/src",], "@p/*": ["./p/src/*"], "exact": ["lib/exact.ts"], "*": ["./types/*", "./p/types/*"], "n/*": ["./node_modules/n2/*"]}, }, }
-- p/tsconfig.json --
{"extends": "../tsconfig.base"}
-- p/types/typed.d.ts --
-- p/src/x.ts --
import '@lib/a'; import '@p/b'; import 'exact'; import 'exact/c'; import 'typed'; import 'd'; import 'n/e'`,
			"p/src/x.ts:1 path lib/a/src\np/src/x.ts:1 path lib/exact.ts\np/src/x.ts:1 d\np/src/x.ts:1 exact/c\np/src/x.ts:1 n/e",
		},
		{
			"paths from baseUrl", "p", `-- p/tsconfig.json --
{"extends": ["./tsconfig.a.json", "./tsconfig.b.json"]}
-- p/tsconfig.a.json --
{"compilerOptions": {"baseUrl": "src", "paths": {"a": ["no"]}}}
-- p/tsconfig.b.json --
{"extends": "./tsconfig.json", "compilerOptions": {"paths": {"a": ["../../a"], "@/*": ["./*"]}}}
-- p/src/util/index.ts --
-- p/src/b.tsx --
-- p/src/x.ts --
import 'a'; import '@/no'; import 'util/index'; import 'util'; import 'b.js'; import 'b/c'; import 'util/d.css'`,
			"p/src/x.ts:1 path a\np/src/x.ts:1 b/c",
		},
		{"projects beside each other", "", `-- tsconfig.json --
{"files": [], "references": [{"path": "./tsconfig.app.json"}, {"path": "./other"}]}
-- tsconfig.app.json --
{"compilerOptions": {"paths": {"a": ["${configDir}/a"]}}}
-- other/tsconfig.json --
{"compilerOptions": {"paths": {"b": ["./b"]}}}
-- x.ts --
import 'a'; import 'b'`, "x.ts:1 b"},
		{"the nearest configuration", "", "-- tsconfig.json --\n{\"compilerOptions\": {\"paths\": {\"a\": [\"./a\"]}}}\n-- x/jsconfig.json --\n{}\n-- x/a.js --\nimport 'a'\n-- y/a.js --\nimport 'a'", "x/a.js:1 a"},
		{"elements by configuration", "", "-- tsconfig.json --\n{\"compilerOptions\": {\"jsx\": \"react-jsx\"}}\n-- x/tsconfig.json --\n{\"extends\": \"../tsconfig\", \"compilerOptions\": {\"jsxImportSource\": \"@a/b\"}}\n" +
			"-- x/a.tsx --\n\nlet a = <i/>\n-- b.tsx --\nlet b = <i/>\n-- c.tsx --\nlet c = 1", "x/a.tsx:2 @a/b/jsx-runtime\nb.tsx:1 react/jsx-runtime"},
		{"a broken configuration", "", "-- tsconfig.json --\n{\"compilerOptions\": {\n-- a.ts --\nimport 'x'\n-- b.ts --\nimport 'x'", "a.ts:1 x\ntsconfig.json:2 ! the file ends too early: a name in quotes would be right"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(test.want, strings.Join(read(test.folder, files(test.text)), "\n")); d != "" {
				t.Error(d)
			}
		})
	}
}
