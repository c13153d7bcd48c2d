package javascript_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/javascript"
)

type seed struct{ file, text string }

func seeds() []seed {
	return []seed{
		{"a.js", "#!/bin/x\nimport a, {b} from 'x' with {c: 'd'}; export * from \"y\"\n"},
		{"a.js", "a = b / /[/]'/g; `${`${require('x')}`}`; if (a) /'/.b; x => {}\n/'/"},
		{"a.js", "<!-- a\n--> b\na = <a b='c'>it's {d} <></></a>\n"},
		{"a.ts", "let a = <T,>(b: c<d>): e is f => a ? (b): c => d : e; f<g>(h) as i!\n"},
		{"a.ts", "declare module 'x' { export type A<B> = B extends (infer C)[] ? import('y') : {[d in e as f]?: g} }\nexport {}"},
		{"a.tsx", "/// <reference types='x' />\n/** @jsxImportSource y */\nlet a = <T extends U>(b?: T) => <c<d>/>\n"},
		{"a.tsx", "@a class b<c> extends d<e> implements f { private static async *g?(h!: i = j): k {} l = <m/> }\n"},
		{"package.json", `{"name": "@a/b", "workspaces": ["a/**", "{b,c}/*"], "imports": {"#a/*": {"b": ["./c/*", "d"]}}, "dependencies": {"x": "npm:y@1", "z": "file:../z"}}`},
		{"tsconfig.json", `{"extends": ["./tsconfig", "../x"], /* a */ "compilerOptions": {"baseUrl": ".", "paths": {"x*": ["../*"],},}, "references": [{"path": "."}]}`},
		{"pnpm-workspace.yaml", "packages:\n  - 'a/*' # b\n  - \"!c\"\nd: [e]\n"},
		{"a.vue", "<!-- --><template lang=''><a :b='c'>{{ d < e }}<br></a></template>\n<script lang=\"ts\">import 'x'</script><script setup src=y />\n<f><</f>"},
		{"a.vue", "<template src='x'><p :a=\"{b: require('x')}\" @c='d; import(`y`)' v-for=\"e of import('z')\" src=~w>{{ import('v') }}</p></template><style lang=\"scss\">@use '~u' as f; @import (g) \"t\", url(s); // @</style>"},
		{"a.svelte", "{#await import('x') then a}<p {...require('y')} b={import('z')} c=\"d{e}\"/>{:else if f}{/await}<style>@import url( '~w' );/*"},
		{"a.svelte", "<script module>import 'x'</script>{#if `${a}` < '}'}<b c={d} {...e} f=\"{g ? '\"' : /* */ h}\"/>{/if}\n<style></style>"},
	}
}

// FuzzRead reads one file of any text beside some that make use of it.
func FuzzRead(f *testing.F) {
	all := seeds()
	if len(all) != 14 {
		f.Fatalf("%d seeds, want 14", len(all))
	}
	for _, s := range all {
		f.Add(s.file, []byte(s.text))
	}
	names := map[string]bool{}
	for _, s := range all {
		names[s.file] = true
	}
	f.Fuzz(func(t *testing.T, file string, text []byte) {
		if !names[file] {
			t.Skip()
		}
		l := javascript.Language{}
		in := imports.Input{Folder: "m", Files: []imports.File{
			{Path: "m/" + file, Text: text},
			{Path: "m/x/user.ts", Text: []byte("import 'x'; import '#a/b'; import '../../y'; import 'z/a'")},
			{Path: "m/a/package.json", Text: []byte(`{"name": "a"}`)},
		}}
		found := l.Read(in)
		if d := cmp.Diff(found, found.Sorted(l.Owners)); d != "" {
			t.Fatal(d)
		}
		lines := map[string]int{}
		for _, f := range in.Files {
			lines[f.Path] = 1 + bytes.Count(f.Text, []byte("\n"))
		}
		for _, i := range found.Imports {
			if i.At.Line < 1 || i.At.Line > lines[i.At.File] || (i.Name == "") == (i.Path == "") {
				t.Fatalf("%+v", i)
			}
			if i.Path == "" && len(l.Owners(i.Name)) != 1 {
				t.Fatalf("nobody can own %q", i.Name)
			}
			if i.Path == "m" || strings.HasPrefix(i.Path, "m/") || i.Path == ".." || strings.HasPrefix(i.Path, "../") {
				t.Fatalf("%q is not outside of m in the repository", i.Path)
			}
		}
		for _, o := range found.Owns {
			if o.At.Line < 1 || o.At.Line > lines[o.At.File] || len(l.Owners(o.Name)) != 1 || l.Owners(o.Name)[0] != o.Name {
				t.Fatalf("%+v", o)
			}
		}
		for _, f := range found.Faults {
			if f.At.Line < 0 || f.At.Line > lines[f.At.File] || f.Why == "" {
				t.Fatalf("%+v", f)
			}
		}
	})
}

// TestHostile reads what is made to take long: it ends, in time that its size allows.
func TestHostile(t *testing.T) {
	t.Parallel()
	long := func(s string, n int) string { return strings.Repeat(s, n/4) } // what grows with the square takes minutes all the same
	for name, s := range map[string]seed{
		"types of calls": {"a.ts", long("a<b", 1<<18)},
		"types in calls": {"a.ts", long("a<(", 900) + long("b<c;", 1<<16)},
		"arrows":         {"a.ts", long("a?(b):", 1<<17)},
		"arrows in vain": {"a.ts", long("a?(b):c=>", 1<<16)},
		"brackets":       {"a.js", long("(", 1<<20)},
		"blocks":         {"a.js", long("{", 1<<20)},
		"templates":      {"a.js", long("`${", 1<<18)},
		"elements":       {"a.jsx", long("<a>", 1<<18)},
		"attributes":     {"a.jsx", "a=" + long("<a b=", 1<<18)},
		"unary":          {"a.js", long("- ", 1<<20)},
		"else":           {"a.js", long("if(a);else ", 1<<17)},
		"slashes":        {"a.js", long("a/", 1<<20)},
		"literals":       {"a.js", long("require(`", 1<<18)},
		"generics":       {"a.tsx", long("<a extends ", 1<<17)},
		"unions":         {"a.ts", "type a=" + long("|b", 1<<19)},
		"functions":      {"a.ts", "type a=" + long("()=>", 1<<19)},
		"quotes":         {"a.js", "require('" + long("\\u{", 1<<18) + "')"},
		"references":     {"a.ts", "/// <reference " + long("a=' '", 1<<18)},
		"names":          {"a.js", "import '" + long("a/", 1<<20) + "'"},
		"scripts":        {"a.vue", long("<script>", 1<<18)},
		"short scripts":  {"a.vue", long("<script></script>\n", 1<<17)},
		"tags":           {"a.svelte", long("<a>", 1<<19) + long("</b>", 1<<18)},
		"closed tags":    {"a.svelte", long("<a><b></a>", 1<<17)},
		"braces":         {"a.svelte", long("{", 1<<20)},
		"values in vain": {"a.svelte", long("<a b={", 1<<18)},
		"quotes in vain": {"a.svelte", "{" + long("\"\\", 1<<20)},
		"comments":       {"a.svelte", long("{/*", 1<<19)},
		"texts":          {"a.svelte", "{" + long("`${", 1<<19)},
		"expressions":    {"a.svelte", long("{import(", 1<<17)},
		"in expressions": {"a.svelte", "{import('" + long("`${", 1<<18) + "}')}"},
		"handlers":       {"a.vue", "<template>" + long("<a @b='import(", 1<<16)},
		"mustaches":      {"a.vue", "<template>" + long("{{import(", 1<<17)},
		"rules":          {"a.vue", "<style>" + long("@import (", 1<<17)},
		"more rules":     {"a.vue", "<style>@import " + long("'x',", 1<<17)},
		"strings":        {"a.vue", "<style>@import " + long("\"\\", 1<<18)},
		"values":         {"package.json", long("[", 1<<20)},
		"extended":       {"tsconfig.json", `{"extends": [` + long(`"./tsconfig.json",`, 1<<16) + `]}`},
		"patterns":       {"package.json", `{"imports": {` + long(`"#a*b": "./*",`, 1<<16) + `}}`},
		"workspaces":     {"package.json", `{"workspaces": [` + long(`"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}/**/**/x",`, 1<<14) + `]}`},
		"members":        {"pnpm-workspace.yaml", "packages:\n" + long("  - '**/a'\n", 1<<17)},
		"rows":           {"pnpm-workspace.yaml", "packages: [\n" + long("a,\n", 1<<18)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := read("", map[string]string{s.file: s.text, "x/user.ts": "import '#axb'", "a/package.json": "{}"})
			for _, each := range said {
				if len(each) > 4096 {
					t.Errorf("%d bytes are said", len(each))
				}
			}
		})
	}
}

// BenchmarkRead reads a thousand files of two hundred lines each.
func BenchmarkRead(b *testing.B) {
	in := imports.Input{Files: []imports.File{{Path: "package.json", Text: []byte(`{"name": "bench"}`)}}}
	size := 0
	for n := range 1000 {
		var text strings.Builder
		fmt.Fprintf(&text, "// a file\nimport React, {type FC} from 'react'\nimport {a%d} from './a%d'\nimport type {B} from '@scope/package%d/sub'\n\n", n, n+1, n)
		for step := range 20 {
			fmt.Fprintf(&text, "/** What part %d is. */\nexport const Part%d: FC<{name: string; of?: Map<string, B[]>}> = ({name, of = new Map()}) => {\n", step, step)
			text.WriteString("\tconst found = of.get(`part-${name.replace(/[/'\"]/g, '')}`) ?? []\n\tif (found.length / 2 < 1) {\n\t\treturn null\n\t}\n")
			text.WriteString("\treturn (\n\t\t<ul className=\"parts\" onClick={() => console.log(name)}>\n\t\t\t{found.map((each, i) => <li key={i}>it's {each.name as string}</li>)}\n\t\t</ul>\n\t)\n}\n")
		}
		size += text.Len()
		in.Files = append(in.Files, imports.File{Path: fmt.Sprintf("src/part%d.tsx", n), Text: []byte(text.String())})
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if found := (javascript.Language{}).Read(in); len(found.Imports) != 1001 || len(found.Faults) > 0 {
			b.Fatal(len(found.Imports), found.Faults)
		}
	}
}
