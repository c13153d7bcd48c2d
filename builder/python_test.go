package builder

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/build"
)

// A Python package is found where it is laid out, whatever its project calls the
// folder; its tests and documents are no part of it.
func TestPythonIsBuiltAgainstWhatIsLaidOut(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	r := newRig(t)
	base, lib := r.module("base"), r.module("lib")
	b := base.gives(map[string]string{"module.json": libraryManifest("base", "python"), "base.py": "NAME = 'base'\n", "setup.py": "from setuptools import setup\n\nsetup(name='base', py_modules=['base'])\n"})
	files := map[string]string{
		"module.json": libraryManifest("lib", "python"), "README.md": "x",
		"pyproject.toml":           "[project]\nname = \"lib\"\n\n[build-system]\nbuild-backend = \"setuptools.build_meta\"\n\n[tool.setuptools]\npackages = [\"lib\", \"lib.part\", \"other\"]\n\n[tool.setuptools.package-dir]\nother = \"elsewhere\"\nlib = \"src/lib\"\n",
		"src/lib/__init__.py":      "import base\n\ndef name():\n    return 'lib on ' + base.NAME\n",
		"src/lib/part/__init__.py": "", "src/lib/words.txt": "words", "src/lib/test_lib.py": "import nothing\n", "src/lib/tests/test_more.py": "x = 1\n",
		"elsewhere/__init__.py": "X = ', and other'\n", "tests/test_x.py": "", "tool.py": "print(1)\n",
	}
	l := lib.gives(files, b)
	want := []string{"elsewhere/__init__.py", "pyproject.toml", "src/lib/__init__.py", "src/lib/part/__init__.py", "src/lib/words.txt"}
	if d := cmp.Diff(want, r.holds(l)); d != "" {
		t.Error(d)
	}
	if same := lib.gives(map[string]string{"src/lib/test_lib.py": "import more\n", "README.md": "y", "tool.py": "print(2)\n", "src/lib/tests/test_more.py": "x = 2\n"}, b); same != l {
		t.Errorf("a change to tests and documents made %+v of %+v", same, l)
	}
	app := module{newRepository(t), r, "app"}
	a := app.build(map[string]string{
		"module.json": fmt.Sprintf(appManifest, `["sh", "-c", "python3 main.py >out/says"]`),
		"main.py":     "import lib\nimport lib.part\nimport other\nprint(lib.name() + other.X)\n",
	}, b, l)
	if a.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s: %s", a.Outcome, a.Why)
	}
	if got := r.content(a, "says"); got != "lib on base, and other\n" {
		t.Errorf("it says %q", got)
	}
}
