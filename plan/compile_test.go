package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/manifest"
	"noxmesh/plan"
)

// names is the modules of a body.
func names(b declaration.Body) string {
	out := make([]string, len(b.Modules))
	for i, m := range b.Modules {
		out[i] = m.Module
	}
	return strings.Join(out, " ")
}

// reasons is one reason a line.
func reasons(all []plan.Reason) string {
	var out []string
	for _, r := range all {
		out = append(out, r.Module+": "+r.Why)
	}
	return strings.Join(out, "\n")
}

type compileCase struct {
	name    string
	facts   plan.Facts
	body    string // the modules in it
	wanted  string // where it is not body
	leftOut string
	held    string
}

func check(t *testing.T, cases []compileCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := plan.Compile(c.facts)
			if got := names(p.Body); got != c.body {
				t.Errorf("the body has %q, want %q", got, c.body)
			}
			if c.wanted == "" {
				c.wanted = c.body
			}
			if got := strings.Join(p.Wanted, " "); got != c.wanted {
				t.Errorf("wanted %q, want %q", got, c.wanted)
			}
			if got := reasons(p.LeftOut); got != c.leftOut {
				t.Errorf("left out:\n%s\nwant\n%s", got, c.leftOut)
			}
			if got := reasons(p.Held); got != c.held {
				t.Errorf("held:\n%s\nwant\n%s", got, c.held)
			}
			valid(t, c.facts, p)
		})
	}
}

// valid checks that a host takes the declaration that the plan is.
func valid(t interface{ Fatalf(string, ...any) }, f plan.Facts, p plan.Plan) {
	d := declaration.Declaration{
		Format: declaration.Format, Mesh: f.Mesh, Node: f.Node.ID, Name: f.Node.Name, Epoch: 1, Generation: 1, Body: p.Body, Where: p.Where,
	}
	b, err := d.Encode()
	if err != nil {
		t.Fatalf("no declaration: %v", err)
	}
	if _, err := declaration.Decode(b); err != nil {
		t.Fatalf("a host refuses it: %v", err)
	}
}

func TestCompileEdges(t *testing.T) {
	t.Parallel()
	check(t, []compileCase{
		{name: "nothing", facts: facts("", "")},
		{name: "nothing is assigned", facts: facts("", "", declared("a", nil))},
		{name: "one", facts: facts("a", "", declared("a", nil), declared("b", nil)), body: "a"},
		{name: "it brings what it requires", facts: facts("a", "", declared("a", requires("b")), declared("b", requires("c")), declared("c", nil)), body: "c b a"},
		{
			name: "by a name that is provided",
			facts: facts("a", "", declared("a", requires("name-resolution")),
				declared("dns", func(b *manifest.Built) { b.Provides = manifest.OnNode("name-resolution") })),
			body: "dns a",
		},
		{
			name: "what is assigned elsewhere is not here",
			facts: func() plan.Facts {
				f := facts("a", "", declared("a", nil), declared("b", nil))
				f.Assigned = append(f.Assigned, mesh.Assignment{Module: "b", Node: otherID})
				return f
			}(),
			body: "a",
		},
		{
			name: "a new one without a build is left out", facts: facts("a b", "a", declared("a", nil), only("b", "", "")),
			body: "a", wanted: "a b", leftOut: "b: no build of it is declared here",
		},
		{
			name: "nobody knows it", facts: facts("a x", "", declared("a", nil)), body: "a", wanted: "x a",
			leftOut: "x: is not a module that the mesh knows, or its manifest has never been read",
		},
		{
			name: "its manifest has never been read", facts: facts("a", "", plan.Module{Name: "a"}), wanted: "a",
			leftOut: "a: is not a module that the mesh knows, or its manifest has never been read",
		},
		{
			name: "the node has it and nobody knows it", facts: facts("a x", "a x", declared("a", nil)), body: "a", wanted: "x a",
			held: "x: is not a module that the mesh knows, or its manifest has never been read",
		},
		{
			name: "the node has it and no build is declared", facts: facts("a", "a", only("a", "", "")), wanted: "a",
			held: "a: no build of it is declared here",
		},
		{name: "the node had it and it is no longer assigned", facts: facts("a", "a b", declared("a", nil), declared("b", nil)), body: "a"},
		{
			name: "nothing provides it", facts: facts("a b", "", declared("a", requires("x")), declared("b", nil)), body: "b", wanted: "a b",
			leftOut: `a: requires "x", and no module provides it`,
		},
		{
			name: "two provide it", facts: facts("a", "", declared("a", requires("x")), only("p", "", "x"), only("q", "", "x")), wanted: "a",
			leftOut: `a: requires "x", and p and q provide it`,
		},
		{
			name: "a commit that provides the same changes nothing here",
			facts: facts("a", "a p", declared("a", requires("x")),
				declared("p", func(b *manifest.Built) { b.Provides = manifest.OnNode("x") }), only("q", "", "x")),
			body: "p a",
		},
		{
			name: "a second one that provides the same is declared here: nothing is taken away",
			facts: facts("a q", "a p", declared("a", requires("x")), declared("p", func(b *manifest.Built) { b.Provides = manifest.OnNode("x") }),
				declared("q", func(b *manifest.Built) { b.Provides = manifest.OnNode("x") })),
			body: "p q", wanted: "a p q", held: `a: requires "x", and p and q provide it`,
		},
		{
			name: "a commit that requires more changes nothing here",
			facts: facts("a", "a", func() plan.Module {
				m := declared("a", nil)
				m.Source = &manifest.Source{Module: "a", Requires: words("x")}
				return m
			}()),
			body: "a",
		},
		{
			name: "what requires one that is left out is left out", facts: facts("a b", "b", declared("a", requires("new")), declared("b", nil), only("new", "", "")),
			body: "b", wanted: "new a b",
			leftOut: "a: requires \"new\", which is not worked out\nnew: no build of it is declared here",
		},
		{
			name: "the node has what requires one that is left out", facts: facts("a b", "a b", declared("a", requires("new")), declared("b", nil), only("new", "", "")),
			body: "b", wanted: "new a b", leftOut: "new: no build of it is declared here", held: "a: requires \"new\", which is not worked out",
		},
		{
			name: "a cycle", facts: facts("a z", "z", declared("a", requires("b")), declared("b", requires("a")), declared("z", nil)),
			body: "z", wanted: "a b z",
			leftOut: "a: is in a cycle of requirements: a → b → a\nb: is in a cycle of requirements with \"a\"",
		},
		{
			name: "a problem of what brings it takes nothing away", facts: facts("a", "b", declared("a", requires("b x")), declared("b", nil)),
			body: "b", wanted: "b a", leftOut: `a: requires "x", and no module provides it`,
		},
		{
			name: "two problems of one module", facts: facts("a", "a", declared("a", requires("x y"))), wanted: "a",
			held: "a: requires \"x\", and no module provides it\na: requires \"y\", and no module provides it",
		},
	})
}

func TestCompileClaims(t *testing.T) {
	t.Parallel()
	port := with(setting("port", integer(80)), claims("tcp:${settings.port}"))
	check(t, []compileCase{
		{
			name: "two new ones claim a port", facts: facts("a b c", "", declared("a", claims("tcp:80")), declared("b", claims("tcp:80")), declared("c", claims("tcp:81"))),
			body: "a c", wanted: "a b c", leftOut: `b: it claims tcp:80, which "a" has`,
		},
		{
			name: "the one that the node has keeps it", facts: facts("a b", "b", declared("a", claims("tcp:80")), declared("b", claims("tcp:80"))),
			body: "b", wanted: "a b", leftOut: `a: it claims tcp:80, which "b" has`,
		},
		{
			name: "the node has both", facts: facts("a b c", "a b", declared("a", claims("tcp:80")), declared("b", claims("tcp:80")), declared("c", nil)),
			body: "a c", wanted: "a b c", held: `b: it claims tcp:80, which "a" has`,
		},
		{
			name:  "what the node's own need comes before what is new",
			facts: facts("new old", "old", declared("new", claims("name:board")), declared("old", requires("z")), declared("z", claims("name:board"))),
			body:  "z old", wanted: "new z old", leftOut: `new: it claims name:board, which "z" has`,
		},
		{
			name: "what requires the loser", facts: facts("a c", "", declared("a", claims("tcp:80")), declared("b", claims("tcp:80")), declared("c", requires("b"))),
			body: "a", wanted: "a b c",
			leftOut: "b: it claims tcp:80, which \"a\" has\nc: requires \"b\", which is not worked out",
		},
		{name: "tcp and udp are two things", facts: facts("a b", "", declared("a", claims("tcp:53")), declared("b", claims("udp:53"))), body: "a b"},
		{
			name:  "filled in, they are the same",
			facts: set(facts("a b", "", declared("a", port), declared("b", port)), "b", map[string]string{"port": "80"}),
			body:  "a", wanted: "a b", leftOut: `b: it claims tcp:80, which "a" has`,
		},
		{
			name:  "filled in, they are two",
			facts: set(facts("a b", "", declared("a", port), declared("b", port)), "b", map[string]string{"port": "8080"}),
			body:  "a b",
		},
		{
			name:  "filled in, it is no port",
			facts: set(facts("a", "", declared("a", port)), "a", map[string]string{"port": "65536"}), wanted: "a",
			leftOut: `a: claim "tcp:${settings.port}": "65536" is not a port, want a number from 1 to 65535`,
		},
		{
			name: "filled in, it is no name", wanted: "a",
			facts:   set(facts("a", "", declared("a", with(setting("n", manifest.Setting{Type: "string"}), claims("name:${settings.n}")))), "a", map[string]string{"n": "B c"}),
			leftOut: `a: claim "name:${settings.n}": "B c" is not a name`,
		},
		{name: "twice by one module", facts: facts("a", "", declared("a", claims("tcp:80", "tcp:80"))), body: "a"},
	})
}

func TestCompilePaths(t *testing.T) {
	t.Parallel()
	two := func(a, b string) plan.Facts { return facts("a b", "", declared("a", nil, a), declared("b", nil, b)) }
	check(t, []compileCase{
		{
			name: "one path", facts: two("file f /etc/x A", "file g /etc/x B"), body: "a", wanted: "a b",
			leftOut: `b: it claims /etc/x, which "a" has`,
		},
		{
			name: "one directory", facts: two("directory f /opt/x", "directory g /opt/x"), body: "a", wanted: "a b",
			leftOut: `b: it claims /opt/x, which "a" has`,
		},
		{name: "in another's directory", facts: two("directory d /opt/x", "file f /opt/x/y/z A"), body: "a b"},
		{name: "a directory around another's", facts: two("file f /opt/x/y/z A", "directory d /opt/x"), body: "a b"},
		{name: "beside it", facts: two("archive d /opt/x A", "file f /opt/xy A"), body: "a b"},
		{
			name: "in another's archive", facts: two("archive d /opt/site A", "file f /opt/site/conf/x A"), body: "a", wanted: "a b",
			leftOut: `b: it claims /opt/site/conf/x, which lies in an archive /opt/site, which "a" has`,
		},
		{
			name: "a directory in another's archive", facts: two("archive d /opt/site A", "directory f /opt/site/data"), body: "a", wanted: "a b",
			leftOut: `b: it claims /opt/site/data, which lies in an archive /opt/site, which "a" has`,
		},
		{
			name: "an archive around another's", facts: two("file f /opt/site/conf/x A", "archive d /opt/site A"), body: "a", wanted: "a b",
			leftOut: `b: it claims an archive /opt/site, in which lies /opt/site/conf/x, which "a" has`,
		},
		{
			name: "in another's link", facts: two("link d /opt/site /srv", "file f /opt/site/x A"), body: "a", wanted: "a b",
			leftOut: `b: it claims /opt/site/x, which lies in a link /opt/site, which "a" has`,
		},
		{
			name: "a file around another's", facts: two("file f /opt/site/x A", "file d /opt/site A"), body: "a", wanted: "a b",
			leftOut: `b: it claims a file /opt/site, in which lies /opt/site/x, which "a" has`,
		},
		{
			name:  "a directory between does not make it another's to give",
			facts: facts("a b c", "", declared("a", nil, "archive d /opt/site A"), declared("b", requires("a"), "directory d /opt/site/x"), declared("c", nil, "file f /opt/site/x/y A")),
			body:  "a", wanted: "a b c",
			leftOut: "b: it claims /opt/site/x, which lies in an archive /opt/site, which \"a\" has\n" +
				"c: it claims /opt/site/x/y, which lies in an archive /opt/site, which \"a\" has",
		},
		{
			name:  "the node has the one inside",
			facts: facts("a b", "b", declared("a", nil, "archive d /opt/site A"), declared("b", nil, "file f /opt/site/x A")),
			body:  "b", wanted: "a b", leftOut: `a: it claims an archive /opt/site, in which lies /opt/site/x, which "b" has`,
		},
		{name: "all of it its own", facts: facts("a", "", declared("a", nil, "archive d /opt/site A", "file f /opt/site/conf B", "directory e /opt")), body: "a"},
		{
			name: "one path twice in one module, filled in", wanted: "a",
			facts:   facts("a", "", declared("a", nil, "file f /etc/${node.name} A", "file g /etc/laptop B")),
			leftOut: `a: resource "g": it is /etc/laptop, and so is "f"`,
		},
	})
}

func TestCompileSettings(t *testing.T) {
	t.Parallel()
	must := setting("dir", manifest.Setting{Type: manifest.StringSetting})
	a := func(settings map[string]string, resources ...string) plan.Facts {
		return set(facts("a b", "b", declared("a", with(must, setting("port", integer(80))), resources...), declared("b", nil)), "a", settings)
	}
	long := strings.Repeat("x", declaration.InlineLimit)
	left := func(why string) compileCase { return compileCase{body: "b", wanted: "a b", leftOut: "a: " + why} }
	cases := []compileCase{}
	for _, c := range []struct {
		name     string
		settings map[string]string
		resource string
		why      string
	}{
		{"missing", nil, "directory d /opt", `setting "dir" has no default and must be set`},
		{"of another type", map[string]string{"dir": "x", "port": "http"}, "directory d /opt", `setting "port" is "http", want an integer such as 8080`},
		{"unknown", map[string]string{"dir": "x", "dri": "x"}, "directory d /opt", `the assignment sets "dri", which the module does not have`},
		{"a path that leads out", map[string]string{"dir": "../../etc"}, "directory d /opt/${settings.dir}", `resource "d": its path "/opt/../../etc" is not clean`},
		{"no absolute path", map[string]string{"dir": "etc"}, "directory d ${settings.dir}", `resource "d": its path "etc" is not absolute`},
		{"a path with a line in it", map[string]string{"dir": "a\nb"}, "directory d /opt/${settings.dir}", `resource "d": its path "/opt/a\nb" holds a control character`},
		{"a target with a line in it", map[string]string{"dir": "a\nb"}, "link d /opt/x ${settings.dir}", `resource "d": its target "a\nb" holds a control character`},
		{"content too large", map[string]string{"dir": long}, "file d /opt/x ${settings.dir}.", `resource "d": its content has 65537 bytes, at most 65536 stand in a manifest; put it in a file of the repository and name that with "from"`},
		{"no UTF-8", map[string]string{"dir": "\xff"}, "file d /opt/x ${settings.dir}", `resource "d": its content is not UTF-8`},
		{"a name that there is not", map[string]string{"dir": "x"}, "file d /opt/x ${settings.no}", `resource "d": nothing is called "${settings.no}"`},
	} {
		one := left(c.why)
		one.name, one.facts = c.name, a(c.settings, c.resource)
		cases = append(cases, one)
	}
	empty := manifest.StringValue("")
	cases = append(
		cases,
		compileCase{name: "the node has it and a setting is missing", facts: facts("a", "a", declared("a", must)), wanted: "a", held: `a: setting "dir" has no default and must be set`},
		compileCase{
			name: "an empty target", wanted: "a", leftOut: `a: resource "d": it leads nowhere: its target is empty`,
			facts: facts("a", "", declared("a", setting("to", manifest.Setting{Type: "string", Default: &empty}), "link d /opt/x ${settings.to}")),
		},
		compileCase{
			name: "settings are of the assignment alone", facts: set(facts("b", "", declared("b", requires("a")), declared("a", setting("port", integer(80)), "file f /p ${settings.port}")), "b", nil), body: "a b",
		},
		compileCase{
			name: "no host knows it", wanted: "a", leftOut: `a: resource "r": no host knows the type "portal"`,
			facts: facts("a", "", declared("a", func(b *manifest.Built) {
				b.Resources = []manifest.BuiltResource{{ID: "r", Type: "portal", Path: "/x"}}
			})),
		},
	)
	check(t, cases)
}

func TestCompileWhere(t *testing.T) {
	t.Parallel()
	lost := func(m plan.Module) plan.Module {
		b := *m.Declared
		b.Where.Archives, b.Where.Blobs = nil, nil
		m.Declared = &b
		return m
	}
	check(t, []compileCase{
		{
			name: "the record does not say where", facts: facts("a b", "", lost(declared("a", nil, "archive d /opt/a A")), lost(declared("b", nil, "from f /opt/b B"))), wanted: "a b",
			leftOut: `a: resource "d": the record does not say where archive ` + sum("A").Short() + ` is` + "\n" +
				`b: resource "f": the record does not say where file ` + sum("B").Short() + ` is`,
		},
	})
}

// TestCompileWhole is one plan in full: what is filled in, the modes, the order,
// what comes after what, and how to get the bytes.
func TestCompileWhole(t *testing.T) {
	t.Parallel()
	site := declared("site", with(requires("base"), setting("port", integer(80))),
		"archive pages /srv/site/pages P", "file conf /srv/site/pages/conf/site.conf port ${settings.port} on ${node.name} ($${x})", "from logo /srv/site/logo L", "link now /srv/now site")
	base := declared("base", nil, "directory srv /srv", "directory site /srv/site")
	base.Declared.Manifest.Resources[1].Mode = "0750"
	got := plan.Compile(set(facts("site", "", site, base), "site", map[string]string{"port": "8080"}))
	text := "port 8080 on laptop (${x})"
	want := plan.Plan{
		Body: declaration.Body{
			Modules: []declaration.Module{{Module: "base", Content: base.Declared.Content}, {Module: "site", Content: site.Declared.Content}},
			Resources: []declaration.Resource{
				{ID: "base/srv", Type: declaration.Directory, Path: "/srv", Mode: "0755"},
				{ID: "base/site", Type: declaration.Directory, Path: "/srv/site", Mode: "0750", After: []string{"base/srv"}},
				{ID: "site/pages", Type: declaration.Archive, Path: "/srv/site/pages", Digest: sum("P"), After: []string{"base/site"}},
				{ID: "site/conf", Type: declaration.File, Path: "/srv/site/pages/conf/site.conf", Mode: "0644", Digest: sum(text), Size: int64(len(text)), After: []string{"site/pages"}},
				{ID: "site/logo", Type: declaration.File, Path: "/srv/site/logo", Mode: "0644", Digest: sum("L"), Size: 1, After: []string{"base/site"}},
				{ID: "site/now", Type: declaration.Link, Path: "/srv/now", Target: "site", After: []string{"base/srv"}},
			},
		},
		Where: declaration.Where{
			Registry: host,
			Inline:   map[document.Digest]string{sum(text): text},
			Blobs:    map[document.Digest]declaration.Blob{sum("L"): {Repository: "site", Size: 1}},
			Archives: map[document.Digest]declaration.Packed{sum("P"): {
				Repository: "site", Index: sum("index of " + string(sum("P"))), IndexSize: 1, Blob: sum("blob of " + string(sum("P"))), Size: 2,
			}},
		},
		Wanted: []string{"base", "site"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
