package javascript_test

import (
	"strings"
	"testing"

	"noxmesh/delivery/imports/javascript"
)

func TestComponents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, text, want string }{
		{"one script", "a.vue", "<template>\n<i/>\n</template>\n<script>\nimport 'x'\n</script>", "5 x"},
		{"setup beside another", "a.vue", "<script lang=\"ts\">\nimport type {A} from 'x'\n</script>\n\n<script setup lang='ts' generic=\"T extends A<B>\">\nimport y = require('y')\nlet a = <A>b\n</script>", "2 x, 6 y"},
		{"tsx", "a.vue", "<script lang=tsx>\nimport 'x'; let a: B = <i/>\n</script>", "2 x"},
		{"jsx", "a.vue", "<script lang=\"jsx\">import 'x'; let a = <i/></script>", "1 x"},
		{"a script elsewhere", "a.vue", "<script src=\"x/y\" lang=\"ts\"></script>\n<script setup src='./z.ts'/>", "1 x/y"},
		{"in a template", "a.vue", "<template><div><script>import 'no'</script></div>{{ a < '<script>' }}<script>import 'no'</script></template>\n<script>import 'x'</script>", "2 x"},
		{"templates in each other", "a.vue", "<template><template #a><br><p>b</template><script>import 'no'</script></template><script>import 'x'</script>", "1 x"},
		{"a template in another language", "a.vue", "<template lang=\"pug\">\np <b\nscript import 'no'\n</template>\n<script>import 'x'</script>", "5 x"},
		{"another block", "a.vue", "<docs>\n<p> <script>import 'no'\n</docs>\n<style>a > b {} /* <script>import 'no'</script> */</style><script>import 'x'</script>", "4 x"},
		{"a component called so", "a.vue", "<template><Script>a</Script></template><script>import 'x'</script>", "1 x"},
		{"a comment", "a.vue", "<!-- <script>\nimport 'no'</script> -->\n<script>import 'x'</script>", "3 x"},
		{"a quoted bracket", "a.vue", "<template a=\"<script>\"><i :b=\"c > d\" e='>'/></template><script>import 'x'</script>", "1 x"},
		{"what ends it in a word", "a.vue", "<script>\nlet a = '</scripts>'; import 'x'\n</script\n>\n<script setup>import 'y'</script>", "2 x, 5 y"},
		{"a script that does not end", "a.vue", "\n<script>\nimport 'x'", "2 ! the script does not end: </script> would be right"},
		{"in another language", "a.vue", "<script lang=\"coffee\">\nx = y\n</script>", `1 ! the script is in "coffee", which is not read: lang is ts, tsx, jsx or js`},
		{"what is no JavaScript", "a.vue", "<script>\n\nlet a = \n</script>", "4 ! the file ends too early: an expression would be right"},
		{"none", "a.vue", "<template>import 'no'</template>", ""},
		{"too many", "a.vue", strings.Repeat("<script>import 'x'</script>\n", 9), "1 x, 0 ! there are more than 8 scripts, and no more are read: a component has two at most"},

		{"a block elsewhere", "a.vue", "<template src=\"x/y.html\"></template>\n<style src='z/w.css' lang=\"scss\"/><docs src=\"../out.md\">a</docs><script>import 'v'</script>", "2 v, 1 x/y.html, 2 z/w.css"},
		{"in an expression", "a.vue", "<template><p :a=\"require('x/1.png')\"\n  @b='() => import(`y`)' v-on:c.d=\"e = 1; import('z')\">{{ f(\nimport('w')) }} {{ 'import' }}</p></template>", "3 w, 1 x/1.png, 2 y, 2 z"},
		{"an object, a loop, what is escaped, and what is none", "a.vue", "<template><p :a=\"{'b': require('x')}\" v-for=\"(c, d) in require('y').all\" :e=\"require(&quot;z&quot;)\" f=\"require('no')\" #g=\"{h = import('no')}\" v-slot:i=\"import('no')\"/>require('no')</template>", "1 x, 1 y, 1 z"},
		{"with types, and with what is no JavaScript", "a.vue", "<template><p :a=\"(b as C).d(require('x'))\" :e=\"import('y') of\" :f=\") import('no')\"/></template><script lang=ts>let a: b</script>", "1 x, 1 y"},
		{"what is shown", "a.vue", "<template><img src=\"~x/a.png\"><video poster='~@y/z/b.png' src='no/c.mp4'/><use xlink:href=\"~@/no.svg#a\"/></template>", "1 @y/z/b.png, 1 x/a.png"},
		{"in a style", "a.vue", "<style lang=\"scss\">\n@use \"~x/1\" as a; // @use '~no'\n@import '~y', url( \"pkg:z/2\" ) screen;\n@import 'no'; @forward 'listed/3' show b;\n@use \"sass:math\";\n.c { content: \"@use '~no'\"; /* @use '~no' */ }\n</style>", "4 listed/3, 2 x/1, 3 y, 3 z/2"},
		{"in other styles", "a.vue", "<style>@import url(~x/a.css) print;\n@import url(//no/b.css); @import \"~y\n@import '~z'</style><style lang=less>@import (reference) '~w'; @plugin 'listed';</style>", "3 listed, 3 w, 1 x/a.css, 3 z"},

		{"in braces", "a.svelte", "{#await import('x') then {default: a}}<p on:b={() => import('y')} {...require('z')} c=\"d {import('w')}\">{e}</p>\n{:else if require('v')}{@const f = require('u')}{/await}<style>@import '~t';</style>", "2 t, 2 u, 2 v, 1 w, 1 x, 1 y, 1 z"},
		{"a loop with types", "a.svelte", "<script lang=ts>let a: b</script>{#each (await import('x')) as y, i (y.id)}{y}{/each}<p>import('no')</p>", "1 x"},

		{"instance and module", "a.svelte", "<script module>\nimport 'x'\n</script>\n<script lang=\"ts\">\nimport type {Y} from 'y'\nlet z: Y\n</script>\n<p>{z}</p>", "2 x, 5 y"},
		{"a module as it was", "a.svelte", "<script context=\"module\" lang=\"typescript\">import 'x'; let a: b</script>", "1 x"},
		{"in an element", "a.svelte", "<svelte:head><script>import 'no'</script></svelte:head>\n<script>import 'x'</script>", "2 x"},
		{"in a block", "a.svelte", "{#if a}<script>import 'no'</script>{:else}<script>import 'no'</script>{/if}<script>import 'x'</script>", "1 x"},
		{"expressions", "a.svelte", "<p class={a < b ? '<script>' : `}${'}'}`} b=\"{c ? \"d\" : 'e'}\" {...f} {g}>{'<script>'}{@html `<div>${h}</div>`}</p>\n<script>import 'x'</script>", "2 x"},
		{"a brace that does not end", "a.svelte", "<p>{</p>\n<script>import 'x'</script>", "2 x"},
		{"an apostrophe", "a.svelte", "<p>it's {a}</p><script>import 'x'</script>", "1 x"},
		{"styles", "a.svelte", "<style>p { color: red } /* <script> */</style><script>import 'x'</script>", "1 x"},
		{"src is none of ours", "a.svelte", "<script src=\"x\"></script>", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var said []string
			for _, each := range read("", map[string]string{test.file: test.text, "package.json": `{"dependencies": {"listed": "1"}}`}) {
				each = strings.TrimPrefix(strings.TrimPrefix(each, test.file), ":")
				if strings.HasPrefix(each, " !") {
					each = "0" + each
				}
				said = append(said, each)
			}
			if got := strings.Join(said, ", "); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
	if l := (javascript.Language{}); !l.Wants("x/a.vue", false) || !l.Wants("a.svelte", false) || l.Wants("a.vue", true) || l.Wants("a.astro", false) {
		t.Error("which components are wanted")
	}
}
