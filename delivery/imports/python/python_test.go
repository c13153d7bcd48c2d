package python_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/python"
)

// said is what was found, a line each.
func said(f imports.Found) string {
	var b strings.Builder
	for _, o := range f.Owns {
		fmt.Fprintf(&b, "own %s %s\n", o.Name, o.At)
	}
	for _, i := range f.Imports {
		test := map[bool]string{true: " test"}[i.Test]
		fmt.Fprintf(&b, "%s%s%s %s\n", i.Name, map[bool]string{true: "path "}[i.Path != ""]+i.Path, test, i.At)
	}
	for _, x := range f.Faults {
		fmt.Fprintf(&b, "fault %s %s\n", x.At, x.Why)
	}
	return b.String()
}

// names is what one file asks for: name:line, or the fault.
func names(text string) string {
	f := python.Language{}.Read(imports.Input{Files: []imports.File{{Path: "tests/zz.py", Text: []byte(text)}}})
	var all []string
	for _, x := range f.Faults {
		all = append(all, fmt.Sprintf("fault:%d", x.At.Line))
	}
	for _, i := range f.Imports {
		all = append(all, fmt.Sprintf("%s:%d", i.Name, i.At.Line))
	}
	return strings.Join(all, " ")
}

func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"import", "import a.b as c, d\nimport os.path, e . f\n", "a.b:1 d:1 e.f:2"},
		{"from", "from a.b import c as d, e\nfrom a import *\nfrom os import path\n", "a:2 a.b.c:1 a.b.e:1"},
		{"parentheses", "from a import (\n  b, # c\n  d as e,\n)\n", "a.b:1 a.d:1"},
		{"backslash", "from a \\\n  import b, \\\n  c\nimport \\\n d\n", "a.b:1 a.c:1 d:4"},
		{"semicolons", "x = 1; import a; from b import c;\n", "a:1 b.c:1"},
		{"one-line statements", "if x: import a\nelse: import b; import c\ntry: import d\nexcept ImportError: import e\nwith x as y: import f\nclass A: import g\nwhile 0: import h\n", "a:1 b:2 c:2 d:3 e:4 f:5 g:6 h:7"},
		{"in functions", "def f(a, /, b: int = 1, *c, d, **e) -> int:\n\tif a:\n\t\timport x\n\treturn 1\nasync def g():\n  async with a: from y import z\n", "x:3 y.z:6"},
		{"type checking", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n", "a:3"},
		{"try", "try:\n import a\nexcept (A, B) as e:\n import b\nexcept* C:\n pass\nelse:\n import c\nfinally:\n import d\n", "a:2 b:4 c:8 d:10"},
		{"relative", "from . import a\nfrom .b import c\nfrom ... import d\n", ""},
		{"by name", "import importlib\nimportlib.import_module('a.b')\n__import__(\"c\" 'd', globals())\nimport_module(name='e')\nx.import_module(f'f')\nimport_module(g)\n__import__('h' + x)\nimport_module('.i')\nimport_module('.j', 'k.l')\n__import__('m', level=1)\n__import__('n/o')\n", "a.b:2 cd:3 e:4 k.l.j:9"},
		{"by another name", "from importlib import import_module as load\nload('a')\n", "a:2"},
		{"strings", "'''\nimport a\n'''\n\"import b\"\nb'import c'\nrb'''\nimport d\\'''  '''\n'''\n'''\nx = 'a\\\nimport e'\nimport f\n", "f:12"},
		{"f-strings", "f'{x!r:>{w}} {{import a}} {\"import b\"}' f\"{'a' f'{f\"{y=}\"}'}\"\nf'''{\n__import__(\"c\")\n:d}'''\nf'{x:{{1:2}[1]}}'\nf\"{f\"{\"d\"}\"}\"\nrf'\\{x}\\N'\nf'\\N{DASH}'\nt'{x}'\nimport e\n", "c:3 e:10"},
		{"soft keywords", "match x:\n  case {'a': 1, **b} if c: import a\n  case [1, *_] | A(x=1) as y:\n    import b\nmatch = case = type = 1\ntype X[T: int] = list[T]\nmatch(x)\nmatch.x[1:2]\nprint(match)\nlazy import c\nlazy from d import e\n", "a:2 b:4 c:10 d.e:11"},
		{"decorators", "@a.b(c)\n@d\ndef f(): import x\n@e\nclass A(B, metaclass=C): pass\n", "x:3"},
		{"expressions", "x: int = a if b else lambda c, *d, e=1: (yield)\ny = [*a, b[1:2, ::3, ...], {**c, 1: 2}, {*d}, (e := 1)]\nz = not a is not b not in c\nprint(*a, sep=b, **c)\nawait x\na, = b\nfor a, in b: pass\n[x async for x, in y if z]\nx[a:, b] += -1 @ 2 ** ~3\nraise A from b\nassert a, b\ndel (a), b\nglobal c, d\n1if x else.5e-3j\n0xfor 1\nimport e\n", "e:16"},
		{"a byte order mark and line ends", "\ufeffimport a\r\nimport b\rimport c", "a:1 b:2 c:3"},
		{"form feeds and blank lines", "\f\nif a:\n    \n  # no\n    import b\n\f\nimport c\n", "b:5 c:7"},
		{"latin-1", "# -*- coding: latin-1 -*-\nx = '\xe9'\nimport a\n", "a:3"},
		{"another encoding in ASCII", "# vim: set fileencoding=koi8-r :\nimport a\n", "a:2"},
		{"names outside of ASCII", "import é.ß\n", "é.ß:1"},
		{"type comments and doctests", "x = 1 # type: import a\ndef f():\n  '''\n  >>> import b\n  '''\n", ""},

		{"what came before a fault is kept", "import a\nx = (\nimport b\n", "fault:2 a:1"},
		{"python 2", "print 'a'\n", "fault:1"},
		{"a bracket never closed", "x = (1,\n\n", "fault:1"},
		{"a bracket of another kind", "x = (1]\n", "fault:1"},
		{"a bracket that closes nothing", "x = 1)\n", "fault:1"},
		{"an indented line", "a\n  b\n", "fault:2"},
		{"no block", "if a:\nb\n", "fault:1"},
		{"an indentation of no block", "if a:\n    b\n  c\n", "fault:3"},
		{"tabs and spaces", "if a:\n        b\n\tc\n", "fault:3"},
		{"a string not closed", "x = 'a\nb'\n", "fault:1"},
		{"a long string not closed", "x = '''a\nb'\n", "fault:1"},
		{"a field not closed", "f'{x'\n", "fault:1"},
		{"a single brace", "f'}'\n", "fault:1"},
		{"an empty field", "f'{}'\n", "fault:1"},
		{"an octal of Python 2", "x = 0777\n", "fault:1"},
		{"a name at a number", "x = 1a\n", "fault:1"},
		{"no such sign", "x = a ? b\n", "fault:1"},
		{"a backslash inside of a line", "x = \\ 1\n", "fault:1"},
		{"an escape that is none", "'\\x1'\n", "fault:1"},
		{"bytes outside of ASCII", "b'é'\n", "fault:1"},
		{"an import of nothing", "import\n", "fault:1"},
		{"an import with a comma too many", "from a import b,\n", "fault:1 a.b:1"},
		{"an import in an expression", "x = import a\n", "fault:1"},
		{"else of nothing", "else: a\n", "fault:1"},
		{"try without except", "try: a\nb\n", "fault:2"},
		{"a decorator of nothing", "@a\nb = 1\n", "fault:2"},
		{"a match without case", "match a:\n  b\n", "fault:2"},
		{"two operands", "a b\n", "fault:1"},
		{"two statements on a line", "if a: if b: c\n", "fault:1"},
		{"not UTF-8", "import a\nx = '\xff'\n", "fault:2"},
		{"a zero byte", "a\n\x00\n", "fault:2"},
		{"an encoding that is not known", "# coding: no-such\n", "fault:1"},
		{"an encoding that is not read", "#!/bin/sh\n# coding: euc-jp\n'\xa4'\n", "fault:3"},
		{"too deep", strings.Repeat("(", 201) + strings.Repeat(")", 201), "fault:1"},
		{"as deep as it goes", strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), ""},
	} {
		if got := names(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := names(strings.Repeat("#", 4<<20) + "\n"); got != "fault:0" {
		t.Errorf("a file that is too large: %q", got)
	}
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/layouts.txtar")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	cases := map[string]*imports.Input{}
	want := map[string]string{}
	var order []string
	for _, f := range archive.Files {
		name, file, _ := strings.Cut(f.Name, ":")
		if cases[name] == nil {
			cases[name] = &imports.Input{}
			order = append(order, name)
		}
		switch file {
		case "want":
			want[name] = string(f.Data)
		case "folder":
			cases[name].Folder = strings.TrimSpace(string(f.Data))
		default:
			cases[name].Files = append(cases[name].Files, imports.File{Path: file, Text: f.Data})
		}
	}
	if len(order) != 51 {
		t.Errorf("%d layouts", len(order))
	}
	for _, name := range order {
		for range 5 {
			files := cases[name].Files
			r.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
			if d := cmp.Diff(want[name], said(python.Language{}.Read(*cases[name]))); d != "" {
				t.Errorf("%s: %s", name, d)
				break
			}
		}
	}
}

func TestWants(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"a.py": "in", "a/b.pyi": "in", "a.pyx": "", "pyproject.toml": "in above", "setup.cfg": "in above", "setup.py": "in above",
		"__init__.py": "in above", "a/node_modules/gyp/a.py": "", "{{cookiecutter.name}}/a.py": "", "venv/pyvenv.cfg": "in", "a.toml": "",
	} {
		got := ""
		if (python.Language{}).Wants(file, false) {
			got = "in"
		}
		if (python.Language{}).Wants(file, true) {
			got += " above"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	if d := cmp.Diff([]string{"a.b.c", "a.b", "a"}, python.Language{}.Owners("a.b.c")); d != "" {
		t.Error(d)
	}
}

// TestStandardLibrary asks the Python that is installed for its own list.
func TestStandardLibrary(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("python3", "-c", "import sys; print(sys.version_info[1], *sys.stdlib_module_names)").Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) < 100 || len(words[0]) != 2 || words[0] < "11" || words[0] > "13" {
		t.Skip("no python3 from 3.11 to 3.13 here")
	}
	gone := strings.Fields("_bootsubprocess _crypt _msi _sha256 _sha512 _spwd _tracemalloc aifc asynchat asyncore audioop cgi cgitb chunk crypt distutils imghdr imp lib2to3 mailcap msilib nis nntplib ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib _typing _xxinterpchannels _xxsubinterpreters")
	for _, name := range words[1:] {
		if got := names("import " + name); got != "" && (words[0] == "13" || !slices.Contains(gone, name)) {
			t.Errorf("%s is of the language", name)
		}
	}
}
