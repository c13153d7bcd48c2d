package graph_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/graph"
)

// gives is what a module gives to others where all that it is made of counts,
// and made is what it is built of: with what its tests ask for too.
func (m recursion) gives(name string, tree map[string]string) string {
	return name + "@" + tree[name] + m.of(m.compiled(name), tree)
}

func (m recursion) made(name string, tree map[string]string) string {
	return name + "@" + tree[name] + m.of(m.laid(name), tree)
}

func (m recursion) of(laid map[string]bool, tree map[string]string) string {
	var in []string
	for _, to := range slices.Sorted(maps.Keys(laid)) {
		in = append(in, strings.TrimSuffix(to, moduleOf(to))+m.gives(moduleOf(to), tree))
	}
	return "(" + strings.Join(in, " ") + ")"
}

// anew is what each would be made of, and would give, where everything was built
// before: what is made of the same as it was is not built, and gives what it gave.
func (m recursion) anew(before recursion, tree, after map[string]string) func(name string) (made, gives string) {
	known := map[string][2]string{}
	var of func(name string) (made, gives string)
	in := func(laid map[string]bool) string {
		var all []string
		for _, to := range slices.Sorted(maps.Keys(laid)) {
			_, gives := of(moduleOf(to))
			all = append(all, strings.TrimSuffix(to, moduleOf(to))+gives)
		}
		return "(" + strings.Join(all, " ") + ")"
	}
	of = func(name string) (made, gives string) {
		if is, there := known[name]; there {
			return is[0], is[1]
		}
		if !m.refused(name) { // only its tests may be: what it gives is what it is compiled of
			made = name + "@" + after[name] + in(m.laid(name))
		}
		if !before.refused(name) && made == before.made(name, tree) {
			gives = before.gives(name, tree)
		} else {
			gives = name + "@" + after[name] + in(m.compiled(name))
		}
		known[name] = [2]string{made, gives}
		return made, gives
	}
	return of
}

// What a commit would lead to is what comes out another where everything that
// can does, and nothing else; providers come first, and each that has not moved
// itself is built only where one that it is built against comes out another.
func TestWouldAgainstAModel(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name, what string) string {
			asks := rapid.SliceOfN(rapid.SampledFrom([]string{"m.a", "m.b?", "m.b/x", "m.c", "m.d?", "m.d", "m.e?", "./c/x", "%m.a", "%m.b", "%m.c"}), 0, 4).Draw(t, what+" asks")
			owns := rapid.SampledFrom([]string{"m." + name, "m." + name, "m." + name, "", "m.a"}).Draw(t, what+" owns") + rapid.SampledFrom([]string{"", ", %m." + name}).Draw(t, what+" gives")
			return name + ": " + strings.Join(asks, ", ") + "; " + owns
		}
		was, tree := map[string]string{}, map[string]string{}
		for _, name := range names {
			was[name], tree[name] = draw(name, name), "1"
		}
		is, after := maps.Clone(was), maps.Clone(tree)
		changed := rapid.SampledFrom(names).Draw(t, "changed")
		moved := rapid.Bool().Draw(t, "moved")
		if moved {
			after[changed] = "2"
		}
		if rapid.Bool().Draw(t, "code") {
			is[changed] = draw(changed, "changed")
		}
		graphOf := func(texts map[string]string) *graph.Builds { return builds(slices.Collect(maps.Values(texts))...) }
		c := graph.Would(graphOf(was), graphOf(is), changed, moved)

		before, now := recursionOf(was), recursionOf(is)
		got := map[string]graph.Rebuild{}
		for _, r := range c.Rebuilt {
			for _, p := range r.Against {
				if _, early := got[p]; !early && r.Problem == "" {
					t.Fatalf("%v → %v: %s is built against %s, which comes later", was, is, r.Module, p)
				}
			}
			if !r.Moved && len(r.Against) == 0 && r.Problem == "" {
				t.Fatalf("%v → %v: nothing says when %s is built", was, is, r.Module)
			}
			if (r.Problem != "") != now.refused(r.Module) {
				t.Fatalf("%v → %v: %s: %q", was, is, r.Module, r.Problem)
			}
			got[r.Module] = r
		}
		madeNow := now.anew(before, tree, after)
		for _, name := range names {
			if now.refused(name) || before.refused(name) {
				continue // it is not built; that it is named is no harm
			}
			_, in := got[name]
			made, _ := madeNow(name)
			if want := before.made(name, tree) != made; in != want {
				t.Fatalf("%v → %v, %s moved %v: %s is rebuilt %v, want %v", was, is, changed, moved, name, in, want)
			}
			// In any case is where it is another though everything else came out the same.
			same := after[name] == tree[name] && cmp.Equal(before.laid(name), now.laid(name))
			if in && got[name].Moved == same {
				t.Fatalf("%v → %v: %s is built in any case: %v", was, is, name, got[name].Moved)
			}
		}
	})
}

func TestWouldNamesEdges(t *testing.T) {
	t.Parallel()
	was := builds("a: m.b; m.a", "b:; m.b", "c: m.b/x; m.c")
	is := builds("a: m.c; m.a", "b:; m.b", "c: m.b/x; m.c")
	c := graph.Would(was, is, "a", true)
	words := func(edges []graph.Edge) (out string) {
		for _, e := range edges {
			out += e.From + "→" + e.To + " "
		}
		return out
	}
	if got := words(c.Added) + "-" + words(c.Removed); got != "a→c -a→b " {
		t.Error(got)
	}
	if len(c.Rebuilt) != 1 || c.Rebuilt[0].Module != "a" {
		t.Errorf("%+v", c.Rebuilt)
	}
	is = builds("a: m.b; m.a", "b:; m.bb", "c: m.b/x; m.c") // b gives its name up
	c = graph.Would(was, is, "b", true)
	if got := words(c.Added) + "-" + words(c.Removed); got != "-a→b c→b " {
		t.Error(got)
	}
	if got := len(c.Rebuilt); got != 3 {
		t.Errorf("%+v", c.Rebuilt)
	}
}

// The shortest chain of requirements is what the set is made of.
func TestWayAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := model{drawModules(t), drawThere(t)}
		roots := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "roots")
		g := graph.New(m.modules, m.there)
		order, _ := g.Closure(roots)
		for _, to := range names {
			chain, there := g.Way(roots, to)
			if there != slices.Contains(order, to) {
				t.Fatalf("%s: a way is %v, and it belongs in %v", to, there, order)
			}
			if !there {
				continue
			}
			at := to
			if len(chain) > 0 {
				at = chain[0].From
			}
			if !slices.Contains(roots, at) {
				t.Fatalf("%s: the chain %+v begins with no root", to, chain)
			}
			for _, n := range chain {
				if n.From != at || !slices.Contains(m.of(at).Requires, n.Name) {
					t.Fatalf("%s: the chain %+v has a gap at %+v", to, chain, n)
				}
				at = n.To[0]
			}
			if at != to {
				t.Fatalf("the chain %+v does not end with %s", chain, to)
			}
		}
	})
}

// Each requirement has what provides it, or why it has not.
func TestNeedsAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := model{drawModules(t), drawThere(t)}
		g := graph.New(m.modules, m.there)
		for _, of := range m.modules {
			got := map[string]bool{}
			for _, n := range g.Needs(of.Name) {
				switch {
				case m.afar(n.Name):
					if d := cmp.Diff(m.offerers(n.Name), n.To); n.Why != "" || len(m.offerers(n.Name)) > 0 && d != "" {
						t.Fatalf("the mesh has it: %+v %s", n, d)
					}
				case m.need(n.Name) != "":
					if n.Why != "" || !slices.Equal(n.To, []string{m.need(n.Name)}) {
						t.Fatalf("%+v, want %s", n, m.need(n.Name))
					}
				case n.Why == "":
					t.Fatalf("%+v is met", n)
				}
				got[n.Name] = true
			}
			for _, need := range of.Requires {
				if !got[need] && (m.need(need) != of.Name || m.afar(need)) {
					t.Fatalf("%s: %s is missing", of.Name, need)
				}
			}
		}
	})
}
