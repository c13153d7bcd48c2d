package rust_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/rust"
)

// files is an input that is written as one text: "-- path" begins each file.
func files(text string) imports.Input {
	in := imports.Input{Platform: "linux/amd64", Folder: "m"}
	for part := range strings.SplitSeq("\n"+text, "\n-- ") {
		path, body, _ := strings.Cut(part, "\n")
		if path != "" {
			in.Files = append(in.Files, imports.File{Path: path, Text: []byte(body)})
		}
	}
	return in
}

// said is what was found, a line each.
func said(f imports.Found) []string {
	var all []string
	for _, i := range f.Imports {
		line := i.Name + i.Path
		if i.Test {
			line += " test"
		}
		all = append(all, line+" "+i.At.String())
	}
	for _, f := range f.Faults {
		all = append(all, f.At.String()+" ! "+f.Why)
	}
	return all
}

const head = `-- m/Cargo.toml
[package]
name = "own-name"
edition = "2021"
[dependencies]
a = "1"
b-b = { version = "1" }
c = { package = "other-c", path = "../c" }
[dev-dependencies]
d = "1"
a = "1"
[build-dependencies]
e = "1"
`

func TestCode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, code, want string
	}{
		{"use", "use a::x;\nuse b_b;\npub use c as k;", "a:1 b-b:2 other-c:3"},
		{"use, nested", "pub(crate) use {a::{self, x::{y, z as _}}, ::b_b::*, c};", "a:1 b-b:1 other-c:1"},
		{"use, global", "use ::a::x;\nuse ::{b_b::x, c};", "a:1 b-b:2 other-c:2"},
		{"use of nothing here", "use std::a;\nuse crate::b_b::a;\nuse self::c::x;\nuse super::a;\nuse core::{a, b_b};", ""},
		{"extern crate", "extern crate a;\n#[macro_use] extern crate b_b as q;\nfn f() { q::x() }", "a:1 b-b:2"},
		{"paths", "fn f(x: a::X) -> Vec<b_b::Y> { c::z::<u8>(1) }", "a:1 b-b:1 other-c:1"},
		{"global paths", "fn f(x: &::a::X) { return ::b_b::y(<::c::X as T>::z()) }", "a:1 b-b:1 other-c:1"},
		{"range", "fn f() { for _ in 0..a::MAX {} }", "a:1"},
		{"not the first name", "fn f() { x::a::y(); z.a::<u8>(); Vec::<u8>::a::x(); a::<u8>(); a.b_b() }", ""},
		{"generic path", "type X = <a::Y as Z>::b_b::W;", "a:1"},
		{"macros by path", "fn f() { a::m!(b_b::x); println!(\"{}\", c::y) }", "a:1 b-b:1 other-c:1"},
		{"attributes", "#[a::main]\nfn f() {}\n#[derive(Debug, b_b::D)]\n#[c::x(y)]\nstruct S;", "a:1 b-b:3 other-c:4"},
		{"lints are no paths", "#![allow(a::x)]\n#[warn(b_b::y)] fn f() {}", ""},
		{"raw names", "use r#a::x;\nfn f() { r#b_b::r#type() }", "a:1 b-b:2"},
		{"comments", "// use a::x;\n/* use b_b::y; /* */ c::z */\n/// a::x\n//! b_b::x\nfn f() {}", ""},
		{"texts", "fn f() { \"a::x \\\" a::y\"; r#\"\" b_b::x\"#; b\"c::x\"; br##\"\"# a::x\"##; c\"a::x\"; cr\"a::x\\\"; }", ""},
		{"characters and lifetimes", "fn f<'a>(x: &'a str) { ('\"', b'\"', '\\'', b'\\\\', '\\u{22}'); a::x('a', 'l') }", "a:1"},
		{"numbers", "fn f() { 1.max(2); 1..2; 1.0e3; 0xa; 1_u8; a::x(1.) }", "a:1"},
		{"a text over lines", "const X: &str = \"\n\\\n\";\nuse a::x;", "a:4"},
		{"a line for the kernel", "#!/usr/bin/env run\nuse a::x;", "a:2"},
		{"an attribute first", "#![no_std]\nuse a::x;", "a:2"},
		// shadows
		{"a module of that name", "mod a { pub fn x() {} }\nuse a::x;\nfn f() { a::x() }", ""},
		{"a module of that name, but not here", "mod a { fn f() { b_b::x(); a::x() } }\nmod k { fn f() { a::x() } }", "a:1 b-b:1"},
		{"a type of that name", "enum a { X }\nfn f() { a::X; ::a::x() }", "a:2"},
		{"an import of that name", "use b_b::x as a;\nfn f() { a::x() }", "b-b:1"},
		{"an import of that name in a block", "fn f() { use b_b::a; a::x() }\nfn g() { a::x() }", "a:2 b-b:1"},
		{"a crate's macro that is called like it", "use a::a;\nfn f() { a::x() }", "a:1"},
		{"a function is in nobody's way", "fn a() {}\nmod k { pub fn b_b() {} }\nuse crate::k::b_b;\nfn f() { a::x(); b_b::x() }", "a:4 b-b:4"},
		{"a type by import", "mod k { pub struct a; }\nuse crate::k::a;\nfn f() { a::x() }", ""},
		{"all of a module", "mod k { pub mod a {} }\nuse k::*;\nfn f() { a::x() }\nmod t { use super::*; fn f() { a::x() } }", ""},
		{"a name for the whole crate", "extern crate a as z;\nextern crate self as b_b;\nmod m { fn f() { b_b::x() } }", "a:1"},
		// macros
		{"macro bodies", "macro_rules! m { ($x:ident) => { $crate::a::x(); $x::a::y(); b_b::z(); ::c::w() } }", "b-b:1 other-c:1"},
		{"macro repetitions", "macro_rules! m { ($($x:ident)::*) => { $($x)::*::a::y() $($x)*::a::y() } }", ""},
		{"templates", "use a::quote;\nfn f() { quote! { b_b::x() }; a::quote_spanned!(s=> c::x); stringify!(b_b::x) }", "a:1"},
		{"items in a macro", "when! { use a::x; mod b_b { } }\nfn f() { b_b::y() }", "a:1"},
		// conditions
		{"another platform", "#[cfg(windows)] use a::x;\n#[cfg(target_os = \"macos\")] fn f() -> a::X { if b { c::x } else { b_b::x } }\n#[cfg(not(unix))] mod m { use a::x; }\nuse b_b::y;", "b-b:4"},
		{"another platform, in lists", "fn f() { #[cfg(windows)] let x = a::S { y: 1 }.z; #[cfg(windows)] { a::x() } match x { #[cfg(windows)] A => a::y(), #[cfg(windows)] B => { a::y() } _ => b_b::z() } }\nstruct S { #[cfg(windows)] x: Map<A, a::X>, y: c::X }", "b-b:1 other-c:2"},
		{"another platform, all of a file", "#![cfg(windows)]\nuse a::x;", ""},
		{"this platform", "#[cfg(all(unix, target_arch = \"x86_64\", target_pointer_width = \"64\", not(windows)))] use a::x;", "a:1"},
		{"perhaps", "#[cfg(feature = \"x\")] use a::x;\n#[cfg(not(feature = \"x\"))] use b_b::x;\n#[cfg(any(loom, windows))] use c::y;", "a:1 b-b:2 other-c:3"},
		{"attributes on a condition", "#[cfg_attr(feature = \"x\", derive(a::D))]\n#[cfg_attr(windows, derive(b_b::D))]\nstruct S;", "a:1"},
		{"tests", "#[cfg(test)] mod tests { use a::x; use d::y; }\n#[cfg(all(test, unix))] use b_b::z;\n#[test] fn f() { c::x() }", "a:1:test b-b:2:test d:1:test other-c:3:test"},
		{"tests and not", "#[cfg(test)] use a::x;\n#[cfg(not(test))] use a::x;\n#[d::test] async fn f() { b_b::x() }\nuse d::y;", "a:2 b-b:3:test d:3:test"},
		{"precise capturing", "fn f<'x>() -> impl T + use<'x> { a::x() }", "a:1"},
		// faults
		{"not closed", "fn f() {\nuse a::x;", "lib:1:the { in this line is not closed"},
		{"closed twice", "fn f() {}\n}", "lib:2:nothing is open that this } closes"},
		{"closed wrongly", "fn f() {\n)", "lib:2:this ) closes a {"},
		{"a text that does not end", "fn f() {}\nconst X: &str = \"a", "lib:2:the text that begins in this line is not closed"},
		{"a comment that does not end", "/* /* */", "lib:1:the comment that begins in this line is not closed"},
		{"not UTF-8", "use a::x;\n// \xff", "lib:2:is not UTF-8: save it as UTF-8"},
		{"too deep", strings.Repeat("{", 1200) + strings.Repeat("}", 1200), "lib:1:brackets stand in each other more than 1000 deep"},
		{"a module without a file", "mod x;\n#[cfg(feature = \"x\")] mod y;", "lib:1:mod x has no file: there is neither m/src/x.rs nor m/src/x/mod.rs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := rust.Language{}.Read(files(head + "-- m/src/lib.rs\n" + test.code))
			var got []string
			for _, i := range found.Imports {
				line := fmt.Sprintf("%s:%d", i.Name, i.At.Line)
				if i.Test {
					line += ":test"
				}
				got = append(got, line)
			}
			for _, f := range found.Faults {
				got = append(got, fmt.Sprintf("lib:%d:%s", f.At.Line, f.Why))
			}
			if d := cmp.Diff(test.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPackages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, files string
		want        []string
	}{
		{"targets", head + `-- m/src/main.rs
use a::x;
-- m/src/bin/two.rs
use b_b::x;
-- m/src/bin/three/main.rs
mod part;
-- m/src/bin/three/part.rs
use c::x;
-- m/build.rs
use e::x; use a::y;
-- m/tests/t.rs
mod common; use d::x;
-- m/tests/common/mod.rs
use a::z;
-- m/tests/ui/no.rs
use a::no;`, []string{"a m/src/main.rs:1", "b-b m/src/bin/two.rs:1", "d test m/tests/t.rs:1", "e m/build.rs:1", "other-c m/src/bin/three/part.rs:1"}},
		{"only tests", head + `-- m/src/lib.rs
-- m/examples/x.rs
use a::x;
-- m/benches/y/main.rs
use b_b::x;
-- m/tests/z.rs
use own_name::x; use c::x;`, []string{"a test m/examples/x.rs:1", "b-b test m/benches/y/main.rs:1", "other-c test m/tests/z.rs:1"}},
		{"modules", head + `-- m/src/lib.rs
mod one; mod two; mod three { mod four; #[path = "six.rs"] mod five; }
#[path = "else/where.rs"] mod seven; #[cfg(test)] mod tests; include!("in.rs");
-- m/src/one.rs
mod deep;
-- m/src/one/deep.rs
use a::x;
-- m/src/two/mod.rs
mod deep;
-- m/src/two/deep.rs
use b_b::x;
-- m/src/three/four.rs
use c::x;
-- m/src/three/six.rs
use d::x;
-- m/src/else/where.rs
mod near;
-- m/src/else/near.rs
use d::y;
-- m/src/in.rs
use a::y;
-- m/src/tests.rs
use e::x; use d::z;
-- m/src/nobody.rs
use d::w;`, []string{"a m/src/in.rs:1", "b-b m/src/two/deep.rs:1", "d test m/src/else/near.rs:1", "other-c m/src/three/four.rs:1"}},
		{"outside", head + `-- m/src/lib.rs
#[path = "../../shared/x.rs"] mod x;
const X: &str = include_str!("../../README.md");
const Y: &str = include_str!("y.txt");
#[cfg(test)] const Z: &[u8] = include_bytes!("../../z");`, []string{"README.md m/src/lib.rs:2", "shared/x.rs m/src/lib.rs:1", "z test m/src/lib.rs:4"}},
		{"edition 2015", `-- m/Cargo.toml
[package]
name = "old"
[dependencies]
a = "1"
b = "1"
-- m/src/lib.rs
extern crate a;
mod b { pub fn x() {} }
mod k { use b::x; fn f() { ::b::x(); a::y() } }`, []string{"a m/src/lib.rs:1"}},
		{"workspace", `-- Cargo.toml
[workspace]
members = ["m"]
package.edition = "2021"
[workspace.dependencies]
short = { package = "long-name", version = "1" }
plain = "1"
-- m/Cargo.toml
package = { name = "x", edition.workspace = true }
dependencies.short.workspace = true
dependencies.plain = { workspace = true }
-- m/src/lib.rs
use short::x; use plain::y; use long_name::z;`, []string{"long-name m/src/lib.rs:1", "plain m/src/lib.rs:1"}},
		{"platforms", head + `[target.'cfg(windows)'.dependencies]
w = "1"
[target."cfg(unix)".dependencies]
u = "1"
[target.x86_64-unknown-linux-gnu.dependencies]
g = "1"
[target.x86_64-pc-windows-msvc.dependencies]
v = "1"
-- m/src/lib.rs
use u::x; use w::x; use g::x; use v::x; use a::x; use b_b::x; use c::x; use d::x;`, []string{
			"a m/src/lib.rs:1", "b-b m/src/lib.rs:1", "d test m/src/lib.rs:1", "g m/src/lib.rs:1", "other-c m/src/lib.rs:1", "u m/src/lib.rs:1",
		}},
		{"a library with a name of its own", `-- m/Cargo.toml
[workspace]
[package]
name = "x"
edition = "2021"
[dependencies]
far = "1"
near = { path = "near" }
-- m/near/Cargo.toml
[package]
name = "near"
[lib]
name = "close"
-- m/near/src/lib.rs
-- m/src/lib.rs
use distant::x; use close::y; use std::z; use Q::w;`, []string{"distant m/src/lib.rs:1"}},
		{"listed targets", `-- m/Cargo.toml
[package]
name = "x"
edition = "2021"
build = "b.rs"
autotests = false
[lib]
path = "l.rs"
[[bin]]
name = "n"
path = "n.rs"
[[test]]
name = "t"
[[example]]
name = "e"
path = "e.rs"
[dependencies]
a = "1"
b = "1"
[build-dependencies]
c = "1"
[dev-dependencies]
d = "1"
-- m/l.rs
use a::x;
-- m/n.rs
use b::x;
-- m/b.rs
use c::x;
-- m/e.rs
use d::x;
-- m/tests/t.rs
use d::x;
-- m/tests/u.rs
use nobody::x;`, []string{"a m/l.rs:1", "b m/n.rs:1", "c m/b.rs:1", "d test m/e.rs:1"}},
		{"vendored", head + "-- m/vendor/v/Cargo.toml\n[package]\nname = \"v\"\n-- m/vendor/v/src/lib.rs\nuse a::x;\n-- m/src/lib.rs\nuse c::x;\n-- m/src/vendor/mod.rs\n", []string{"other-c m/src/lib.rs:1"}},
		{"a manifest that is none", "-- m/Cargo.toml\n[package]\nname = \"x\n", []string{"m/Cargo.toml:2 ! a text is not closed on its line"}},
		{"no manifest", "-- m/src/lib.rs\nuse a::x;", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := files(test.files)
			got := rust.Language{}.Read(in)
			if d := cmp.Diff(test.want, said(got)); d != "" {
				t.Error(d)
			}
			r := rand.New(rand.NewPCG(1, 1))
			for range 10 {
				r.Shuffle(len(in.Files), func(i, j int) { in.Files[i], in.Files[j] = in.Files[j], in.Files[i] })
				if d := cmp.Diff(got, rust.Language{}.Read(in)); d != "" {
					t.Fatal(d)
				}
			}
		})
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	found := rust.Language{}.Read(files(`-- Cargo.toml
[package]
name = "above"
-- m/Cargo.toml
[workspace]
-- m/a/Cargo.toml
[package]
version = "1"
name = "first-one"
-- m/a/src/lib.rs
-- m/b/Cargo.toml
[package]
name = "second"
[lib]
name = "other"
-- m/b/src/lib.rs
use first_one::x;
-- m/c/Cargo.toml
[package]
name = "only-program"
-- m/c/src/main.rs
`))
	var got []string
	for _, o := range found.Owns {
		got = append(got, o.Name+" "+o.At.String())
	}
	want := []string{
		"first-one m/a/Cargo.toml:3", "first_one m/a/Cargo.toml:3", "only-program m/c/Cargo.toml:2",
		"other m/b/Cargo.toml:4", "second m/b/Cargo.toml:2",
	}
	if d := cmp.Diff(want, got); d != "" || len(found.Imports) > 0 {
		t.Error(d, found.Imports)
	}
}

func TestWants(t *testing.T) {
	t.Parallel()
	l := rust.Language{}
	for path, want := range map[string][2]bool{
		"Cargo.toml": {true, true}, "a/Cargo.toml": {true, true}, "a.rs": {true, false}, "src/a.rs": {true, false}, "Cargo.lock": {}, "a.rst": {}, "x.toml": {},
	} {
		if got := [2]bool{l.Wants(path, false), l.Wants(path, true)}; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if got := l.Owners("a-b"); len(got) != 1 || got[0] != "a-b" || l.Name() != "rust" {
		t.Error(got)
	}
}
