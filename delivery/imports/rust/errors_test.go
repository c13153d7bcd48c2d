package rust_test

import (
	"flag"
	"strings"
	"testing"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/importstest"
	"noxmesh/delivery/imports/rust"
	"noxmesh/internal/fault/faulttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestEveryErrorIsShown: each error text stands in a golden file, with what it is said of.
func TestEveryErrorIsShown(t *testing.T) {
	t.Parallel()
	faulttest.Golden(t, *update, importstest.Faults(t, rust.Language{}, badFiles()), notSaid()...)
}

// notSaid is texts that are no errors.
func notSaid() []string { return nil }

func badFiles() map[string]map[string]string {
	const long = "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z."
	cargo := func(text string) map[string]string { return map[string]string{"Cargo.toml": text} }
	code := func(text string) map[string]string {
		return map[string]string{"Cargo.toml": "[package]\nname = \"a\"\n", "src/lib.rs": text}
	}
	return map[string]map[string]string{
		"large":                   code(strings.Repeat("\n", imports.FileLimit+1)),
		"not UTF-8":               code("// \xff\n"),
		"open bracket":            code("fn a() {\n"),
		"closed bracket":          code("\n}\n"),
		"another bracket":         code("fn a() { ) }\n"),
		"open comment":            code("/* a /* */\n"),
		"open text":               code("const A: &str = \"a\n;\n"),
		"open raw text":           code("const A: &str = r#\"a\";\n"),
		"tick":                    code("const A: char = ';\n"),
		"open character":          code("const A: char = '\\n;\n"),
		"no file":                 code("mod b;\n"),
		"deep brackets":           code(strings.Repeat("(", 1001) + strings.Repeat(")", 1001)),
		"more on a line":          cargo("a = \"b\" c\n"),
		"a header not closed":     cargo("[a\n"),
		"a list not closed":       cargo("[[a]\n"),
		"no list":                 cargo("a = \"b\"\n[[a]]\n"),
		"deep tables":             cargo("[" + strings.TrimSuffix(strings.Repeat(long, 20), ".") + "]\n"),
		"no table":                cargo("a = \"b\"\n[a.c]\n"),
		"no key":                  cargo("= 1\n"),
		"no =":                    cargo("a 1\n"),
		"deep values":             cargo("a = " + strings.Repeat("[", 500) + "\n"),
		"no value":                cargo("a ="),
		"no value before a comma": cargo("a = ,\n"),
		"open values":             cargo("a = [1\nb = 2\n"),
		"an open line":            cargo("a = \"b\n"),
		"open lines":              cargo("a = \"\"\"b\n"),
		"a cut escape":            cargo("a = \"\\u1"),
		"an escape of letters":    cargo("a = \"\\u12zz\"\n"),
		"no escape":               cargo("a = \"\\q\"\n"),
	}
}
