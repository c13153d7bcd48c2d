package graph_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/graph"
)

// module is written "name: requires, requires; provides, provides". An ! before
// the name says that it is declared here, a * before what is provided that it is
// good for the whole mesh.
func module(text string) graph.Module {
	name, rest, _ := strings.Cut(text, ":")
	requires, provides, _ := strings.Cut(rest, ";")
	m := graph.Module{Name: strings.TrimPrefix(name, "!"), Here: strings.HasPrefix(name, "!")}
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
	}
	m.Requires = split(requires)
	for _, p := range split(provides) {
		if offer, is := strings.CutPrefix(p, "*"); is {
			m.Offers = append(m.Offers, offer)
		} else {
			m.Provides = append(m.Provides, p)
		}
	}
	return m
}

func modules(texts ...string) []graph.Module {
	out := make([]graph.Module, len(texts))
	for i, t := range texts {
		out[i] = module(t)
	}
	return out
}

func TestClosure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		modules  []string
		there    string
		roots    string
		order    string
		problems []graph.Problem
	}{
		{name: "nothing", modules: []string{"a: b", "b:"}},
		{name: "no modules", roots: "a", order: "a", problems: []graph.Problem{
			{Module: "a", Why: "is not a module that the mesh knows, or its manifest has never been read"},
		}},
		{name: "one", modules: []string{"a:", "b:"}, roots: "a", order: "a"},
		{name: "a root twice", modules: []string{"a:", "b:"}, roots: "a a", order: "a"},
		{name: "providers first", modules: []string{"a: b", "b: c", "c:"}, roots: "a", order: "c b a"},
		{name: "a diamond", modules: []string{"a: b, c", "b: d", "c: d", "d:"}, roots: "a", order: "d b c a"},
		{name: "a root that another needs keeps its place", modules: []string{"b:", "m: a", "a:"}, roots: "b m a", order: "a b m"},
		{name: "by what it provides", modules: []string{"networking: name-resolution", "dns:; name-resolution"}, roots: "networking", order: "dns networking"},
		{name: "provided twice by one", modules: []string{"a: x", "dns:; x, x"}, roots: "a", order: "dns a"},
		{name: "required twice", modules: []string{"a: b, x, b", "b:; x"}, roots: "a", order: "b a"},
		{name: "it provides what it requires", modules: []string{"a: a, x; x"}, roots: "a", order: "a"},
		{name: "the mesh has it", modules: []string{"a: x", "b: c; *x", "c:"}, there: "x", roots: "a", order: "a"},
		{
			name: "the mesh could have it", modules: []string{"a: x", "b:; *x", "c:; *x"}, roots: "a", order: "a",
			problems: []graph.Problem{{Module: "a", Why: `requires "x" of the mesh, and it is declared on no node: b and c provide it`}},
		},
		{
			name: "by its own name for the mesh", modules: []string{"a: b", "b:; *b"}, roots: "a", order: "a",
			problems: []graph.Problem{{Module: "a", Why: `requires "b" of the mesh, and it is declared on no node: b provides it`}},
		},
		{name: "the mesh has it, and one here could", modules: []string{"a: x", "b:; *x", "c:; x"}, there: "x", roots: "a", order: "a"},
		{name: "the mesh has it, and one here does", modules: []string{"!a: x", "b:; *x", "!c:; x"}, there: "x", roots: "a", order: "c a"},
		{name: "each needs the other's, of the mesh", modules: []string{"a: y; *x", "b: x; *y"}, there: "x y", roots: "a b", order: "a b"},
		{
			name: "one here and one for the mesh could", modules: []string{"a: x", "b:; *x", "c:; x"}, roots: "a", order: "a",
			problems: []graph.Problem{{Module: "a", Why: `requires "x", and c provides it here and b provides it for the whole mesh`}},
		},
		{
			name: "nothing provides it", modules: []string{"a: b, x", "b:"}, roots: "a", order: "b a",
			problems: []graph.Problem{{Module: "a", Why: `requires "x", and no module provides it`}},
		},
		{
			name: "two provide it", modules: []string{"a: x", "unbound:; x", "dnsmasq:; x"}, roots: "a", order: "a",
			problems: []graph.Problem{{Module: "a", Why: `requires "x", and dnsmasq and unbound provide it`}},
		},
		{
			name: "another provides a module's own name", modules: []string{"a: dns", "dns:", "other:; dns"}, roots: "a", order: "a",
			problems: []graph.Problem{{Module: "a", Why: `requires "dns", and dns and other provide it`}},
		},
		{name: "what is declared here provides before what could", modules: []string{"!a: x", "!dnsmasq:; x", "unbound:; x"}, roots: "a", order: "dnsmasq a"},
		{
			name: "two are declared here, and both stay", modules: []string{"!a: x", "!dnsmasq: base; x", "!unbound: a; x", "third:; x", "!base:"},
			roots: "a", order: "a base dnsmasq unbound",
			problems: []graph.Problem{{Module: "a", Why: `requires "x", and dnsmasq and unbound provide it`}},
		},
		{
			name: "a bad root harms no good one", modules: []string{"bad: x, dns", "good: dns", "dns:"}, roots: "bad good", order: "dns bad good",
			problems: []graph.Problem{{Module: "bad", Why: `requires "x", and no module provides it`}},
		},
		{
			name: "a bad provider", modules: []string{"a: b", "b: x"}, roots: "a", order: "b a",
			problems: []graph.Problem{{Module: "b", Why: `requires "x", and no module provides it`}},
		},
		{
			name: "a cycle of two", modules: []string{"a: b", "b: a"}, roots: "b", order: "a b",
			problems: []graph.Problem{
				{Module: "a", Why: "is in a cycle of requirements: a → b → a"},
				{Module: "b", Why: `is in a cycle of requirements with "a"`},
			},
		},
		{
			name: "a long cycle is named whole, with what needs it and what it needs",
			modules: []string{
				"top: c", "c: d, base", "d: a", "a: b", "b: c", "base:", "good:",
			},
			roots: "top good", order: "base a b c d good top",
			problems: []graph.Problem{
				{Module: "a", Why: "is in a cycle of requirements: a → b → c → d → a"},
				{Module: "b", Why: `is in a cycle of requirements with "a"`},
				{Module: "c", Why: `is in a cycle of requirements with "a"`},
				{Module: "d", Why: `is in a cycle of requirements with "a"`},
			},
		},
		{
			name: "of two cycles through one module the shorter", modules: []string{"a: b, x", "b: c", "c: a", "x: a"}, roots: "c", order: "a b c x",
			problems: []graph.Problem{
				{Module: "a", Why: "is in a cycle of requirements: a → x → a"},
				{Module: "b", Why: `is in a cycle of requirements with "a"`},
				{Module: "c", Why: `is in a cycle of requirements with "a"`},
				{Module: "x", Why: `is in a cycle of requirements with "a"`},
			},
		},
		{name: "a cycle that nobody asks for", modules: []string{"a: b", "b: a", "c:"}, roots: "c", order: "c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			order, problems := graph.New(modules(c.modules...), strings.Fields(c.there)).Closure(strings.Fields(c.roots))
			if got := strings.Join(order, " "); got != c.order {
				t.Errorf("order %q, want %q", got, c.order)
			}
			if d := cmp.Diff(c.problems, problems); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestProvider(t *testing.T) {
	t.Parallel()
	g := graph.New(modules("dns:; name-resolution", "!ntp:; time", "chrony:; time", "a:; x", "b:; x"), nil)
	for _, c := range []struct{ name, module, why string }{
		{"dns", "dns", ""},
		{"name-resolution", "dns", ""},
		{"time", "ntp", ""},
		{"chrony", "chrony", ""},
		{"x", "", `requires "x", and a and b provide it`},
		{"y", "", `requires "y", and no module provides it`},
	} {
		if module, why := g.Provider(c.name); module != c.module || why != c.why {
			t.Errorf("%s: %q, %q", c.name, module, why)
		}
	}
}

// TestNewDoesNotChangeItsInput: the graph keeps what it was given.
func TestNewDoesNotChangeItsInput(t *testing.T) {
	t.Parallel()
	in := modules("b: z, a", "a:; y, x", "z:; x")
	was := slices.Clone(in)
	g := graph.New(in, nil)
	roots := []string{"b", "a"}
	g.Closure(roots)
	if d := cmp.Diff(was, in); d != "" || roots[0] != "b" {
		t.Error(d, roots)
	}
}
