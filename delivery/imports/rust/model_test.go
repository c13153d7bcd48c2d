package rust_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/imports/rust"
)

// where is where code stands, as far as it matters to what it asks for.
type where int

const (
	compiled where = iota
	tested
	never
)

// program is code that is written along with what it asks for.
type program struct {
	code  map[string]*strings.Builder // by file
	asked map[string]bool             // by package, whether only tests ask for it
	next  int                         // so that no two things have one name
}

func (p *program) ask(pack string, at where) {
	if only, ok := p.asked[pack]; at == compiled || at == tested && (!ok || only) {
		p.asked[pack] = at == tested
	}
}

// something is an item that asks for a package, or for none.
func (p *program) something(t *rapid.T, at where) string {
	names := map[string]string{"a": "a", "b_b": "b-b", "c": "other-c"}
	name := rapid.SampledFrom([]string{"a", "b_b", "c"}).Draw(t, "name")
	p.next++
	if rapid.IntRange(0, 2).Draw(t, "none") == 0 {
		return numbered(strings.ReplaceAll(rapid.SampledFrom([]string{
			"// use NAME::x;", "/* /* NAME::x */ NAME::y */", "const S§: &str = \"NAME::x\\\"NAME::y\";", "const R§: &str = r#\"NAME::x\"\"#;",
			"/// NAME::x\nfn f§() {}", "fn f§() { x.NAME::<u8>(); y::NAME::z(); NAME(1); 'N'; }", "fn f§<'NAME>() {}",
			"mod m§ { mod NAME { pub fn x() {} } use self::NAME::x; fn f() { NAME::x() } }", "fn f§() { quote! { NAME::x } }",
		}).Draw(t, "nothing"), "NAME", name), p.next)
	}
	p.ask(names[name], at)
	return numbered(strings.ReplaceAll(rapid.SampledFrom([]string{
		"use NAME::x§;", "use ::NAME::x§;", "pub use NAME as k§;", "use {std::x§, NAME::{y§, z§::*}};", "extern crate NAME as e§;",
		"fn f§(x: NAME::X) {}", "fn f§() -> Vec<NAME::X> { loop {} }", "fn f§() { let x = ::NAME::y(0..NAME::Z); }", "#[NAME::main] fn f§() {}",
		"#[derive(Debug, NAME::D)] struct S§;", "NAME::m! { x }", "fn f§() { println!(\"{}\", NAME::x); }", "impl NAME::T for S§ {}",
		"fn f§() { match x { NAME::X::Y => {} _ => {} } }", "fn f§() { use NAME::x§; x§::y() }", "macro_rules! m§ { () => { NAME::x() } }",
	}).Draw(t, "something"), "NAME", name), p.next)
}

// numbered is code in which each new thing has a number of its own.
func numbered(code string, n int) string {
	return strings.ReplaceAll(code, "§", fmt.Sprint(n))
}

// write writes items to a file, some of them in modules.
func (p *program) write(t *rapid.T, file, dir string, at where, depth int) {
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		p.next++
		n := p.next
		inner, head := at, ""
		switch rapid.IntRange(0, 5).Draw(t, "condition") {
		case 0:
			head, inner = "#[cfg(test)] ", max(at, tested)
		case 1:
			head, inner = "#[cfg(windows)] ", never
		case 2:
			head = "#[cfg(any(unix, feature = \"x\"))] "
		}
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		if depth > 3 {
			kind = 3
		}
		switch kind {
		case 0:
			fmt.Fprintf(p.code[file], "%smod m%d;\n", head, n)
			under := fmt.Sprintf("%s/m%d.rs", dir, n)
			if rapid.Bool().Draw(t, "mod.rs") {
				under = fmt.Sprintf("%s/m%d/mod.rs", dir, n)
			}
			p.code[under] = &strings.Builder{}
			p.write(t, under, fmt.Sprintf("%s/m%d", dir, n), inner, depth+1)
		case 1:
			fmt.Fprintf(p.code[file], "%smod m%d {\n", head, n)
			p.write(t, file, fmt.Sprintf("%s/m%d", dir, n), inner, depth+1)
			p.code[file].WriteString("}\n")
		default:
			// One that is a comment has no item for a condition to stand before.
			if one := p.something(t, inner); strings.HasPrefix(one, "//") && !strings.HasPrefix(one, "///") || strings.HasPrefix(one, "/*") {
				p.code[file].WriteString(one + "\n")
			} else {
				p.code[file].WriteString(head + one + "\n")
			}
		}
	}
}

func TestReadIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &program{code: map[string]*strings.Builder{"m/src/lib.rs": {}}, asked: map[string]bool{}}
		p.write(t, "m/src/lib.rs", "m/src", compiled, 0)
		text := head
		for _, file := range slices.Sorted(maps.Keys(p.code)) {
			text += "-- " + file + "\n" + p.code[file].String() + "\n"
		}
		got := map[string]bool{}
		found := rust.Language{}.Read(files(text))
		for _, i := range found.Imports {
			got[i.Name+i.Path] = i.Test
		}
		if d := cmp.Diff(p.asked, got); d != "" || len(found.Faults) > 0 {
			t.Fatalf("%s\n%s%v", text, d, found.Faults)
		}
	})
}
