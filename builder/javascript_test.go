package builder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/build"
)

// A package is found where it is laid out by import and by require; what it wants
// of what the tree has installed is found there.
func TestJavaScriptIsBuiltAgainstWhatIsLaidOut(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	r := newRig(t)
	base, lib := r.module("base"), r.module("lib")
	b := base.gives(map[string]string{
		"module.json": libraryManifest("base", "javascript"), "package.json": `{"name": "@team/base"}`, "index.js": "exports.name = 'base'\n", "lib/more.js": "", "index.test.js": "", "README.md": "x",
	})
	if d := cmp.Diff([]string{"index.js", "lib/more.js", "package.json"}, r.holds(b)); d != "" {
		t.Error(d)
	}
	l := lib.gives(map[string]string{
		"module.json":   libraryManifest("lib", "javascript"),
		"package.json":  `{"name": "lib", "type": "module", "files": ["dist/**/*.{js,ts}", "!dist/old", "assets"], "exports": {".": {"types": "./types/index.d.ts", "default": "./dist/index.js"}, "./x/*": "./x/*.js"}}`,
		"dist/index.js": "import base from '@team/base'\nimport third from 'third'\nexport const name = () => 'lib on ' + base.name + third\n", "dist/sub/a.js": "", "dist/old/b.js": "", "dist/a.test.js": "",
		"types/index.d.ts": "", "types/other.d.ts": "", "x/deep/y.js": "", "assets/deep/z.css": "", "src/index.ts": "", "webpack.config.js": "",
		"node_modules/third/index.js": "",
	}, b)
	want := "assets/deep/z.css dist/index.js dist/sub/a.js package.json types/index.d.ts x/deep/y.js"
	if got := strings.Join(r.holds(l), " "); got != want {
		t.Errorf("the library holds %s\nwant %s", got, want)
	}
	files := map[string]string{
		"module.json":                 fmt.Sprintf(appManifest, `["sh", "-c", "node main.mjs >out/says && node main.cjs >>out/says"]`),
		"main.mjs":                    "import {name} from 'lib'\nconsole.log(name())\n",
		"main.cjs":                    "console.log(require('@team/base').name)\n",
		"node_modules/third/index.js": "module.exports = ' and third'\n",
	}
	a := module{newRepository(t), r, "app"}.build(files, b, l)
	if a.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s: %s", a.Outcome, a.Why)
	}
	if got := r.content(a, "says"); got != "lib on base and third\nbase\n" {
		t.Errorf("it says %q", got)
	}
	files["node_modules/lib/index.js"] = "a copy"
	if a := (module{newRepository(t), r, "app"}).build(files, b, l); a.Outcome != build.OutcomeFailed || !strings.Contains(a.Why, `"node_modules/lib" is in the tree`) {
		t.Errorf("with a copy in the tree: %s: %s", a.Outcome, a.Why)
	}
}
