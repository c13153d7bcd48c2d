package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/manifest"
)

// coded records a module whose code says this: "owns; asks, asks?".
func (r *rig) coded(module, commit, says string) {
	r.t.Helper()
	owns, asks, _ := strings.Cut(says, ";")
	var f imports.Found
	for _, o := range strings.Fields(owns) {
		f.Owns = append(f.Owns, imports.Own{Name: o, At: imports.Place{File: "owns", Line: 1}})
	}
	for _, a := range strings.Fields(asks) {
		name, test := strings.CutSuffix(a, "?")
		f.Imports = append(f.Imports, imports.Import{Name: name, Test: test, At: imports.Place{File: "main.go", Line: 3}})
	}
	s := source.Source{
		Module: module, Commit: commit, Tree: "t" + commit, Head: commit, State: source.Read, MovedAt: clock.Now(), Since: clock.Now(), LookedAt: clock.Now(),
		Manifest: manifest.Source{Module: module, Build: &manifest.Build{Artifacts: map[string]manifest.Artifact{"lib": {Type: "library", Language: "go"}}}},
		Code:     imports.Reading{Key: module + commit, Says: imports.Say(map[string]imports.Found{"go": f})},
	}
	r.tx(func(tx *db.Tx) error { return deliverystore.SaveSource(tx, s) })
}

// waits is what the comparison says that a module waits for, or what it asks for.
func (r *rig) waits(module string) string {
	r.t.Helper()
	_, f, _, err := r.factsOf(r.t.Context(), module)
	r.must(err)
	d := delivery.Compare(f, clock.Now())
	var says []string
	if d.Ask != nil {
		says = append(says, "ask "+d.Ask.Commit)
		for _, in := range d.Ask.Closure.Inputs {
			says = append(says, in.Module+"="+in.Digest.Short())
		}
	}
	for _, w := range d.Waiting {
		says = append(says, "waits for "+w.For)
	}
	return strings.Join(says, " ")
}

// A module waits for what it is built against, is built against what that makes,
// and is stale when that moved, and only then.
func TestAModuleIsBuiltAgainstWhatItsCodeAsksFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"base", "lib", "app", "other"} {
		r.add(name, api.ModuleAddIn{Repository: "https://forge.test/" + name})
	}
	r.coded("base", commits.a, "base;")
	r.coded("lib", commits.a, "lib; base")
	r.coded("app", commits.a, "app; lib")
	r.coded("other", commits.a, "other; app?")
	says := func(want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for name := range want {
			got[name] = r.waits(name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	says(map[string]string{
		"base":  "ask " + commits.a,
		"lib":   "waits for the build of base",
		"app":   "waits for the build of base waits for lib, which waits for the build of base",
		"other": "waits for the build of base waits for lib, which waits for the build of base waits for app, which waits for the build of base",
	})
	one := r.library("base", "one")
	says(map[string]string{"base": "", "lib": "ask " + commits.a + " base=" + one.Short(), "app": "waits for the build of lib"})
	two := r.library("lib", "two")
	says(map[string]string{"lib": "", "app": "ask " + commits.a + " base=" + one.Short() + " lib=" + two.Short(), "other": "waits for the build of app"})
	three := r.library("app", "three")
	r.library("other", "four")
	says(map[string]string{"base": "", "lib": "", "app": "", "other": ""})

	// The base moves and comes out the same: nobody is stale.
	r.coded("base", commits.b, "base;")
	says(map[string]string{"base": "ask " + commits.b, "lib": "waits for the build of base"})
	r.library("base", "one")
	says(map[string]string{"base": "", "lib": "", "app": "", "other": ""})

	// It comes out another: for everything that it is laid out for.
	r.coded("base", commits.c, "base;")
	five := r.library("base", "five")
	says(map[string]string{"lib": "ask " + commits.a + " base=" + five.Short(), "app": "waits for the build of lib"})
	r.library("lib", "two") // the same as before: app is stale all the same
	says(map[string]string{"app": "ask " + commits.a + " base=" + five.Short() + " lib=" + two.Short()})
	r.library("app", "three")
	says(map[string]string{"app": "", "other": "ask " + commits.a + " app=" + three.Short() + " base=" + five.Short() + " lib=" + two.Short()})
	_, err := r.recheckStep(t.Context(), "")
	r.must(err)
}

// Whatever stands against a build by what the code says is named.
func TestWhatStandsAgainstABuildIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		r.add(name, api.ModuleAddIn{Repository: "https://forge.test/" + name})
	}
	r.coded("a", commits.a, "a; b")
	r.coded("b", commits.a, "b; c")
	r.coded("c", commits.a, "c; b")
	r.coded("d", commits.a, "d;")
	r.coded("e", commits.a, "e; d")
	for module, want := range map[string]string{
		"a": `waits for its imports: it is built against "b", which is in a circle of imports: b → (main.go:3) c → (main.go:3) b`,
		"c": "waits for its imports: it is in a circle of imports: b → (main.go:3) c → (main.go:3) b",
		"e": "waits for the build of d",
	} {
		if got := r.waits(module); got != want {
			t.Errorf("%s: %s\nwant %s", module, got, want)
		}
	}
	r.build("d") // which makes no library
	const none = `waits for a library of d: it is imported in go and makes none; say under build.artifacts of its module.json {"go": {"type": "library", "language": "go"}}`
	if got := r.waits("e"); got != none {
		t.Errorf("%s\nwant %s", got, none)
	}
	r.coded("c", commits.b, "c;") // the circle is broken
	if got := r.waits("a"); got != "waits for the build of c waits for b, which waits for the build of c" {
		t.Error(got)
	}
}

// What a commit's code says is read with it, from a real repository: edges with
// their places, and a file that cannot be read by its name. A commit that leaves
// the folder as it was is not read again.
func TestCodeIsReadWithTheCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := func(name, code string) map[string]string {
		return map[string]string{
			name + "/module.json": `{"module": "` + name + `", "build": {"artifacts": {"go": {"type": "library", "language": "go"}}}}`,
			name + "/go.mod":      "module example.com/" + name + "\n\ngo 1.26\n",
			name + "/code.go":     code,
		}
	}
	commit := func(app string) {
		all := text("lib", "package lib\n\nfunc F() {}\n")
		for path, code := range text("app", app) {
			all[path] = code
		}
		r.commit("all", all)
	}
	commit("package app\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/lib\"\n)\n\nfunc G() { lib.F(); fmt.Println() }\n")
	for _, name := range []string{"lib", "app"} {
		r.add(name, api.ModuleAddIn{Repository: r.address("all"), Folder: name})
		r.step(name)
	}
	var edges []graph.Edge
	read := func() string {
		t.Helper()
		key := ""
		r.must(r.with(t.Context(), func(v *view) error {
			edges, key = v.code.Edges("app"), v.modules["app"].source.Code.Key
			return nil
		}))
		return key
	}
	first := read()
	want := []graph.Edge{{From: "app", To: "lib", Language: "go", Name: "example.com/lib", At: imports.Place{File: "app/code.go", Line: 6}}}
	if d := cmp.Diff(want, edges); d != "" {
		t.Error(d)
	}
	if got := r.waits("app"); got != "waits for the build of lib" {
		t.Error(got)
	}
	r.commit("all", map[string]string{"README": "nothing of either"}) // both folders are gone
	r.step("app")
	if got := r.source("app"); got.State == "read" || read() != first {
		t.Errorf("a folder that is gone: %+v", got)
	}
	commit("package app\n\nimport (\n\t\"example.com/lib\n)\n")
	r.step("app")
	const broken = `waits for a file that can be read as go: app/code.go:4: `
	if got := r.waits("app"); !strings.HasPrefix(got, broken) {
		t.Errorf("%s\nwant %s…", got, broken)
	}
	if read() == first || len(edges) != 0 {
		t.Errorf("edges of a file that cannot be read: %+v", edges)
	}
}
