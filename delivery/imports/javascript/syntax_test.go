package javascript_test

import (
	"strings"
	"testing"
)

func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, text, want string }{
		// what imports
		{"side effect", "a.js", `import "x"`, "1 x"},
		{"default", "a.js", `import a from 'x'`, "1 x"},
		{"all", "a.js", "import * as a from 'x'\nimport b, * as c from 'y'\nimport d, {e, f as g, 'h i' as j} from 'z'", "1 x, 2 y, 3 z"},
		{"export from", "a.js", "export * from 'x'; export * as a from 'y'; export {b, default as c} from 'z'; export {b}; export {}", "1 x, 1 y, 1 z"},
		{"attributes", "a.js", "import a from 'x' with {type: 'json'}\nexport * from 'y' assert {type: 'json'}\nimport('z', {with: {type: 'json'}})", "1 x, 2 y, 3 z"},
		{"phases", "a.js", "import defer * as a from 'w'; import source b from 'x'; import.defer('y'); import.source('z')", "1 w, 1 x, 1 y, 1 z"},
		{"names that are words", "a.ts", "import from from 'v'; import type from 'w'; import type from from 'x'; import {from} from 'y'; import type, {type as as} from 'z'", "1 v, 1 w, 1 x, 1 y, 1 z"},
		{"types", "a.ts", "import type {A} from 'v'\nexport type {B} from 'w'\nexport type * from 'x'; export type * as C from 'y'; import {type D} from 'z'", "1 v, 2 w, 3 x, 3 y, 3 z"},
		{"types of types", "a.ts", "type A = import('x').B<C>[]; let a: typeof import('y', {with: {'resolution-mode': 'import'}}) | {b(): import('z')}", "1 x, 1 y, 1 z"},
		{"import equals", "a.ts", "import a = require('x'); export import b = require('y'); import type c = require('z'); import d = a.b.require", "1 x, 1 y, 1 z"},
		{"dynamic", "a.js", "import('w').then(a => a); const b = async () => await import(/* name: 'no' */ `x`); a ? import('y') : import(\n'z'\n)", "1 w, 1 x, 1 y, 2 z"},
		{"require", "a.cjs", "const a = require('w'), {b} = require( /**/ \"x\" ).y; require.resolve('y'); require?.('z')", "1 w, 1 x, 1 y, 1 z"},
		{"meta", "a.mjs", "import.meta.resolve('x'); import.meta.url; import.meta.env.resolve('no')", "1 x"},
		{
			"everywhere", "a.js", "function f(a = require('u')) { class B extends require('v') { [require('w')]() {} c = require('x'); static { require('y') } } return `${`${require('z')}`}` }",
			"1 u, 1 v, 1 w, 1 x, 1 y, 1 z",
		},
		{"declared modules", "a.ts", "declare module 'no' { import a from 'x'; export = a }", "1 x"},
		{"augmented modules", "a.ts", "export {}\ndeclare module 'x' { interface A { b: import('y') } }\ndeclare global { var z: 1 }", "2 x, 2 y"},
		{"references", "a.ts", "// a\n/// <reference types=\"x/client\" />\n/// <reference lib='no' path='y' />\n/// <reference types='node' />\na\n/// <reference types='no' />", "2 x/client"},
		{"escapes", "a.js", `import "\x78\u0079\u{7A}"; require("a\
b")`, "1 ab, 1 xyz"},
		{"a parameter called require", "a.js", "define(function (require) { require('x') })", "1 x"},
		{"comments", "a.js", "import /* a */ b // c\n from /*'no'*/ 'x' // 'no'\nrequire // d\n ( /* e */ 'y' /* f */ ) /* 'no' */", "2 x, 4 y"},
		{"elements' package", "a.jsx", "/** @jsxImportSource x */\nexport default <a/>", "1 x/jsx-runtime"},
		{"query", "a.js", "import 'x/y.css?inline'", "1 x/y.css"},
		{"protocols", "a.js", "import 'node:x'; import 'https://x/y'; import 'virtual:x'; import 'npm:@a/b@1/c'; import 'data:text/javascript,1'; import 'bun:test'", "1 @a/b/c"},
		{"no names", "a.js", "import '@/x'; import '~/y'; import '$lib/z'; import '/a'; import ''; import './b'; import '#c'", ""},
		// what does not
		{"computed", "a.js", "import('a' + b); require(a); require(`a${b}`); import(a ? 'b' : 'c'); require()", ""},
		{"members", "a.js", "a.import('no'); a?.require('no'); a.b.require.resolve('no'); this.#require('no'); class A { #require; import('no') {} require() {} }", ""},
		{"names of members", "a.js", "a = { import: 1, require: 'no', import() {}, get require() {}, async import() {}, 'export': { from: 'no' }, export: 1 }; a.export.from; a.import", ""},
		{"created", "a.js", "new require('no')", ""},
		{"strings and comments", "a.js", "'import \"no\"'; \"require('no')\"; `import('no') \\${ \\` require('no')`; // require('no')\n/* import 'no' */", ""},
		{"escaped words", "a.js", `r\u0065quire`, ""},
		{"regular expressions", "a.js", "a = /require('no')\\/[/'\"]/g; b = c / d / require('x'); if (a) /'/.test(b); f(a) / 2 / '1'; ({}) / 1; x = {} / require('y') / 1; {} /'/.test(a)", "1 x, 1 y"},
		{"regular expressions behind words", "a.js", "() => { return /'/ }; typeof /'/; case1: /`/; a++ / 2; a = b\n++c / 1; x => {}\n/'/g\nlet e = function () {} / 1 / 1", ""},
		{"a parenthesis before a regular expression", "a.js", "while (a) /\"/.exec(b); do /'/.exec(c); while (d) /`/.exec(e); for (;;) /'/.exec(f)", ""},
		{"templates", "a.js", "`a${{b: `c${d}`}.e}f${'}'}` ; tag`\\u{`; a`x${b}` / 1; require('x')", "1 x"},
		{"hashbang", "a.js", "#!/usr/bin/env node 'no\nimport 'x'", "2 x"},
		{"HTML's comments", "a.js", "<!-- require('no')\nrequire('x')\n--> require('no')\n/* \n */ --> it's\na --> b", "2 x"},
		{"no HTML's comments in a module", "a.js", "import 'x'\na<!--b; require('y')", "1 x, 2 y"},
		{"semicolons that are not written", "a.js", "let a = 1\nlet b = a\nimport 'x'\na\n++b\na\n/b/g/1\nvar c\n`'`\nexport {a}\nb", "3 x"},
		{"lines", "a.js", "'a\\\r\nb';\r\n`\n\n`\n/*\n*/import 'x'\u2028import 'y'", "7 x, 7 y"},
		{"words that are names", "a.js", "let async, of, get, set, from, as, type, let_; async = 1; async\nof; for (of of of) get; async (x) / 1; type\nfrom; let as = 1; yield_", ""},
		// elements
		{"text of elements", "a.jsx", "a = <p>it's import 'no' from {require('x')} // {/* ' */} &amp; \" ` </p>; require('y')", "1 x, 1 y"},
		{"attributes of elements", "a.jsx", "a = <a.b c-d='\\' e=\"import\n'no'\" f={`${require('x')}`} {...require('y')} g=<i/> h:i></a.b> / require('z')", "2 x, 2 y, 2 z"},
		{"fragments", "a.js", "a = b ? <><i/>{c && <b>'</b>}</> : <a>{...d}{}</a>; e < f; require('x')", "1 x"},
		{"nothing but types", "a.ts", "let a = <B<C>>d / 1; let e = <T,>(f: T) => f; let g = <T extends H>(i: T): i is T => /'/; require('x')", "1 x"},
		{"types beside elements", "a.tsx", "const a = <T,>(b: T) => <i>'{b}</i>; const c = <T extends D>(e: T) => <T extends='f'/>; const g = <H<I> j='`'/>; const k: <T>(l: T) => void = m; require('x')", "1 x"},
		// types
		{"types of a call", "a.ts", "a<b>(/'/); c < d > e; f<g[], {h: 'i'}>`j`; k<l<m>>(n); o < p; q = r<s, t>\nu; v<w>/x/1; f<T>(require('x'))", "2 x"},
		{"types of functions", "a.ts", "let a = (b: c, d?: e, f = (g: h): i => j): k | (() => l) => /'/; a ? (b): c => d : e; a ? (b) : c => d; a ? (b, c?: d): e => { } : f; require('x')", "1 x"},
		{"results in brackets", "a.ts", "let a = (b): (c | d) => /'/; let e = (f): ((g: h) => i) => /'/; let j = (k): l is m => /'/; function n(o): asserts o is p { /'/ }; require('x')", "1 x"},
		{"conditional types", "a.ts", "type A<B> = B extends infer C extends D ? {[E in keyof F as `${G}`]-?: H} : B extends (...i: J[]) => K ? L : never\ntype M = abstract new () => N; require('x')", "2 x"},
		{"operators of types", "a.ts", "a as b as const; c satisfies d<e>; f!.g![h]!; i = j as k | l; n as any < o; unique as symbol; require('x')", "1 x"},
		{"declarations", "a.ts", "abstract class A<B> extends C<D> implements E, F { private constructor(readonly g: H, @I() j?: K) { super() } declare l: M; n!: O; [p: string]: Q; get r(): S { return /'/ } " +
			"static async *t<U>(this: V): W {} accessor x = 1; y?(): Z; abstract aa(): void }\nenum A { B = 'c', 'd', E = 1 << 2 }\nnamespace F.G { export const h = 1 }\ninterface I<J> extends K<L>, M { (n: O): P; new (): Q; r?: S; readonly [t: string]: U }\nrequire('x')", "5 x"},
		{"overloads", "a.ts", "function a(b: c): d\nfunction a(b: e): f\nfunction a() { /'/ }\ndeclare function g(): void\nexport default function h<T>(): T\nexport abstract class I { }\nexport as namespace J\nrequire('x')", "8 x"},
		{"decorators", "a.ts", "@a @b.c<d>() @(e) export class F { @g() h = 1; @i j() {} }; require('x')", "1 x"},
		{"variables", "a.ts", "let a!: b, {c}: {c: d} = e, [f]: [g?, ...h[]] = i; const enum J { K }; using l = m; for (const n of o as p[]) ; for (let q: r in s) ; require('x')", "1 x"},
		{"types of Flow", "a.js", "// @flow\nimport type {A} from 'x'\nfunction b(c: A): Array<A> { return c }", "2 x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := one(test.file, test.text)
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, text, want string }{
		{"string", "a.js", "import 'x'\na = 'b\nimport 'y'", "1 x, 2 ! the string does not end on its line"},
		{"string at the end", "a.js", "'a", "1 ! the string does not end"},
		{"template", "a.js", "\n`a\n\n", "4 ! the template does not end"},
		{"comment", "a.js", "a\n/* b\n", "2 ! the comment does not end"},
		{"regular expression", "a.js", "a = /b\n/", "1 ! the regular expression does not end on its line"},
		{"bracket", "a.js", "import 'x'; f({a: [1, 2})", `1 x, 1 ! "}" is not expected here: a comma or ] would be right`},
		{"too many brackets", "a.js", "a }", `1 ! "}" is not expected here: there is no { before it`},
		{"end", "a.js", "f(\n", "2 ! the file ends too early: an expression would be right"},
		{"two statements", "a.js", "a b", `1 ! "b" is not expected here: a new line or a semicolon comes between two statements`},
		{"byte", "a.js", "a = \x01", `1 ! '\x01' belongs to nothing`},
		{"element", "a.jsx", "a = <b>\n</c>", "2 ! </c> closes what is not open"},
		{"element without end", "a.jsx", "a = <b>\n", "2 ! the element does not end"},
		{"not UTF-8", "a.js", "a\n'\xff'", "2 ! the text is not UTF-8: save the file as UTF-8"},
		{"merge", "a.ts", "<<<<<<< HEAD\nimport 'x'", `2 ! "'x'" is not expected here: '(' would be right`},
		{"too deep", "a.js", strings.Repeat("[", 5000), "1 ! brackets lie more than 1000 deep in each other"},
		{"too large", "a.js", strings.Repeat(" ", 4<<20+1), "a.js ! the file has 4194305 bytes, and no more than 4194304 are read: leave out what was generated"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := one(test.file, test.text); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
