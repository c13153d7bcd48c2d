package graph_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
)

// slashes is a language of which only the names matter.
type slashes struct{ imports.Language }

func (slashes) Name() string                { return "slashes" }
func (slashes) Owners(name string) []string { return imports.Prefixes(name, "/") }

// images is a language in which what a module gives is whole.
type images struct{ slashes }

func (images) Name() string                { return "images" }
func (images) Owners(name string) []string { return []string{name} }
func (images) Whole()                      {}

// coded is written "name: asks, asks?, ./path; owns, owns": what has a ? only tests
// ask for, and what has a % is an image. Every second of those is asked for
// elsewhere than in the code.
func coded(text string) graph.Code {
	name, rest, _ := strings.Cut(text, ":")
	asks, owns, _ := strings.Cut(rest, ";")
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
	}
	var f, whole imports.Found
	var beside graph.Beside
	c := graph.Code{Module: name, Repository: "r", Folder: name}
	for i, o := range split(owns) {
		if o, is := strings.CutPrefix(o, "%"); is {
			beside.Owns = append(beside.Owns, graph.Owned{Language: "images", Name: o})
			continue
		}
		f.Owns = append(f.Owns, imports.Own{Name: o, At: imports.Place{File: "owns", Line: i + 1}})
	}
	for i, a := range split(asks) {
		asked := imports.Import{At: imports.Place{File: name + ".x", Line: i + 1}}
		if a, is := strings.CutPrefix(a, "%"); is {
			if i%2 == 1 {
				beside.Asks = append(beside.Asks, graph.Asked{Language: "images", Name: a, At: asked.At})
			} else {
				asked.Name = a
				whole.Imports = append(whole.Imports, asked)
			}
			continue
		}
		a, asked.Test = strings.CutSuffix(a, "?")
		if to, is := strings.CutPrefix(a, "./"); is {
			asked.Path = to
		} else {
			asked.Name = a
		}
		f.Imports = append(f.Imports, asked)
	}
	if len(beside.Owns)+len(beside.Asks) > 0 {
		c.Beside = &beside
	}
	c.Says = imports.Say(map[string]imports.Found{"slashes": f, "images": whole})
	return c
}

func both() []imports.Language { return []imports.Language{slashes{}, images{}} }

func builds(texts ...string) *graph.Builds {
	b := graph.NewBuilds(both())
	for _, text := range texts {
		b.Set(coded(text))
	}
	return b
}

func laidWords(l graph.Laid) string {
	words := strings.Join(modulesOf(l), " ")
	for _, e := range l.LeftOut {
		words += fmt.Sprintf(" -%s→%s", e.From, e.To)
	}
	if l.Problem != "" {
		words += " ! " + l.Problem
	}
	return strings.TrimSpace(words)
}

func modulesOf(l graph.Laid) (names []string) {
	for _, layer := range l.Layers {
		names = append(names, layer.Module)
	}
	return names
}

func TestLaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		modules string
		want    map[string]string
	}{
		{"nothing", "a:;", map[string]string{"a": "", "unknown": ""}},
		{"direct", "a: m.b/x; m.a | b:; m.b", map[string]string{"a": "b", "b": ""}},
		{"nobody owns it", "a: m.b, c; m.a | b:; m.bb", map[string]string{"a": ""}},
		{"the nearest owner", "a: m/b/c; x | b:; m | c:; m/b", map[string]string{"a": "c"}},
		{"its own", "a: m/a/b; m/a | b:; m", map[string]string{"a": ""}},
		{"through others, providers first", "a: m.b; m.a | b: m.c, m.d; m.b | c: m.d; m.c | d:; m.d", map[string]string{"a": "d c b", "b": "d c", "c": "d"}},
		{"a test of its own", "a: m.b?; m.a | b:; m.b", map[string]string{"a": "b"}},
		{"a test of another", "a: m.b; m.a | b: m.c?; m.b | c:; m.c", map[string]string{"a": "b", "b": "c"}},
		{"a test and code", "a: m.b?, m.b; m.a | b:; m.b", map[string]string{"a": "b"}},
		{"a test that closes a circle", "a: m.b?; m.a | b: m.a; m.b", map[string]string{"a": "-a→b", "b": "a"}},
		{"tests that do", "a: m.b?; m.a | b: m.a?; m.b", map[string]string{"a": "-a→b", "b": "-b→a"}},
		{"by its path", "a: ./b/src/x | b:; | c: ./x", map[string]string{"a": "b", "c": ""}},
		{
			"two own it", "a: m.x; | b:; m.x | c:; m.x | d: m.a | e: m.d", map[string]string{
				"a": `! a.x:1 asks for "m.x", and b and c own it`, "d": "",
			},
		},
		{
			"a circle", "b: m.c; m.b | a: m.b; m.a | c: m.d; m.c | d: m.b, m.e; m.d | e:; m.e | f: m.a", map[string]string{
				"b": "e b c d ! is in a circle of imports: b → (b.x:1) c → (c.x:1) d → (d.x:1) b",
				"a": `e b c d ! is built against "b", which is in a circle of imports: b → (b.x:1) c → (c.x:1) d → (d.x:1) b`,
				"f": `e b c d a ! is built against "b", which is in a circle of imports: b → (b.x:1) c → (c.x:1) d → (d.x:1) b`,
				"e": "",
			},
		},
	} {
		all := strings.Split(c.modules, " | ")
		for range 2 {
			b := builds(all...)
			for module, want := range c.want {
				if got := laidWords(b.Laid(module)); got != want {
					t.Errorf("%s: %s is %q, want %q", c.name, module, got, want)
				}
			}
			slices.Reverse(all)
		}
	}
}

func TestEdgesHaveTheirEvidence(t *testing.T) {
	t.Parallel()
	b := builds("a: m.b/x, m.c?, zz; m.a", "b:; m.b", "c: m.b; m.c")
	want := []graph.Edge{
		{From: "a", To: "b", Language: "slashes", Name: "m.b/x", At: imports.Place{File: "a.x", Line: 1}},
		{From: "a", To: "c", Language: "slashes", Name: "m.c", Test: true, At: imports.Place{File: "a.x", Line: 2}},
	}
	if d := cmp.Diff(want, b.Edges("a")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"a", "c"}, b.Users("b")); d != "" {
		t.Error(d)
	}
	if b.Edges("x") != nil || b.Users("x") != nil || b.Against("x") != nil {
		t.Error("a module that nobody knows has edges")
	}
}

func TestRebuilt(t *testing.T) {
	t.Parallel()
	if got := builds("a: m.b; m.a", "b: m.a?; m.b").Rebuilt([]string{"b"}); strings.Join(got, " ") != "b a" { // by name it would be the other way
		t.Errorf("a circle that only tests close: %v", got)
	}
	b := builds("core:; m.core", "a: m.core; m.a", "b: m.a; m.b", "c: m.b?; m.c", "d: m.c; m.d", "e:; m.e", "f: m.core?, m.b; m.f")
	for changed, want := range map[string]string{
		"core": "core a b c f", "a": "a b c f", "c": "c d", "e": "e", "b e": "b c e f", "d d": "d", "unknown": "", "b core": "core a b c f",
	} {
		if got := strings.Join(b.Rebuilt(strings.Fields(changed)), " "); got != want {
			t.Errorf("%s: %q, want %q", changed, got, want)
		}
	}
}

// Whatever came and went, the graph is what it would be if it were made anew,
// and that is what plain recursion says.
func TestBuildsAgainstAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		is := map[string]string{}
		b := graph.NewBuilds(both())
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			name := rapid.SampledFrom(names).Draw(t, "module")
			if rapid.IntRange(0, 5).Draw(t, "what") == 0 {
				delete(is, name)
				b.Remove(name)
			} else {
				asks := rapid.SliceOfN(rapid.SampledFrom([]string{"m.a", "m.b?", "m.b/x", "m.c", "m.d?", "m.d", "m.e", "m.f", "./c/x", "%m.a", "%m.b", "%m.c", "%m.d"}), 0, 4).Draw(t, "asks")
				owns := rapid.SampledFrom([]string{"m." + name, "m." + name, "m." + name, "", "m.a"}).Draw(t, "owns") + rapid.SampledFrom([]string{"", ", %m." + name}).Draw(t, "gives")
				is[name] = name + ": " + strings.Join(asks, ", ") + "; " + owns
				b.Set(coded(is[name]))
			}
			if rapid.Bool().Draw(t, "ask") {
				b.Laid("a")
			}
		}
		var texts []string
		for _, text := range is {
			texts = append(texts, text)
		}
		anew, m := builds(texts...), recursionOf(is)
		for _, name := range names {
			got := b.Laid(name)
			if d := cmp.Diff(anew.Laid(name), got); d != "" {
				t.Fatalf("%s: %s", name, d)
			}
			if d := cmp.Diff(m.laid(name), laidOut(got)); d != "" {
				t.Fatalf("%s of %v: %s", name, is, d)
			}
			if (got.Problem != "") != m.refused(name) {
				t.Fatalf("%s of %v: %q", name, is, got.Problem)
			}
			for i, p := range modulesOf(got) {
				early := func(needed string) bool {
					return slices.Contains(modulesOf(got), needed) && !slices.Contains(modulesOf(got)[:i], needed)
				}
				if got.Problem == "" && slices.ContainsFunc(m.compiledOf(p), early) {
					t.Fatalf("%s comes too early in %v", p, modulesOf(got))
				}
			}
			if d := cmp.Diff(m.rebuilt(name), set(b.Rebuilt([]string{name}))); d != "" {
				t.Fatalf("%s of %v: rebuilt %s", name, is, d)
			}
		}
	})
}

// Where many move at once they are taken together, and nothing comes of it but
// what comes of each by itself, whatever was forgotten on the way.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const most = 130
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		many, one := graph.NewBuilds([]imports.Language{slashes{}}), graph.NewBuilds([]imports.Language{slashes{}})
		is := map[string]graph.Code{}
		var heard graph.Heard
		for range 2 {
			var all []graph.Code
			for range 1 + r.IntN(most) {
				name := fmt.Sprintf("m%d", r.IntN(most))
				text := fmt.Sprintf("%s: m.m%d, m.m%d?, m.m%d/x, ./m%d/y; m.m%d", name, r.IntN(most), r.IntN(most), r.IntN(most), r.IntN(most), r.IntN(most))
				all = append(all, coded(text))
				if r.IntN(4) == 0 {
					all[len(all)-1].Beside = &graph.Beside{Asks: []graph.Asked{{Language: "slashes", Name: fmt.Sprintf("m.m%d", r.IntN(most)), At: imports.Place{File: "module.json"}}}}
				}
				is[name] = all[len(all)-1]
			}
			for part := range slices.Chunk(all, 1+r.IntN(most)) {
				if r.IntN(2) == 0 {
					many.Set(part...)
					continue
				}
				for _, c := range part {
					many.Listen(&heard, c)
				}
				many.Take(&heard)
			}
			gone := fmt.Sprintf("m%d", r.IntN(most))
			many.Remove(gone)
			for _, c := range all {
				one.Set(c)
				one.Settle()
			}
			one.Remove(gone)
			delete(is, gone)
			many.Settle()
		}
		anew := graph.NewBuilds([]imports.Language{slashes{}})
		anew.Set(slices.Collect(maps.Values(is))...)
		for range 4 {
			name := fmt.Sprintf("m%d", r.IntN(most))
			want := []any{anew.Edges(name), anew.Users(name), anew.Against(name), anew.Laid(name), anew.Rebuilt([]string{name})}
			for how, b := range map[string]*graph.Builds{"at once": many, "one by one": one} {
				got := []any{b.Edges(name), b.Users(name), b.Against(name), b.Laid(name), b.Rebuilt([]string{name})}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%s, %s: %s", name, how, cmp.Diff(want, got, cmpopts.EquateEmpty()))
				}
			}
		}
	})
}

// Whatever their names have in common, those that do not need one another are
// built in the order of their names.
func TestRebuiltInTheOrderOfNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`m(-longer-than-that)?[ab]{0,10}`), 1, 40, rapid.ID[string]).Draw(t, "names")
		b := graph.NewBuilds(both())
		for _, name := range names {
			b.Set(graph.Code{Module: name, Repository: "r", Folder: name})
		}
		some := names[:rapid.IntRange(1, len(names)).Draw(t, "some")]
		if got := b.Rebuilt(some); !slices.Equal(got, slices.Sorted(slices.Values(some))) {
			t.Fatalf("%q", got)
		}
	})
}

func set(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// recursion is the edges found by looking at everything, and questions by recursion.
type recursion struct {
	names                 []string
	compile, tests, whole map[string]map[string]bool
	torn                  map[string]bool // two own what it asks for
}

func recursionOf(is map[string]string) recursion {
	m := recursion{compile: map[string]map[string]bool{}, tests: map[string]map[string]bool{}, whole: map[string]map[string]bool{}, torn: map[string]bool{}}
	for name := range is {
		m.names = append(m.names, name)
	}
	for name, text := range is {
		m.compile[name], m.tests[name], m.whole[name] = map[string]bool{}, map[string]bool{}, map[string]bool{}
		m.asks(name, text, is)
		for other, says := range is {
			_, owns, _ := strings.Cut(says, ";")
			asks, _, _ := strings.Cut(text, ";")
			for _, o := range strings.FieldsFunc(owns, func(r rune) bool { return r == ',' || r == ' ' }) {
				if strings.HasPrefix(o, "%") && strings.Contains(asks, o) && other != name {
					m.whole[name][other] = true
				}
			}
		}
	}
	return m
}

func (m recursion) asks(name, text string, is map[string]string) {
	for _, asked := range coded(text).Says.Found()["slashes"].Imports {
		var owners []string
		for _, prefix := range append(imports.Prefixes(asked.Name, "/"), imports.Prefixes(asked.Path, "/")...) {
			for other, says := range is {
				owns := slices.ContainsFunc(coded(says).Says.Found()["slashes"].Owns, func(o imports.Own) bool { return o.Name == prefix && asked.Path == "" })
				if owns || asked.Path != "" && other == prefix {
					owners = append(owners, other)
				}
			}
			if len(owners) > 0 {
				break
			}
		}
		switch {
		case slices.Contains(owners, name) || len(owners) == 0:
		case len(owners) > 1:
			m.torn[name] = true
		case asked.Test:
			m.tests[name][owners[0]] = true
		default:
			m.compile[name][owners[0]] = true
		}
	}
}

func (m recursion) compiledOf(name string) (out []string) {
	for to := range m.compile[name] {
		out = append(out, to)
	}
	return out
}

// along is everything that is reached in one step or more by these edges.
func along(name string, edges ...map[string]map[string]bool) map[string]bool {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(n string) {
		for _, of := range edges {
			for to := range of[n] {
				if !seen[to] {
					seen[to] = true
					visit(to)
				}
			}
		}
	}
	visit(name)
	return seen
}

// compiled is what is laid out for more than its tests: what is whole comes alone.
func (m recursion) compiled(name string) map[string]bool {
	out := along(name, m.compile)
	for to := range m.whole[name] {
		out["%"+to] = true
	}
	return out
}

func moduleOf(laid string) string { return strings.TrimPrefix(laid, "%") }

// laidOut is what is laid out as the model has it.
func laidOut(l graph.Laid) map[string]bool {
	out := map[string]bool{}
	for _, layer := range l.Layers {
		if layer.Name != "" {
			layer.Module = "%" + layer.Module
		}
		out[layer.Module] = true
	}
	return out
}

func (m recursion) laid(name string) map[string]bool {
	laid := m.compiled(name)
	for to := range m.tests[name] {
		if !along(to, m.compile, m.whole, m.tests)[name] {
			laid[to] = true
			maps.Copy(laid, along(to, m.compile))
		}
	}
	return laid
}

func (m recursion) refused(name string) bool {
	if m.torn[name] || along(name, m.compile, m.whole)[name] {
		return true
	}
	for to := range m.laid(name) {
		for further := range along(moduleOf(to), m.compile, m.whole) {
			if along(further, m.compile, m.whole)[further] {
				return true
			}
		}
	}
	return false
}

func (m recursion) rebuilt(name string) map[string]bool {
	out, roots := map[string]bool{}, map[string]bool{}
	if slices.Contains(m.names, name) {
		out[name], roots[name] = true, true
	}
	for was := -1; was < len(out)+len(roots); {
		was = len(out) + len(roots)
		for _, other := range m.names {
			for root := range maps.Clone(roots) {
				reaches := along(other, m.compile)[root]
				for to := range m.tests[other] {
					reaches = reaches || to == root || along(to, m.compile)[root]
				}
				if reaches {
					out[other] = true
				}
			}
			for to := range m.whole[other] {
				if out[to] {
					out[other], roots[other] = true, true
				}
			}
		}
	}
	return out
}

// dots is another language with the same names.
type dots struct{ slashes }

func (dots) Name() string { return "dots" }

// What is laid out in one language leads nowhere in another; a circle is one
// whatever the languages, since a module is built as a whole.
func TestLaidInTwoLanguages(t *testing.T) {
	t.Parallel()
	b := graph.NewBuilds([]imports.Language{slashes{}, dots{}})
	inBoth := func(slashes, dots string) graph.Code {
		c, d := coded(slashes), coded(dots)
		c.Says = imports.Say(map[string]imports.Found{"slashes": c.Says.Found()["slashes"], "dots": d.Says.Found()["slashes"]})
		return c
	}
	b.Set(inBoth("a: m.b; m.a", "a: ; m.a"))
	b.Set(inBoth("b: ; m.b", "b: m.c; m.b"))
	b.Set(inBoth("c: ; m.c", "c: m.d; m.c"))
	b.Set(inBoth("d: ; m.d", "d:; m.d"))
	layers := func(module string, want ...graph.Layer) {
		t.Helper()
		got := b.Laid(module)
		got.Open = nil
		if d := cmp.Diff(graph.Laid{Layers: want}, got); d != "" {
			t.Error(d)
		}
	}
	layers("a", graph.Layer{Module: "b", Language: "slashes"})
	layers("b", graph.Layer{Module: "d", Language: "dots"}, graph.Layer{Module: "c", Language: "dots"})
	for changed, want := range map[string]string{"d": "d c b", "b": "b a", "a": "a"} {
		if got := strings.Join(b.Rebuilt([]string{changed}), " "); got != want {
			t.Errorf("%s: rebuilt %q, want %q", changed, got, want)
		}
	}
	if d := cmp.Diff([]string{"a", "b", "c", "d"}, b.Above([]string{"d"})); d != "" {
		t.Error(d)
	}
	b.Set(inBoth("a: m.b, m.d?; m.a", "a: m.d; m.a"))
	layers("a", graph.Layer{Module: "d", Language: "dots"}, graph.Layer{Module: "d", Language: "slashes"}, graph.Layer{Module: "b", Language: "slashes"})
	b.Set(inBoth("d: ; m.d", "d: m.a; m.d"))
	const want = "is in a circle of imports: a → (a.x:1) d → (d.x:1) a"
	if got := b.Laid("d").Problem; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What cannot be read may ask for what others own, and for nothing else.
func TestALanguageIsOpenWhereOthersOwnSomething(t *testing.T) {
	t.Parallel()
	b := builds("a:; m.a", "b: zz")
	for module, want := range map[string]int{"a": 0, "b": 1} {
		if got := b.Laid(module).Open; len(got) != want {
			t.Errorf("%s: %v", module, got)
		}
	}
	b.Set(coded("c:; m.c"))
	if got := b.Laid("a").Open; len(got) != 1 || got[0] != "slashes" {
		t.Errorf("a: %v", got)
	}
	b.Remove("c")
	if got := b.Laid("a").Open; len(got) != 0 {
		t.Errorf("a: %v", got)
	}
}

// An image is laid out by itself, once for each of its names; what it is made of is
// not, and moves who asks for it all the same.
func TestWhatIsWhole(t *testing.T) {
	t.Parallel()
	b := builds("base:; %base", "tools: %base; %tools/a, %tools/b, m.tools", "app: %tools/a, %tools/b, %tools/a; m.app", "user: m.app; m.user", "other: m.tools; m.other")
	want := []graph.Layer{{Module: "tools", Language: "images", Name: "tools/a"}, {Module: "tools", Language: "images", Name: "tools/b"}}
	if d := cmp.Diff(want, b.Laid("app").Layers); d != "" {
		t.Error(d)
	}
	if got := strings.Join(b.Rebuilt([]string{"base"}), " "); got != "base tools app other user" {
		t.Errorf("rebuilt %s", got)
	}
	for module, want := range map[string]string{"app": "tools tools", "user": "app", "other": "tools", "tools": "base"} {
		if got := laidWords(b.Laid(module)); got != want {
			t.Errorf("%s is %q, want %q", module, got, want)
		}
	}
	b.Set(coded("base: m.x, %tools/a; %base"))
	if got, want := b.Laid("base").Problem, "is in a circle of imports: base → (base.x:2) tools → (tools.x:1) base"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Set(coded("base: m.x, %tools/c, m.y, %base, %zz; %base"))
	nobodys := []graph.Edge{
		{From: "base", Language: "images", Name: "tools/c", At: imports.Place{File: "base.x", Line: 2}},
		{From: "base", Language: "images", Name: "zz", At: imports.Place{File: "base.x", Line: 5}},
	}
	got := b.Laid("base").Nobodys
	slices.SortFunc(got, func(x, y graph.Edge) int { return x.At.Compare(y.At) })
	if d := cmp.Diff(nobodys, got); d != "" {
		t.Error(d)
	}
	if b.Owner("images", "tools/b") != "tools" || b.Owner("images", "tools") != "" {
		t.Error("who owns an image")
	}
}
