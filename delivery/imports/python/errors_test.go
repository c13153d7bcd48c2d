package python_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/importstest"
	"noxmesh/delivery/imports/python"
	"noxmesh/internal/fault"
	"noxmesh/internal/fault/faulttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestEveryErrorIsShown: each error text stands in a golden file, with what it is said of.
func TestEveryErrorIsShown(t *testing.T) {
	t.Parallel()
	faulttest.Golden(t, *update, importstest.Faults(t, python.Language{}, badFiles())+badTrees(), notSaid()...)
}

// notSaid is what nothing brings about.
func notSaid() []string { return nil }

// badTrees is what is said of a tree that is no library.
func badTrees() string {
	_, err := python.Language{}.Library(fstest.MapFS{})
	return fmt.Sprintf("library: %v (%s)\n", err, fault.HintOf(err))
}

func badFiles() map[string]map[string]string {
	long := strings.Repeat
	bad := map[string]map[string]string{}
	for i, text := range []string{
		long("#", imports.FileLimit+1), "a\x00", "\ufeff# coding: latin-1\n", "# coding: euc-jp\n'\xa4'\n", "# coding: no-such\n", "x = '\xff'\n", "x = \\ 1\n", "x = \\", "if a:\n        b\n\tc\n", "if a:\n\tb\n        c\n", "if a:\n    b\n  c\n",
		"x = (\n", "x = a ? b\n", "x = $\n", long("(", 201) + long(")", 201), "x = 1)\n", "x = (1]\n", "x = 0777\n", "x = 1__0\n", "x = 0b12\n", "x = 1a\n", "if a:\nb\n", "a\n  b\n", "try: a\nb\n", "@a\nb = 1\n", "if a b\n", "print 'a'\n", "a b\n", "a = (b 'c')\n", "(a\nif)\n",
		"import\n", "from a\n", "x = 'a\nb'\n", "b'é'\n", "x = '''a\n", "'\\x1'\n", "'\\U00110000'\n", "'\\N'\n", "f'a\n", "f'''a\n", "f'{x'\n", "f'}'\n", "f'{x!y}'\n", "x = *\n", "class\n", "lambda x\n", "import a\nif", "x = [a\nimport b\n", "def f(:\n", "class A b\n", "f'{x:a'\n", "if a\n", "while a b\n", "def f() b\n",
	} {
		bad[fmt.Sprintf("code %02d", i)] = map[string]string{"a.py": text}
	}
	blocks, strs := "", "x"
	for i := range 101 {
		blocks += long(" ", i) + "if a:\n"
	}
	for range 200 {
		strs = "f'{" + strs + "}'"
	}
	bad["blocks"] = map[string]string{"a.py": blocks + long(" ", 101) + "b\n"}
	bad["f-strings"] = map[string]string{"a.py": strs + "\n"}
	for i, text := range []string{"[a\n", "a = b\n", "[a]\nb\n", "[]\n", "[a]\n[a]\n"} {
		bad[fmt.Sprintf("cfg %d", i)] = map[string]string{"setup.cfg": text}
	}
	for i, text := range []string{
		"# \x01\n", "a = 1 b\n", "[a\n", "a = 1\n[a.b]\n", "[a]\n[a]\n", "a\n", "a = 1\na = 2\n", "= 1\n", long("a.", 100) + "a = 1\n", "a = " + long("[", 300) + "\n", "a = \n", "a = b\n", "a = [1 2]\n", "a = {b = 1 c = 2}\n", "a = 'b\n", "a = '''b\n", "a = '''\x01'''\n",
		"a = \"\\q\"\n", "a = \"\\u12\"\n", "a = \"\\U00110000\"\n",
	} {
		bad[fmt.Sprintf("toml %02d", i)] = map[string]string{"pyproject.toml": text}
	}
	var where []string
	for i := range 65 {
		where = append(where, fmt.Sprintf("%q", fmt.Sprintf("f%d", i)))
	}
	bad["many folders"] = map[string]string{"pyproject.toml": "[tool.setuptools.packages.find]\nwhere = [" + strings.Join(where, ", ") + "]\n"}
	return bad
}
