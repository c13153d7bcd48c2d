package python_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/python"
	"noxmesh/internal/fault"
)

// What a project gives to others, and where Python finds it.
func TestWhatAProjectGives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ files, gives, path string }{
		"beside":     {"a/__init__.py a/b.py a/py.typed a/test_b.py a/tests/x.py a/conftest.py tests/y.py c.py README.md", "a/__init__.py a/b.py a/py.typed c.py", "/mesh/m/python"},
		"in src":     {"src/a/__init__.py src/a/__pycache__/b.pyc src/a/b.pyc src/a/b.pyi tests/y.py", "src/a/__init__.py src/a/b.pyi", "/mesh/m/python/src"},
		"a stub":     {"a.py a.pyi", "a.py a.pyi", "/mesh/m/python"},
		"a project":  {"pyproject.toml src/a/__init__.py tool.py", "pyproject.toml src/a/__init__.py", "/mesh/m/python/src"},
		"another's":  {"a/__init__.py a/o/module.json a/o/x.py", "a/__init__.py", "/mesh/m/python"},
		"tests only": {"tests/a.py test_b.py", "there is no package and no module that others could import", ""},
	} {
		tree := fstest.MapFS{}
		for file := range strings.FieldsSeq(c.files) {
			tree[file] = &fstest.MapFile{}
		}
		if tree["pyproject.toml"] != nil {
			tree["pyproject.toml"].Data = []byte("[project]\nname = \"a\"\n")
		}
		files, err := python.Language{}.Library(tree)
		if err != nil {
			if err.Error() != c.gives || fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := strings.Join(files, " "); got != c.gives {
			t.Errorf("%s: %s\nwant %s", name, got, c.gives)
		}
		laid := fstest.MapFS{}
		for _, file := range files {
			laid[file] = tree[file]
		}
		w, err := python.Language{}.Wire(imports.Laying{Laid: []imports.Folder{{At: "/mesh/m/python", Files: laid}}, Made: "/made"})
		if err != nil || len(w.Links) > 0 || w.Env[0] != [2]string{"PYTHONPATH", c.path} {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
}
