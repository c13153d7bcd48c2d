package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/manifest"
	"noxmesh/plan"
)

// TestConflictsAgainstTheModel: who would claim what another has is who clashes
// with one that came before, asked two by two; and both are named.
func TestConflictsAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		for i := range f.Assigned {
			if f.Assigned[i].Settings["s"] == ".." { // a path that is not clean still says what is claimed
				f.Assigned[i].Settings = nil
			}
		}
		got := map[string]string{}
		for _, r := range plan.Conflicts(f) {
			if !strings.Contains(r.Why, "capability") {
				got[r.Module] = r.Why
			}
		}
		in := map[string]plan.Plan{}
		var taken []string
		for _, name := range modelTurn(f, plan.Compile(f).Wanted) {
			m := find(f, name)
			if m.Declared == nil {
				continue
			}
			b := *m.Declared
			b.Manifest.Instances, b.Manifest.Capabilities = nil, nil
			m.Declared = &b
			one := alone(f, m)
			if len(one.Body.Modules) == 0 {
				continue // what it claims nobody knows
			}
			at := slices.IndexFunc(taken, func(other string) bool { return clashes(f, m, one, find(f, other), in[other]) })
			if why, said := got[name]; said != (at >= 0) {
				t.Fatalf("%s: said %q, clashes with one of %q: %v", name, why, taken, at >= 0)
			}
			if at >= 0 {
				if !slices.ContainsFunc(taken, func(other string) bool { return strings.HasSuffix(got[name], fmt.Sprintf("which %q has", other)) }) {
					t.Fatalf("%s: %q names none of %q", name, got[name], taken)
				}
				delete(got, name)
				continue
			}
			in[name] = one
			taken = append(taken, name)
		}
		if len(got) > 0 {
			t.Fatalf("nothing clashes for %v", got)
		}
	})
}

// What the module needs is named whole, before anything of it is declared.
func TestWhatAModuleNeeds(t *testing.T) {
	t.Parallel()
	needs := func(of string, with map[string]manifest.Value, content string) func(*manifest.Built) {
		return func(b *manifest.Built) {
			b.Instances = map[string]manifest.Instance{"db": {Of: of, With: with}}
			b.Resources = []manifest.BuiltResource{{ID: "c", Type: "file", Path: "/c", Content: &content}}
		}
	}
	grant := func(name string, g manifest.Grant) plan.Module {
		return declared(name, func(b *manifest.Built) { b.Grants = map[string]manifest.Grant{"database": g} })
	}
	url := manifest.Grant{Gives: []string{"url"}}
	size := manifest.Grant{With: map[string]manifest.Setting{"size": {Type: "integer"}}}
	check(t, []compileCase{
		{
			name: "nobody grants it", facts: facts("a", "", declared("a", needs("database", nil, ""))), wanted: "a",
			leftOut: "a: needs an instance of database, and no module grants that",
		},
		{
			name: "one grants it", facts: facts("a", "", declared("a", needs("database", nil, "${instances.db.url}")), grant("p", url)), wanted: "a",
			leftOut: "a: needs an instance of database, which p grants; this version makes no instances yet",
		},
		{
			name: "two grant it", facts: facts("a", "", declared("a", needs("database", nil, "")), grant("p", url), grant("q", url)), wanted: "a",
			leftOut: "a: needs an instance of database, and p and q grant that",
		},
		{
			name: "it gives no such value", facts: facts("a", "", declared("a", needs("database", nil, "${instances.db.user}")), grant("p", url)), wanted: "a",
			leftOut: `a: needs an instance of database, which p grants, and that gives no "user"`,
		},
		{
			name: "it takes no such setting", wanted: "a",
			facts:   facts("a", "", declared("a", needs("database", map[string]manifest.Value{"x": manifest.StringValue("")}, "")), grant("p", url)),
			leftOut: `a: needs an instance of database, which p grants, and its with has "x", which it does not take`,
		},
		{
			name: "it needs a setting", facts: facts("a", "", declared("a", needs("database", nil, "")), grant("p", size)), wanted: "a",
			leftOut: `a: needs an instance of database, which p grants, and its with leaves out "size", which has no default`,
		},
		{
			name: "a whole substitution has the setting's type", wanted: "a",
			facts:   facts("a", "", declared("a", with(setting("n", integer(3)), needs("database", map[string]manifest.Value{"size": manifest.StringValue("${settings.n}")}, ""))), grant("p", size)),
			leftOut: "a: needs an instance of database, which p grants; this version makes no instances yet",
		},
		{
			name: "a part of a value is text", wanted: "a",
			facts:   facts("a", "", declared("a", with(setting("n", integer(3)), needs("database", map[string]manifest.Value{"size": manifest.StringValue("${settings.n}G")}, ""))), grant("p", size)),
			leftOut: `a: needs an instance of database, which p grants, and its with says "size" is a string, want an integer`,
		},
		{
			name: "what the node has is held", facts: facts("a", "a", declared("a", needs("database", nil, ""))), wanted: "a",
			held: "a: needs an instance of database, and no module grants that",
		},
		{
			name: "before anything is declared", wanted: "a", facts: facts("a", "", plan.Module{
				Name: "a", Source: &manifest.Source{Module: "a", Instances: map[string]manifest.Instance{"db": {Of: "database"}}},
			}),
			leftOut: "a: needs an instance of database, and no module grants that",
		},
	})
}

func TestWhatANodeCan(t *testing.T) {
	t.Parallel()
	needs := func(b *manifest.Built) { b.Capabilities = words("systemd podman") }
	can := func(f plan.Facts, all ...string) plan.Facts { f.Can = &all; return f }
	check(t, []compileCase{
		{name: "it has it", facts: can(facts("a", "", declared("a", needs)), "apt", "podman", "systemd"), body: "a"},
		{
			name: "it has one of them", facts: can(facts("a", "", declared("a", needs)), "apt", "systemd"), wanted: "a",
			leftOut: `a: needs the capability "podman", and the node reports apt, systemd`,
		},
		{
			name: "it loses them", facts: can(facts("a", "a", declared("a", needs))), wanted: "a",
			held: `a: needs the capability "podman" and "systemd", and the node reports none`,
		},
		{
			name: "it has not said", facts: facts("a", "", declared("a", needs)), wanted: "a",
			leftOut: `a: needs the capability "systemd", and the node has not reported yet which it has`,
		},
		{name: "it has not said, and has the module", facts: facts("a", "a", declared("a", needs)), body: "a"},
	})
}
