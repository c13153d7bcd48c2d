package golang_test

import "testing"

func TestModules(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]story{
		"what it owns it does not ask for": {tree: `
-- go.mod --
module m.org/v2
-- a.go --
package a
import "m.org/v2"
import "m.org/v2/b"
import "m.org/b"
import "m.org/v2x"
-- b/b.go --
package b
-- cmd/x/main.go --
package main
import "m.org/v2/cmd/x"
`, want: "owns m.org/v2 go.mod:1\nasks m.org/b a.go:4\nasks m.org/v2x a.go:5\n"},
		"a module of a larger module": {folder: "svc/a", tree: `
-- go.mod --
// the whole

module m.org
-- svc/b.go --
not read
-- svc/a/a.go --
package a
import (
	"m.org/svc/a/b"
	"m.org/svc/b"
	"m.org/lib/x"
	"m.org"
	"m.org/svc/a/c/d"
)
-- svc/a/b/b.go --
package b
-- lib/x/x.go --
package x
`, want: `
owns m.org/svc/a go.mod:3
asks ./. svc/a/a.go:6
asks ./lib/x svc/a/a.go:5
asks ./svc/b svc/a/a.go:4
asks m.org/svc/a/c/d svc/a/a.go:7
`},
		"the nearest go.mod counts": {
			folder: "a/b", tree: "-- go.mod --\nmodule m.org\n-- a/go.mod --\nmodule a.org\n-- a/b/x.go --\npackage x\nimport \"m.org/y\"\nimport \"a.org/y\"\n",
			want: "owns a.org/b a/go.mod:1\nasks ./a/y a/b/x.go:3\nasks m.org/y a/b/x.go:2\n",
		},
		"no code, no name": {folder: "web", tree: "-- go.mod --\nmodule m.org\n-- web/testdata/x.go --\npackage x\n"},
		"several in one folder": {tree: "-- go.mod --\nmodule m.org\n-- a.go --\npackage a\nimport \"m.org/n/x\"\nimport \"n.org/y\"\nimport \"m.org/n\"\n-- n/go.mod --\nmodule m.org/n\n-- n/x/x.go --\npackage x\nimport \"m.org\"\nimport \"x.org\"\n-- o/go.mod --\nmodule n.org\n-- o/y/y.go --\npackage y\n", want: `
owns m.org go.mod:1
owns m.org/n n/go.mod:1
owns n.org o/go.mod:1
asks x.org n/x/x.go:3
`},
		"a package is its nearest module's": {
			tree: "-- go.mod --\nmodule m.org\n-- a.go --\npackage a\nimport \"m.org/n/x\"\n-- n/go.mod --\nmodule other.org\n-- n/x/x.go --\npackage x\n",
			want: "owns m.org go.mod:1\nowns other.org n/go.mod:1\nasks m.org/n/x a.go:2\n",
		},
		"replaced by a folder of the repository": {folder: "a", tree: `
-- a/go.mod --
module a.org
require (
	b.org v1.0.0
	b.org/c v1.0.0
	d.org v1.1.0
	e.org v1.1.0
)
replace b.org => ../b
replace (
	d.org v1.1.0 => ../d
	e.org v1.0.0 => ../e
	f.org => f.org/fork v1.0.0
	"g.org" => ./../g/
	h.org => ../../h
	i.org => /i
	k.org => ./k
	l.org => ./l
	m.org => ..
)
-- a/a.go --
package a
import (
	"b.org/x"
	"b.org/c/x"
	"d.org"
	"e.org"
	"f.org/x"
	"g.org/x"
	"h.org"
	"i.org"
	"k.org/x"
	"l.org/x"
	"m.org"
)
-- a/k/x/x.go --
package x
`, want: `
owns a.org a/go.mod:1
asks ./. a/a.go:13
asks ./a/l/x a/a.go:12
asks ./b/x a/a.go:3
asks ./d a/a.go:5
asks ./g/x a/a.go:8
asks b.org/c/x a/a.go:4
asks e.org a/a.go:6
asks f.org/x a/a.go:7
asks h.org a/a.go:9
asks i.org a/a.go:10
`},
		"replaced for every version and for one": {
			folder: "a", tree: "-- a/go.mod --\nmodule a.org\nrequire b.org v1.0.0\nrequire c.org v1.0.0\nreplace b.org => ../all\nreplace b.org v1.0.0 => ../one\nreplace c.org => ../all\nreplace c.org v2.0.0 => ../one\n-- a/a.go --\npackage a\nimport \"b.org\"\nimport \"c.org\"\n",
			want: "owns a.org a/go.mod:1\nasks ./all a/a.go:3\nasks ./one a/a.go:2\n",
		},
		"a go.work replaces": {
			folder: "a", tree: "-- go.work --\ngo 1.26\nuse (\n\t./a\n\t./c\n)\nreplace b.org => ./b\n-- a/go.mod --\nmodule a.org\nreplace b.org => ../x\n-- a/a.go --\npackage a\nimport \"b.org/x\"\nimport \"c.org\"\n",
			want: "owns a.org a/go.mod:1\nasks ./b/x a/a.go:2\nasks c.org a/a.go:3\n",
		},
		"a go.work that does not join it": {
			folder: "a", tree: "-- go.work --\nuse ./c\nreplace b.org => ./b\n-- a/go.mod --\nmodule a.org\nreplace b.org => ../x\n-- a/a.go --\npackage a\nimport \"b.org/x\"\n",
			want: "owns a.org a/go.mod:1\nasks ./x/x a/a.go:2\n",
		},
		"its own go.work": {
			tree: "-- go.work --\nuse .\nuse ./n\nreplace b.org => ./b\n-- go.mod --\nmodule a.org\n-- a.go --\npackage a\nimport \"n.org\"\n-- n/go.mod --\nmodule n.org\n-- n/n.go --\npackage n\nimport \"b.org\"\n-- b/b.go --\npackage b\n",
			want: "owns a.org go.mod:1\nowns n.org n/go.mod:1\n",
		},
		"what go.mod only lists is no edge": {tree: "-- go.mod --\nmodule m.org\nrequire x.org v1.0.0\nretract [v1.0.0, v1.1.0]\nexclude y.org v1.0.0\ntool x.org/cmd/gen\ngodebug default=go1.26\ntoolchain go1.26.8\nlater (\n\tthing\n)\n-- a.go --\npackage a\n//go:generate go run x.org/cmd/gen\n", want: "owns m.org go.mod:1\n"},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); s.check(t) })
	}
}

func TestWhatStandsAside(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]story{
		"is read where it is imported": {tree: `
-- go.mod --
module m.org
ignore ./out
ignore node_modules
-- a.go --
package a
import "m.org/testdata/used"
import "m.org/b/_c"
-- a_test.go --
package a
import "m.org/testdata/tested"
-- testdata/used/u.go --
package used
import "x.org/used"
import "m.org/testdata/more"
-- testdata/used/u_test.go --
package used
import "x.org/no"
-- testdata/more/m.go --
package more
import "x.org/more"
-- testdata/tested/t.go --
package tested
import "x.org/tested"
import "m.org/testdata/more"
-- testdata/unused/u.go --
package unused
import "x.org/no"
-- testdata/broken/b.go --
no Go
-- b/_c/c.go --
package c
import "x.org/c"
import "m.org/out/x"
-- b/.d/d.go --
package d
import "x.org/no"
-- out/x/x.go --
package x
import "x.org/out"
-- out/y/y.go --
package y
import "x.org/no"
-- b/node_modules/y/y.go --
package y
import "x.org/no"
-- b/out/y.go --
package y
import "x.org/named/alike"
-- vendor/x.org/used/u.go --
package used
import "x.org/no"
-- testdata/mod/go.mod --
module x.org/no
-- testdata/mod/m.go --
package no
`, want: `
owns m.org go.mod:1
asks x.org/c b/_c/c.go:2
asks x.org/more testdata/more/m.go:2
asks x.org/named/alike b/out/y.go:2
asks x.org/out out/x/x.go:2
test x.org/tested testdata/tested/t.go:2
asks x.org/used testdata/used/u.go:2
`},
		"a module in testdata that replaces one": {
			tree: "-- go.mod --\nmodule m.org\nreplace x.org => ./testdata/x\n-- a_test.go --\npackage a\nimport \"x.org/y\"\n-- testdata/x/go.mod --\nmodule x.org\n\n???\nmodule z.org\n-- testdata/x/y/y.go --\npackage y\nimport \"z.org\"\n",
			want: "owns m.org go.mod:1\ntest z.org testdata/x/y/y.go:2\nfault testdata/x/go.mod:4 the module has a second path: a go.mod has one module line\n",
		},
		"the folder itself may be anything": {folder: "testdata/_m", tree: "-- testdata/_m/go.mod --\nmodule m.org\n-- testdata/_m/a.go --\npackage a\nimport \"x.org\"\n", want: "owns m.org testdata/_m/go.mod:1\nasks x.org testdata/_m/a.go:2\n"},
		"a go.mod takes out of its own folder": {
			folder: "a", tree: "-- go.mod --\nmodule m.org\nignore ./a/x\n-- a/x/x.go --\npackage x\nimport \"x.org/1\"\n-- a/n/go.mod --\nmodule n.org\nignore ./x\n-- a/n/x/x.go --\npackage x\nimport \"x.org/2\"\n-- a/n/a/x/x.go --\npackage x\nimport \"x.org/3\"\n",
			want: "owns n.org a/n/go.mod:1\nasks x.org/3 a/n/a/x/x.go:2\n",
		},
		"files directly in vendor": {tree: "-- go.mod --\nmodule m.org\n-- vendor/a.go --\npackage a\nimport \"x.org\"\n", want: "owns m.org go.mod:1\nasks x.org vendor/a.go:2\n"},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); s.check(t) })
	}
}

func TestModuleFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"module m.org":                            "owns m.org go.mod:1\n",
		"// c\n\nmodule \"m.org\" // c":           "owns m.org go.mod:3\n",
		"module `m.org`\r":                        "owns m.org go.mod:1\n",
		"module (\n\tm.org\n)\n":                  "owns m.org go.mod:2\n",
		"module m.org//c":                         "owns m.org go.mod:1\n",
		"require ()\nmodule m.org":                "owns m.org go.mod:2\n",
		"require ( )\nmodule m.org":               "owns m.org go.mod:2\n",
		"require ( // c\n\n// c\n)\nmodule m.org": "owns m.org go.mod:5\n",
		"":                                          "fault go.mod:1 names no module: write module and its path in the first line\n",
		"module m.org\nx \"(\"\ny":                  "owns m.org go.mod:1\n",
		"module":                                    "fault go.mod:1 module wants one path\n",
		"module m.org x":                            "fault go.mod:1 module wants one path\n",
		"module \"\"":                               "fault go.mod:1 module wants one path\n",
		"module m.org\nmodule m.org":                "owns m.org go.mod:1\nfault go.mod:2 the module has a second path: a go.mod has one module line\n",
		"module m.org\nrequire x":                   "owns m.org go.mod:1\nfault go.mod:2 require wants a module and its version: require example.com/site v1.2.3\n",
		"module m.org\nrequire (\n\tx.org v1":       "owns m.org go.mod:1\nfault go.mod:2 the block that begins here has no end: a ) alone on a line\n",
		"module m.org\nrequire (\n) x":              "owns m.org go.mod:1\nfault go.mod:3 something follows the end of a block\n",
		"module m.org\n/* c */":                     "owns m.org go.mod:1\nfault go.mod:2 has a /* comment: here comments begin with //\n",
		"module m.org\nmodule \"x":                  "owns m.org go.mod:1\nfault go.mod:2 a string has no end\n",
		"module m.org\nx \"\\x\"":                   "owns m.org go.mod:1\nfault go.mod:2 the string \"\\x\" cannot be read\n",
		"module m.org\nx \v":                        "owns m.org go.mod:1\nfault go.mod:2 the character '\\v' does not belong here\n",
		"module m.org\n\n\xff":                      "fault go.mod:3 is not UTF-8 here\n",
		"module m.org\nreplace x.org => y.org":      "owns m.org go.mod:1\nfault go.mod:2 a folder that replaces a module begins with ./ or ../, and a module that does has a version\n",
		"module m.org\nreplace x.org => ../y v1":    "owns m.org go.mod:1\nfault go.mod:2 a folder that replaces a module has no version\n",
		"module m.org\nreplace x.org v1 v2 => ../y": "owns m.org go.mod:1\nfault go.mod:2 replace wants a module, => and a folder or a module with its version: replace example.com/site => ../site\n",
		"module m.org\nreplace \"\" => ../y":        "owns m.org go.mod:1\nfault go.mod:2 replace wants a module, => and a folder or a module with its version: replace example.com/site => ../site\n",
		"module m.org\nignore":                      "owns m.org go.mod:1\nfault go.mod:2 ignore wants one path\n",
	} {
		story{tree: "-- go.mod --\n" + text, want: want}.check(t)
	}
	story{tree: "-- go.work --\nuse\n", want: "fault go.work:1 use wants one path\n"}.check(t)
}
