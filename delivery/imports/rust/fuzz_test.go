package rust_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/rust"
)

// check holds what is found to what holds of whatever is read.
func check(t *testing.T, in imports.Input) {
	t.Helper()
	l := rust.Language{}
	found := l.Read(in)
	if d := cmp.Diff(found, found.Sorted(l.Owners)); d != "" {
		t.Fatal(d)
	}
	lines := map[string]int{}
	for _, file := range in.Files {
		lines[file.Path] = 1 + bytes.Count(file.Text, []byte("\n"))
	}
	within := func(p imports.Place) {
		if n, ok := lines[p.File]; !ok || p.Line < 0 || p.Line > n {
			t.Fatalf("%v, of %d lines", p, n)
		}
	}
	for _, o := range found.Owns {
		within(o.At)
	}
	for _, i := range found.Imports {
		within(i.At)
		if i.Name == "" && i.Path == "" || i.At.Line == 0 {
			t.Fatalf("%+v", i)
		}
	}
	for _, f := range found.Faults {
		within(f.At)
	}
}

func FuzzCode(f *testing.F) {
	seeds := []string{
		"use a::{self, b::*, c as d};\npub use ::b_b::x;\nextern crate c as k;\n",
		"#[cfg(all(test, unix))] mod t { use super::*; fn f() { a::x() } }\n#[path = \"x.rs\"] mod y;\n",
		"fn f<'a>(x: &'a a::X) -> impl T { ('\\'', \"\\\"\", r#\"\"#, b'x', 1.0..2.) }\n",
		"macro_rules! m { ($($x:ident)::*) => { $($x)::*::a::y() } }\nquote! { a::x }\n",
		"/* /* */ */ #![cfg(windows)] #[cfg_attr(feature = \"x\", derive(a::D), path = \"z\")] struct S { #[cfg(windows)] x: M<A, B>, }\n",
		"include!(\"../../x\"); include_str!(\"lib.rs\"); mod lib; mod a { #[path = \"\"] mod b; }\n",
	}
	if len(seeds) != 6 {
		f.Fatalf("%d seeds, want 6", len(seeds))
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		in := files(head + "-- m/src/x.rs\nuse d::x;\n")
		in.Files = append(in.Files, imports.File{Path: "m/src/lib.rs", Text: code})
		check(t, in)
	})
}

func FuzzManifest(f *testing.F) {
	seeds := []string{
		strings.TrimPrefix(head, "-- m/Cargo.toml\n"),
		"package = { name = \"x\", edition.workspace = true }\n[target.'cfg(any(unix, windows))'.dependencies]\na = \"1\" # x\n",
		"[workspace]\nmembers = [\n  \"a\", # x\n]\n[[bin]]\nname = '''\nx'''\n[[bin]]\npath = \"\\u0041\\\n  b\"\n",
		"[package]\nname = \"x\"\nbuild = false\n[dependencies.a]\nworkspace = true\n[dependencies]\n\"b\" = { path = \"..\", package = \"c\", }\n",
	}
	if len(seeds) != 4 {
		f.Fatalf("%d seeds, want 4", len(seeds))
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, manifest []byte) {
		in := files("-- Cargo.toml\n[workspace.dependencies]\na = { package = \"z\" }\n-- m/src/lib.rs\nuse a::x; use b::y;\n-- m/src/main.rs\n-- m/build.rs\n")
		in.Files = append(in.Files, imports.File{Path: "m/Cargo.toml", Text: manifest})
		check(t, in)
	})
}

// TestHostile reads what is made to take long: it ends, and in little time for its size.
func TestHostile(t *testing.T) {
	t.Parallel()
	var chain strings.Builder
	for n := range 2000 {
		fmt.Fprintf(&chain, "-- m/src/m%d.rs\n#[path = \"m%d.rs\"] mod n; use super::*; use a::x;\n", n, n+1)
	}
	for name, code := range map[string]string{
		"nested":     strings.Repeat("{", 1<<18) + strings.Repeat("}", 1<<18),
		"braces":     "use a::" + strings.Repeat("{b::", 1<<16) + "c" + strings.Repeat("}", 1<<16) + ";",
		"attributes": strings.Repeat("#[cfg(windows)] ", 1<<16),
		"conditions": "#[cfg(" + strings.Repeat("not(", 1<<16) + "x" + strings.Repeat(")", 1<<16) + ")] use a::x;",
		"cfg_attr":   "#[" + strings.Repeat("cfg_attr(x, ", 1<<12) + "y" + strings.Repeat(")", 1<<12) + "] use a::x;",
		"path":       "use a" + strings.Repeat("::a", 1<<18) + ";",
		"globs":      strings.Repeat("use crate::*; use self::b_b::*; fn f() { a::x(); c::y() }", 1<<12),
		"aliases":    strings.Repeat("use crate::a::b_b; use crate::b_b::a; fn f() { a::x(); b_b::y() }", 1<<12),
		"comments":   strings.Repeat("/*", 1<<20),
		"open":       strings.Repeat("#[cfg(test)] {", 900) + strings.Repeat("}", 900),
		"chain":      "mod m0;\n" + chain.String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, files(head+"-- m/src/lib.rs\n"+code))
		})
	}
	manifest := head + "x = " + strings.Repeat("[", 1<<18) + "\n"
	if found := (rust.Language{}).Read(files(manifest)); len(found.Faults) != 1 {
		t.Error(found.Faults)
	}
}

// BenchmarkRead reads a package of a thousand modules of a hundred lines each.
func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	text.WriteString(head + "-- m/src/lib.rs\n")
	for n := range 1000 {
		fmt.Fprintf(&text, "pub mod m%d;\n", n)
	}
	for n := range 1000 {
		fmt.Fprintf(&text, "-- m/src/m%d.rs\nuse std::collections::HashMap;\nuse a::{x, y::z};\n", n)
		for f := range 16 {
			fmt.Fprintf(&text, "/// What it does.\npub fn f%d<'a>(x: &'a HashMap<String, b_b::X>) -> Result<(), c::Error> {\n    let y = x.get(\"a::b\").ok_or(c::missing())?;\n    info!(\"{} {}\", y, 'x');\n    Ok(())\n}\n", f)
		}
	}
	in := files(text.String())
	for b.Loop() {
		if found := (rust.Language{}).Read(in); len(found.Imports) != 3 || len(found.Faults) > 0 {
			b.Fatal(found)
		}
	}
}
