package golang_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/golang"
	"noxmesh/delivery/imports/importstest"
	"noxmesh/internal/fault"
	"noxmesh/internal/fault/faulttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestEveryErrorIsShown: each error text stands in a golden file, with what it is said of.
func TestEveryErrorIsShown(t *testing.T) {
	t.Parallel()
	faulttest.Golden(t, *update, importstest.Faults(t, golang.Language{}, badFiles())+badTrees(), notSaid()...)
}

// notSaid is what nothing brings about, and what is said of a tree that cannot be read.
func notSaid() []string {
	return []string{"look at %q", "read what %q embeds", "write what the go command is shown", " is no string"}
}

// badTrees is what is said of trees that are no libraries, or cannot be built against one.
func badTrees() string {
	var said strings.Builder
	library := func(files map[string]string) {
		tree := fstest.MapFS{}
		for name, text := range files {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		_, err := golang.Language{}.Library(tree)
		fmt.Fprintf(&said, "library: %v (%s)\n", err, fault.HintOf(err))
	}
	library(nil)
	library(map[string]string{"go.mod": "module a\n"})
	for _, pattern := range []string{"\"a", "/a", "a[", "none"} {
		library(map[string]string{"go.mod": "module a\n", "a.go": "package a\n\nimport _ \"embed\"\n\n//go:embed " + pattern + "\nvar x string\n"})
	}
	tree := fstest.MapFS{"go.mod": {Data: []byte("module a\n")}, "go.work": {Data: []byte("use ../b\n")}}
	_, err := golang.Language{}.Wire(imports.Laying{Tree: imports.Folder{At: "/build", Files: tree}, Made: "/made"})
	fmt.Fprintf(&said, "wiring: %v\n", err)
	return said.String()
}

func badFiles() map[string]map[string]string {
	long := strings.Repeat
	bad := map[string]map[string]string{
		"a long path":            {"go.mod": "module a\n", long("a/", 2100) + "a.go": "package a\n"},
		"a deep path":            {"go.mod": "module a\n", long("a/", 300) + "a.go": "package a\n"},
		"a large file":           {"go.mod": "module a\n", "a.go": long(" ", imports.FileLimit) + "package a\n"},
		"a large go.mod":         {"go.mod": "module a\n" + long("\n", imports.FileLimit)},
		"a file of imports":      {"go.mod": "module a\n", "a.go": "package a\n" + long("import \"b\"\n", imports.FileLimit/11)},
		"outside":                {"a.go": "package a\n\nimport \"../b\"\n"},
		"beside, in a Go module": {"go.mod": "module a\n", "a.go": "package a\n\nimport \"./b\"\n"},
	}
	for i, text := range []string{
		"\xff", "package a\x00", "package\n", "//go:build (\n\npackage a\n", "//go:build a\n//go:build b\n\npackage a\n", "package a\n\nimport \"\"\n", "package a\n\nimport \"a b\"\n", "package a\n\nimport \"a/../b\"\n",
		"package a\n\nimport \"" + long("a", 5000) + "\"\n",
	} {
		bad[fmt.Sprintf("code %d", i)] = map[string]string{"go.mod": "module a\n", "a.go": text}
	}
	for i, text := range []string{
		"", "module a\nrequire b\n", "module a b\n", "module a\nmodule b\n", "module a\nreplace b\n", "module a\nreplace b => ./c v1\n", "module a\nreplace b => c\n", "module a\nrequire (\n) b\n", "module a\nrequire (\n", "module a /* b */\n",
		"module \"\\q\"\n", "module \"a\n", "module a\nrequire b, v1\n", "module a\nrequire ( b v1\n)\n", "module a\n\x01\n", "module a\nuse a => b\n", "module `a\n", "module a(b\n", "module [a\n",
	} {
		bad[fmt.Sprintf("go.mod %02d", i)] = map[string]string{"go.mod": text, "a.go": "package a\n"}
	}
	return bad
}
