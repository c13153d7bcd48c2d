package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
)

// staleWords is what mesh stale would say, in short.
func (r *rig) staleWords() map[string]string {
	r.t.Helper()
	out, err := r.answerStale(r.t.Context(), api.Who{}, api.Nothing{})
	r.must(err)
	all := map[string]string{}
	for i, m := range out.Modules {
		var words []string
		for _, why := range m.Reasons {
			words = append(words, why.Cause+" "+why.Module)
		}
		for _, w := range m.Waiting {
			words = append(words, "waits for "+w.For)
		}
		all[m.Module] = strings.TrimSpace(strings.Join(words, ", "))
		if m.Module == "app" && i < len(out.Modules)-1 && len(m.Waiting) == 2 {
			r.t.Errorf("app comes before %s", out.Modules[i+1].Module)
		}
	}
	return all
}

// What is stale is what would be built, and what waits for it.
func TestStaleIsWhatWouldBeBuilt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"app", "base", "lib"} {
		r.add(name, api.ModuleAddIn{Repository: "https://forge.test/" + name})
	}
	says := func(want map[string]string) {
		t.Helper()
		if d := cmp.Diff(want, r.staleWords()); d != "" {
			t.Error(d)
		}
	}
	r.coded("base", commits.a, "base;")
	r.coded("lib", commits.a, "lib; base")
	says(map[string]string{
		"base": "never-built", "lib": "never-built , waits for the build of base",
		"app": "waits for its source: never looked",
	})
	r.coded("app", commits.a, "app; lib")
	r.library("base", "one")
	r.library("lib", "two")
	r.library("app", "three")
	says(map[string]string{})
	r.coded("base", commits.b, "base;")
	says(map[string]string{
		"base": "tree", "lib": "waits for the build of base",
		"app": "waits for the build of base, waits for lib, which waits for the build of base",
	})
	r.library("base", "other")
	says(map[string]string{"lib": "input base", "app": "waits for the build of lib"})
	r.library("lib", "two")
	says(map[string]string{"app": "input base"})
	r.library("app", "three")
	says(map[string]string{})
	_, f, _, err := r.factsOf(t.Context(), "base")
	r.must(err)
	r.tx(func(tx *db.Tx) error { return deliverystore.MarkGone(tx, delivery.CurrentBuild(f).ID, clock.Now()) })
	if got := r.staleWords()["base"]; got != "gone" {
		t.Errorf("gone: %q", got)
	}
}

// What is required, and what is to be made, is shown where it is said.
func TestWhySaysTheLine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("app", map[string]string{"parts/app/module.json": "{\n  \"module\": \"app\",\n  \"requires\": [\n    \"light\"\n  ],\n  \"instances\": {\n    \"db\": {\"of\": \"postgres-database\"}\n  }\n}\n"})
	r.commit("lamp", map[string]string{"module.json": `{"module": "lamp", "provides": ["light"]}`})
	r.commit("base", map[string]string{"module.json": `{"module": "base", "grants": {"postgres-database": {"gives": ["url"]}}}`})
	r.add("app", api.ModuleAddIn{Repository: r.address("app"), Folder: "parts/app"})
	for _, name := range []string{"lamp", "base"} {
		r.add(name, api.ModuleAddIn{Repository: r.address(name)})
	}
	for _, name := range []string{"app", "lamp", "base"} {
		r.step(name)
	}
	for to, want := range map[string]api.For{
		"lamp": {Name: "light", File: "parts/app/module.json", Line: 4},
		"base": {Name: "postgres-database", File: "parts/app/module.json", Line: 7},
	} {
		out, err := r.answerWhy(t.Context(), api.Who{}, api.WhyIn{What: "app", Module: to})
		r.must(err)
		if len(out.Modules.Direct) != 1 || len(out.Modules.Direct[0].For) != 1 || out.Modules.Direct[0].For[0] != want {
			t.Errorf("why app %s: %+v", to, out.Modules)
		}
	}
	r.commit("app", map[string]string{"parts/app/module.json": "\n{\"module\": \"app\", \"requires\":\n[\"light\"]}\n"})
	r.step("app")
	out, err := r.answerWhy(t.Context(), api.Who{}, api.WhyIn{What: "app", Module: "lamp"})
	r.must(err)
	if out.Modules.Direct[0].For[0].Line != 3 {
		t.Errorf("after the commit: %+v", out.Modules.Direct)
	}
}

// Who owns what is asked for is known before it is committed, of a module that is
// known and of one that is not.
func TestOwnersOfWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("core", map[string]string{"module.json": `{"module": "core"}`, "go.mod": "module example.org/core\n", "core.go": "package core\n", "part/module.json": `{"module": "part"}`})
	r.commit("copy", map[string]string{"module.json": `{"module": "copy"}`, "go.mod": "module example.org/twice\n", "a.go": "package twice\n"})
	r.commit("again", map[string]string{"module.json": `{"module": "again"}`, "go.mod": "module example.org/twice\n", "a.go": "package twice\n"})
	for _, name := range []string{"core", "copy", "again"} {
		r.add(name, api.ModuleAddIn{Repository: r.address(name)})
		r.step(name)
	}
	r.add("part", api.ModuleAddIn{Repository: r.address("core"), Folder: "part"})
	r.step("part")
	asks := []api.Ask{
		{Language: "go", Name: "example.org/core/sub", File: "x.go", Line: 3},
		{Language: "go", Name: "example.org/twice", File: "x.go", Line: 4},
		{Language: "go", Name: "example.net/nobody", File: "x.go", Line: 5},
		{Language: "javascript", Path: "lib", File: "x.js", Line: 1, Test: true},
	}
	for module, want := range map[string][]string{"fresh": {"core go example.org/core/sub x.go:3"}, "part": {"core go example.org/core/sub x.go:3", "core javascript lib x.js:1"}} {
		out, err := r.answerOwners(t.Context(), api.Who{}, api.OwnersIn{Module: module, Owns: []api.Ask{{Language: "go", Name: "example.org/fresh"}}, Asks: asks})
		r.must(err)
		var got []string
		for _, e := range out.Edges {
			for _, f := range e.For {
				got = append(got, fmt.Sprintf("%s %s %s %s:%d", e.To, f.Language, f.Name, f.File, f.Line))
			}
		}
		if d := cmp.Diff(want, got); d != "" || out.Known != (module == "part") || len(out.Against) != 1 || !strings.Contains(out.Against[0], "again and copy own it") {
			t.Errorf("%s: %s %+v", module, d, out)
		}
	}
	if _, err := r.answerOwners(t.Context(), api.Who{}, api.OwnersIn{Module: "No"}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// A commit is read where it is, and nothing of it is recorded.
func TestChangeRecordsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.commit("core", map[string]string{"module.json": `{"module": "core"}`, "go.mod": "module example.org/core\n", "core.go": "package core\n"})
	r.commit("app", map[string]string{"module.json": `{"module": "app"}`, "go.mod": "module example.org/app\n", "a.go": "package app\n\nimport _ \"example.org/core\"\n"})
	for _, name := range []string{"core", "app"} {
		r.add(name, api.ModuleAddIn{Repository: r.address(name)})
		r.step(name)
	}
	branch := strings.TrimSpace(r.git("core", "rev-parse", "--abbrev-ref", "HEAD"))
	r.git("core", "checkout", "-q", "-b", "feature/x")
	second := r.commit("core", map[string]string{"module.json": `{"module": "core"}`, "go.mod": "module example.org/core\n", "core.go": "package core\n\nvar X = 1\n"})
	r.git("core", "tag", "-a", "v2", "-m", "v2")
	r.git("core", "checkout", "-q", branch)
	before := r.source("core")
	for _, rev := range []string{"feature/x", "v2", "refs/tags/v2", "refs/heads/feature/x", "heads/feature/x", second, second[:7], second[:12], strings.ToUpper(second[:9])} {
		out, err := r.answerChange(t.Context(), api.Who{}, api.ChangeIn{Module: "core", Rev: rev})
		r.must(err)
		if out.Commit != second || out.Now != first || out.Same || len(out.Rebuilt) != 2 || out.Rebuilt[0].Module != "core" || out.Rebuilt[1].Module != "app" {
			t.Errorf("%s: %+v", rev, out)
		}
	}
	if d := cmp.Diff(before, r.source("core")); d != "" {
		t.Errorf("it was recorded: %s", d)
	}
	out, err := r.answerChange(t.Context(), api.Who{}, api.ChangeIn{Module: "core", Rev: branch})
	r.must(err)
	if !out.Same || len(out.Rebuilt) != 0 {
		t.Errorf("%+v", out)
	}
	for rev, kind := range map[string]fault.Kind{"no such": fault.Invalid, "": fault.Invalid, "gone": fault.NotFound, strings.Repeat("1", 40): fault.NotFound, "1111111": fault.NotFound, second[:6]: fault.NotFound, second[:7] + "~1": fault.Invalid} {
		if _, err := r.answerChange(t.Context(), api.Who{}, api.ChangeIn{Module: "core", Rev: rev}); fault.KindOf(err) != kind {
			t.Errorf("%q: %v", rev, err)
		}
	}
	if _, err := r.answerChange(t.Context(), api.Who{}, api.ChangeIn{Module: "nobody", Rev: "main"}); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// The rebuild set of a commit is what is stale once the commit is there, and the
// builds that follow come out another.
func TestChangeIsWhatBecomesStale(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	modules := []string{"a", "b", "c", "d"}
	for _, name := range modules {
		r.add(name, api.ModuleAddIn{Repository: "https://forge.test/" + name})
	}
	type commitOf struct {
		asks    []string // by module
		changed int
	}
	draws := rapid.Custom(func(t *rapid.T) (c commitOf) {
		for i, name := range modules {
			says := name + ";"
			for _, to := range modules[:i] {
				says += rapid.SampledFrom([]string{"", " " + to, " " + to + "?"}).Draw(t, name+" asks for "+to)
			}
			c.asks = append(c.asks, says)
		}
		c.changed = rapid.IntRange(0, len(modules)-1).Draw(t, "changed")
		return c
	})
	for turn := range 25 { // each is dozens of writes to a real record
		c := draws.Example(turn)
		asks, changed := c.asks, c.changed
		commit := func(name, which string) string {
			return strings.Repeat(name, 30) + which + strings.Repeat("0", 7) + fmt.Sprintf("%02d", turn)
		}
		// What a module gives to others is made of its tree and of what it is compiled against.
		var gives func(i int, tree string, changed int) string
		gives = func(i int, tree string, changed int) string {
			text := fmt.Sprint(turn, modules[i])
			if i == changed {
				text += tree
			}
			for _, to := range strings.Fields(asks[i])[1:] {
				if !strings.HasSuffix(to, "?") {
					text += "(" + gives(slices.Index(modules, to), tree, changed) + ")"
				}
			}
			return text
		}
		for i, name := range modules {
			r.coded(name, commit(name, "a"), asks[i])
			r.library(name, gives(i, "", i))
		}
		var base base
		r.must(r.with(r.t.Context(), func(v *view) (err error) {
			base, err = v.base(modules[changed])
			return err
		}))
		seen := source.Seen{Tree: "another", Code: base.source.Code}
		want := map[string]bool{}
		for _, one := range base.with(seen).Rebuilt {
			want[one.Module] = true
		}
		r.coded(modules[changed], commit(modules[changed], "b"), asks[changed])
		got := map[string]bool{}
		for i, name := range modules {
			if _, stale := r.staleWords()[name]; stale {
				got[name] = true
				r.library(name, gives(i, "another", changed))
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s of %q: %s", modules[changed], asks, d)
		}
	}
}

// FuzzRefsOf: whatever a person writes is refused, or is refs that git may be asked for.
func FuzzRefsOf(f *testing.F) {
	for _, seed := range []string{"main", "refs/heads/main", "v1.2", strings.Repeat("a", 40), "a b", "", "--upload-pack=x", "../x", "@{u}", "feature/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rev string) {
		refs, err := refsOf(rev)
		if (err == nil) == (len(refs) == 0) {
			t.Fatalf("%q, %v", refs, err)
		}
		for _, ref := range refs {
			if git.CheckRef(ref) != nil || !strings.HasSuffix(ref, rev) {
				t.Errorf("%q became %q", rev, ref)
			}
		}
	})
}
