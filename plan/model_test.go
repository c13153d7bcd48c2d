package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/manifest"
	"noxmesh/plan"
)

var all = []string{"a", "b", "c", "d", "e", "f"}

// drawFacts is a small crowded world, in which most things conflict with something.
func drawFacts(t *rapid.T) plan.Facts {
	some := func(what string, from []string, most int) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, most, rapid.ID[string]).Draw(t, what)
	}
	f := facts("", "", nil...)
	for _, name := range all {
		if rapid.IntRange(0, 9).Draw(t, name+" is known") == 0 {
			continue
		}
		if rapid.IntRange(0, 4).Draw(t, name+" is declared") == 0 {
			f.Modules = append(f.Modules, only(name, strings.Join(some("requires", all, 1), " "), ""))
			continue
		}
		var resources []string
		for i, path := range some("paths", []string{"/x", "/x/y", "/x/y/z", "/x/yy", "/w", "/w/${settings.s}"}, 2) {
			kind := rapid.SampledFrom([]string{"file", "directory", "directory", "link", "archive", "from"}).Draw(t, "kind")
			resources = append(resources, kind+" r"+string(rune('a'+i))+" "+path+" "+rapid.SampledFrom([]string{"one", "two"}).Draw(t, "content"))
		}
		s := manifest.StringValue("s")
		m := declared(name, with(
			requires(strings.Join(some("requires", append([]string{"p"}, all...), 2), " ")),
			func(b *manifest.Built) { b.Provides = drawProvides(t) },
			func(b *manifest.Built) { drawNeeds(t, b) },
			claims(some("claims", []string{"tcp:1", "udp:1", "name:n"}, 1)...),
			setting("s", manifest.Setting{Type: manifest.StringSetting, Default: &s}),
		), resources...)
		f.Modules = append(f.Modules, m)
	}
	for _, name := range some("assigned", all, 4) {
		a := mesh.Assignment{Module: name, Node: thisID}
		if v := rapid.SampledFrom([]string{"", "s", "t", ".."}).Draw(t, "setting"); v != "" {
			a.Settings = map[string]string{"s": v}
		}
		f.Assigned = append(f.Assigned, a)
	}
	f.Had = some("had", all, 4)
	f.There = some("there", []string{"p", "a"}, 1)
	if rapid.IntRange(0, 3).Draw(t, "it has said what it can") > 0 {
		can := some("can", []string{"systemd"}, 1)
		f.Can = &can
	}
	return f
}

func drawProvides(t *rapid.T) []manifest.Provided {
	return rapid.SampledFrom([][]manifest.Provided{nil, manifest.OnNode("p"), {{Name: "p", Scope: manifest.MeshScope}}, {{Name: "a", Scope: manifest.MeshScope}}}).Draw(t, "provides")
}

// drawNeeds is what seldom stands against a module, and what could meet it.
func drawNeeds(t *rapid.T, b *manifest.Built) {
	switch rapid.IntRange(0, 9).Draw(t, "needs") {
	case 0:
		b.Instances = map[string]manifest.Instance{"db": {Of: "database"}}
	case 1:
		b.Grants = map[string]manifest.Grant{"database": {Gives: []string{"url"}}}
	case 2, 3:
		b.Capabilities = []string{"systemd"}
	}
}

func digest(t *rapid.T, f plan.Facts, b declaration.Body) document.Digest {
	d, err := declaration.Declaration{Node: f.Node.ID, Body: b}.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// clash is the rule of ownership, for two things by their paths.
func clash(a, b declaration.Resource) bool {
	in := func(in, out declaration.Resource) bool {
		return strings.HasPrefix(in.Path, out.Path+"/") && out.Type != declaration.Directory
	}
	return a.Path == b.Path || in(a, b) || in(b, a)
}

// TestCompileNeverRemoves: whatever the facts, each module that belongs is in
// the body or named; what the node has is never left out; and no two modules in
// the body have one thing.
func TestCompileNeverRemoves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		p := plan.Compile(f)
		valid(t, f, p)
		reason := map[string]bool{}
		for _, r := range p.LeftOut {
			if reason[r.Module] = true; slices.Contains(f.Had, r.Module) {
				t.Fatalf("the node has %q, and it is left out: %s", r.Module, r.Why)
			}
		}
		for _, r := range p.Held {
			if reason[r.Module] = true; !slices.Contains(f.Had, r.Module) {
				t.Fatalf("the node has no %q, and it holds everything: %s", r.Module, r.Why)
			}
		}
		var in []string
		for _, name := range p.Wanted {
			if !reason[name] {
				in = append(in, name)
			}
		}
		if got := words(names(p.Body)); !slices.Equal(got, in) {
			t.Fatalf("the body has %q, and there are no reasons against %q", got, in)
		}
		seen := map[string]string{}
		for _, m := range f.Modules {
			if !slices.Contains(in, m.Name) {
				continue
			}
			if len(m.Declared.Manifest.Instances) > 0 {
				t.Fatalf("%s is in the body, and nothing makes what it needs an instance of", m.Name)
			}
			for _, capability := range m.Declared.Manifest.Capabilities {
				if f.Can == nil && !slices.Contains(f.Had, m.Name) || f.Can != nil && !slices.Contains(*f.Can, capability) {
					t.Fatalf("%s is in the body, and the node has no %s", m.Name, capability)
				}
			}
			for _, need := range m.Declared.Manifest.Requires {
				if need != "p" && need != "a" && need != m.Name && !slices.Contains(in, need) {
					t.Fatalf("%s is in the body, and %s, which it requires, is not", m.Name, need)
				}
			}
			for _, c := range m.Declared.Manifest.Claims {
				if seen[c] != "" {
					t.Fatalf("%s and %s both have %s", m.Name, seen[c], c)
				}
				seen[c] = m.Name
			}
		}
		for i, r := range p.Body.Resources {
			for _, q := range p.Body.Resources[:i] {
				if owner(r) != owner(q) && clash(r, q) {
					t.Fatalf("%+v and %+v", r, q)
				}
			}
		}
	})
}

func owner(r declaration.Resource) string {
	module, _, _ := strings.Cut(r.ID, "/")
	return module
}

// TestCompileAgainstTheModel: who is in the body, by asking for each module in
// turn whether it clashes with anything that was taken before.
func TestCompileAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		p := plan.Compile(f)
		_, problems := plan.Belong(f.Modules, f.There, assignedTo(f))
		bad := map[string]bool{}
		for _, problem := range problems {
			bad[problem.Module] = true
		}
		in := map[string]plan.Plan{} // each module compiled as if it were alone
		var taken []string
		for _, name := range modelTurn(f, p.Wanted) {
			m := find(f, name)
			if bad[name] || m.Declared == nil || !needsAreIn(f, name, in) {
				continue
			}
			one := alone(f, m)
			if len(one.Body.Modules) == 0 || slices.ContainsFunc(taken, func(other string) bool { return clashes(f, m, one, find(f, other), in[other]) }) {
				continue
			}
			in[name] = one
			taken = append(taken, name)
		}
		slices.Sort(taken)
		if got := slices.Sorted(slices.Values(words(names(p.Body)))); !slices.Equal(got, taken) {
			t.Fatalf("the body has %q, and the model %q; left out %v, held %v", got, taken, p.LeftOut, p.Held)
		}
	})
}

func assignedTo(f plan.Facts) []string {
	var out []string
	for _, a := range f.Assigned {
		out = append(out, a.Module)
	}
	return out
}

func find(f plan.Facts, name string) plan.Module {
	for _, m := range f.Modules {
		if m.Name == name {
			return m
		}
	}
	return plan.Module{Name: name}
}

// modelNeeds is what a module's requirements are met by, where by one.
func modelNeeds(f plan.Facts, name string) []string {
	var needs, out []string
	switch m := find(f, name); {
	case m.Declared != nil:
		needs = m.Declared.Manifest.Requires
	case m.Source != nil:
		needs = m.Source.Requires
	}
	for _, need := range needs {
		var providers []string
		for _, m := range f.Modules {
			if onNode(m, need) {
				providers = append(providers, m.Name)
			}
		}
		if len(providers) != 1 || providers[0] == name {
			continue
		}
		if here := find(f, providers[0]).Declared != nil; !here && (slices.Contains(f.There, need) || forMesh(f, need)) {
			continue // the mesh has it, or two could
		}
		out = append(out, providers[0])
	}
	return out
}

// onNode reports whether a module provides a name on the node it is on.
func onNode(m plan.Module, name string) bool {
	var all []manifest.Provided
	switch {
	case m.Declared != nil:
		all = m.Declared.Manifest.Provides
	case m.Source != nil:
		all = m.Source.Provides
	}
	own := m.Name == name && !slices.Contains(all, manifest.Provided{Name: name, Scope: manifest.MeshScope})
	return own || slices.Contains(all, manifest.Provided{Name: name})
}

func forMesh(f plan.Facts, name string) bool {
	return slices.ContainsFunc(f.Modules, func(m plan.Module) bool {
		return m.Declared != nil && slices.Contains(m.Declared.Manifest.Provides, manifest.Provided{Name: name, Scope: manifest.MeshScope})
	})
}

func needsAreIn(f plan.Facts, name string, in map[string]plan.Plan) bool {
	for _, p := range modelNeeds(f, name) {
		if _, ok := in[p]; !ok {
			return false
		}
	}
	return true
}

// modelTurn is what the node has, with what that needs, before the rest.
func modelTurn(f plan.Facts, wanted []string) []string {
	first := map[string]bool{}
	for _, name := range f.Had {
		first[name] = slices.Contains(wanted, name)
	}
	for range wanted {
		for _, name := range wanted {
			if first[name] {
				for _, p := range modelNeeds(f, name) {
					first[p] = true
				}
			}
		}
	}
	turn := slices.Clone(wanted)
	slices.SortStableFunc(turn, func(a, b string) int {
		switch {
		case first[a] && !first[b]:
			return -1
		case first[b] && !first[a]:
			return 1
		}
		return 0
	})
	return turn
}

// alone is the plan of a node that has nothing but this, whatever it requires.
func alone(f plan.Facts, m plan.Module) plan.Plan {
	b := *m.Declared
	b.Manifest.Requires = nil
	g := plan.Facts{Mesh: f.Mesh, Node: f.Node, Modules: []plan.Module{{Name: m.Name, Declared: &b}}, Can: f.Can}
	if slices.Contains(f.Had, m.Name) {
		g.Had = []string{m.Name}
	}
	g.Assigned = []mesh.Assignment{{Module: m.Name, Node: thisID}}
	for _, a := range f.Assigned {
		if a.Module == m.Name {
			g.Assigned[0] = a
		}
	}
	return plan.Compile(g)
}

func clashes(f plan.Facts, a plan.Module, onA plan.Plan, b plan.Module, onB plan.Plan) bool {
	for _, claim := range a.Declared.Manifest.Claims {
		if slices.Contains(b.Declared.Manifest.Claims, claim) {
			return true
		}
	}
	for _, x := range onA.Body.Resources {
		for _, y := range onB.Body.Resources {
			if clash(x, y) {
				return true
			}
		}
	}
	return false
}

// TestCompileDoesNotDependOnOrder: every list of the facts is a set.
func TestCompileDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		g := f
		g.Modules = rapid.Permutation(f.Modules).Draw(t, "modules")
		g.Assigned = rapid.Permutation(f.Assigned).Draw(t, "assigned")
		g.Had = rapid.Permutation(f.Had).Draw(t, "had")
		if d := cmp.Diff(plan.Compile(f), plan.Compile(g)); d != "" {
			t.Fatal(d)
		}
	})
}

// TestCompileOfAnotherNode: what is said of another node changes nothing here.
func TestCompileOfAnotherNode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		g := f
		for _, a := range drawFacts(t).Assigned {
			a.Node = otherID
			g.Assigned = append(slices.Clone(g.Assigned), a)
		}
		if d := cmp.Diff(plan.Compile(f), plan.Compile(g)); d != "" {
			t.Fatal(d)
		}
	})
}

// TestCompileWhereIsApart: a moved registry, other blobs and another builder
// change no digest, and so no machine.
func TestCompileWhereIsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		g := f
		g.Registry, g.Mesh = "https://elsewhere.example", "mesh00000002"
		g.Modules = slices.Clone(f.Modules)
		for i, m := range g.Modules {
			if m.Declared == nil {
				continue
			}
			b := *m.Declared
			b.Builder, b.ID, b.Published = "another", sum("another build of "+m.Name), sum("another")
			b.Manifest.Built.Commit = strings.Repeat("d", 40)
			b.Where.Archives = nil
			for d, p := range m.Declared.Where.Archives {
				p.Blob, p.Size = sum("packed anew "+string(d)), 77
				b.Where.Archives = putPacked(b.Where.Archives, d, p)
			}
			g.Modules[i].Declared = &b
		}
		was, is := plan.Compile(f), plan.Compile(g)
		if digest(t, f, was.Body) != digest(t, g, is.Body) {
			t.Fatal(cmp.Diff(was.Body, is.Body))
		}
		valid(t, g, is)
	})
}

func putPacked[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[k] = v
	return m
}

// TestCompileNewOnesOnlyAdd: to assign one more module takes nothing from what
// the node has, and holds nothing.
func TestCompileNewOnesOnlyAdd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		f.Had = nil
		before := plan.Compile(f)
		f.Had = words(names(before.Body))
		f.Assigned = append(slices.Clone(f.Assigned), mesh.Assignment{Module: "new", Node: thisID})
		f.Modules = append(slices.Clone(f.Modules), declared("new",
			with(requires(rapid.SampledFrom(append([]string{"", "p"}, all...)).Draw(t, "requires")), claims("tcp:1")),
			rapid.SampledFrom([]string{"archive r /x one", "directory r /x", "file r /w/s one", "file r /x/y/z/q one"}).Draw(t, "resource")))
		after := plan.Compile(f)
		if len(after.Held) > 0 {
			t.Fatalf("held: %v", after.Held)
		}
		for _, m := range before.Body.Modules {
			if !slices.Contains(after.Body.Modules, m) {
				t.Fatalf("%s is gone: %v", m.Module, after.LeftOut)
			}
		}
		same := func(r declaration.Resource) declaration.Resource { r.After = nil; return r }
		for _, r := range before.Body.Resources {
			if !slices.ContainsFunc(after.Body.Resources, func(q declaration.Resource) bool { return cmp.Equal(same(r), same(q)) }) {
				t.Fatalf("%+v is gone", r)
			}
		}
	})
}
