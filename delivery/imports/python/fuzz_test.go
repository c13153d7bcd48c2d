package python_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/python"
)

// seeds is files of each kind that is read.
func seeds() [][2]string {
	return [][2]string{
		{"a.py", "import a.b as c, d; from . import e\nfrom f import (g, h as i,)\nfrom ..j import *\n"},
		{"a.py", "try:\n\timport a\nexcept* A as b: pass\nelse: pass\nfinally:\n  with b as c: import d\n"},
		{"a.py", "match x:\n  case {'a': 1, **b} if c: import a\n  case _: pass\ntype X[T: int] = T\nlazy import z\n"},
		{"a.py", "x = f'{a!r:>{b}} {{ {c=} {\"d\" f\"{e}\"}' rb'\\x' '''\n''' f'''{\n__import__('f')\n:%d}'''\n"},
		{"a.py", "@a\nasync def f(a, /, *b, c: int = 1, **d) -> x: return lambda *e, f=1: (yield)\n"},
		{"a.py", "# coding: latin-1\n'\xe9'\nimport_module('..a', package='b.c'); __import__('d', {}, {}, [], 1)\n"},
		{"a.py", "\ufeffif a:\r\n\timport b \\\r\n , c\r\n\f\r\n  # d\r0x_1f + 1_0.5e-3j if 1else 0b1\n"},
		{"a.py", "x[1:2, ::3, ...] += {**a, 1: [*b]}, {c}\nraise A from b\nglobal a, b\ndel (a), b\n"},
		{"pyproject.toml", "[project]\nname = \"a\" # b\n[tool.hatch.build.targets.wheel]\npackages = [\"src/a\", '''b''', \"\"\"\\\n  c\\u00e9\"\"\"]\n[[x]]\ny.z = {a = 1, 'b.c' = [true, 2020-01-01 00:00:00]}\n[[x]]\n"},
		{"pyproject.toml", "[tool.setuptools]\npackages = ['a.b']\npackage-dir = {'' = 'lib', a = 'x'}\npy-modules = []\n[tool.setuptools.packages.find]\n"},
		{"setup.cfg", "[metadata]\nname: a\n[options]\npackages = find:\npackage_dir =\n  = src\n# c\n[options.packages.find]\nwhere = src\nexclude = a*, b\n"},
		{"setup.py", "from setuptools import setup, find_packages\nsetup(name='a', packages=find_packages('src', exclude=('b',)), package_dir={'': 'src'}, py_modules=['c'])\n"},
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	if n := len(seeds()); n != 12 {
		t.Errorf("%d seeds", n)
	}
	for i, s := range seeds() {
		if f := read("", s[0], s[1]).Faults; (len(f) > 0) != (i == 9) {
			t.Errorf("seed %d: %v", i, f)
		}
	}
}

// read reads one file among a few.
func read(folder, name, text string) imports.Found {
	l := python.Language{}
	return l.Read(imports.Input{Folder: folder, Files: []imports.File{
		{Path: "m/" + name, Text: []byte(text)},
		{Path: "m/src/a/b/__init__.py"},
		{Path: "m/lib/a/c.py"},
		{Path: "m/a/__init__.py"},
		{Path: "m/tests/test_a.py", Text: []byte("import z\n")},
	}})
}

// FuzzRead checks that reading ends, that places lie in their files, and that what was found is in its one order.
func FuzzRead(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if name != "a.py" && name != "pyproject.toml" && name != "setup.cfg" && name != "setup.py" {
			name = "a.py"
		}
		lines := 1 + strings.Count(text, "\n") + strings.Count(text, "\r")
		for _, folder := range []string{"", "m", "m/src/a"} {
			found := read(folder, name, text)
			if d := cmp.Diff(found, found.Sorted(python.Language{}.Owners)); d != "" {
				t.Fatal(d)
			}
			var places []imports.Place
			for _, i := range found.Imports {
				places = append(places, i.At)
				if i.Name == "" && i.Path == "" || i.Path != "" && folder == "" {
					t.Errorf("an import of %+v", i)
				}
			}
			for _, x := range found.Faults {
				places = append(places, x.At)
			}
			for _, p := range places {
				if p.Line < 0 || p.Line > lines {
					t.Errorf("%s is behind the end, of %d lines", p, lines)
				}
			}
		}
	})
}

// TestGenerated compares files that are made of statements whose imports are known with what is read of them.
func TestGenerated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]bool{}
		name := rapid.StringMatching(`q[a-z]{1,3}(\.[a-z]{1,2}x){0,2}`)
		var b strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "statements") {
			statement(t, &b, name, want)
		}
		var all []string
		found := read("m", "x.py", b.String())
		for _, i := range found.Imports {
			if i.Name != "z" {
				all = append(all, i.Name)
			}
		}
		var model []string
		for n := range want {
			model = append(model, n)
		}
		slices.Sort(model)
		if d := cmp.Diff(model, all); d != "" || len(found.Faults) > 0 {
			t.Fatalf("%s%v\n%s", d, found.Faults, b.String())
		}
	})
}

// statement writes one statement, or text that is none but looks like one.
func statement(t *rapid.T, b *strings.Builder, name *rapid.Generator[string], want map[string]bool) {
	n := name.Draw(t, "name")
	indent := rapid.SampledFrom([]string{"", "if x:\n  ", "def f():\n\t", "try:\n  pass\nexcept E: ", "for x in y: z; "}).Draw(t, "in")
	form := rapid.SampledFrom([]string{
		"import %", "import % as y", "from % import *", "import_module('%')", "f'{__import__(\"%\")}'", "import \\\n %",
		"'import %'", "# import %", "'''\nimport %\n'''", "f'import %'", "from .% import y", "x = \"\\\"; import %\"", "import_module(% + y)",
	}).Draw(t, "form")
	if strings.Contains(form, "#") || strings.HasPrefix(form, "'''") {
		indent = ""
	}
	b.WriteString(indent + strings.ReplaceAll(form, "%", n) + "\n")
	switch {
	case strings.ContainsAny(form, "#.+") || strings.Contains(form, "; ") || strings.HasPrefix(form, "'") || strings.HasPrefix(form, "f'i"):
	default:
		want[n] = true
	}
}

// BenchmarkRead reads a module of a thousand generated files.
func BenchmarkRead(b *testing.B) {
	var in imports.Input
	size := 0
	for i := range 1000 {
		var text strings.Builder
		for j := range 40 {
			n := "q" + string(rune('a'+i%26)) + string(rune('a'+j%26))
			text.WriteString("from " + n + ".core import (\n    one,\n    two as three,\n)\n\n\ndef f_" + n + "(x: int, *, y=None) -> str:\n    \"\"\"Words about it.\"\"\"\n" +
				"    value = [x + 1, {'a': (y or 2.5)}, f\"{x!r:>{y}}\"]\n    return value[0:1] if y else None\n\n")
		}
		in.Files = append(in.Files, imports.File{Path: "src/p/" + string(rune('a'+i%26)) + "/m" + strings.Repeat("x", i/26) + ".py", Text: []byte(text.String())})
		size += text.Len()
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if f := (python.Language{}).Read(in); len(f.Faults) > 0 {
			b.Fatal(f.Faults)
		}
	}
}
