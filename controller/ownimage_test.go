package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/status"
)

// makesImage is a module that makes an image, on top of another where base is one.
func makesImage(name, base, text string) map[string]string {
	if base != "" {
		base = fmt.Sprintf("\n  \"base\": %q,", base)
	}
	return map[string]string{
		"module.json": fmt.Sprintf("{\"module\": %q, \"build\": {\"artifacts\": {\"image\": {\"type\": \"image\",%s \"path\": \"pages\"}}}}", name, base),
		"pages/a":     text,
	}
}

// added is modules of repositories of their names, each looked at once.
func (r *rig) added(modules map[string]map[string]string) {
	r.t.Helper()
	for name, files := range modules {
		r.commit(name, files)
		r.add(name, api.ModuleAddIn{Repository: r.address(name)})
		r.step(name)
	}
}

func (r *rig) edge(from, to string) string {
	r.t.Helper()
	g, err := r.answerGraph(r.t.Context(), api.Who{}, api.GraphIn{})
	r.must(err)
	var all []string
	for _, e := range g.Edges {
		if e.From == from && e.To == to {
			for _, f := range e.For {
				all = append(all, fmt.Sprintf("%s %s:%d", f.Name, f.File, f.Line))
			}
		}
	}
	return strings.Join(all, ", ")
}

// A module is built in the image that another makes: after it, by its digest, and
// again when that moves. Until there is one it waits, and says for which.
func TestAModuleIsBuiltInTheImageOfAnother(t *testing.T) {
	t.Parallel()
	r, images := inImage(t)
	const in = "mesh.internal/base"
	r.added(map[string]map[string]string{"web": builtIn("web", in, "a")})
	if _, waits := r.stale("web"); !strings.Contains(waits, "the image "+in+", which module.json:1 asks for: no module of the mesh makes one that is called so") {
		t.Errorf("nobody makes it: %q", waits)
	}
	plan, err := r.answerChange(t.Context(), api.Who{}, api.ChangeIn{Module: "web", Rev: "main"})
	r.must(err)
	if len(plan.Against) != 1 || !strings.HasPrefix(plan.Against[0], "waits for the image "+in+", which module.json:1 asks for") {
		t.Errorf("mesh plan --commit: %q", plan.Against)
	}
	r.added(map[string]map[string]string{"base": makesImage("base", "", "one")})
	if got := r.edge("web", "base"); got != in+" module.json:1" {
		t.Errorf("its edge: %q", got)
	}
	if _, waits := r.stale("web"); waits != "the image mesh.internal/base: the build of base" {
		t.Errorf("it was not built: %q", waits)
	}
	r.look()
	if keys, err := r.imageKeys(t.Context()); err != nil || len(keys)+len(images.Asked()) != 0 {
		t.Errorf("a registry is asked for an image of the mesh: %q, %v", keys, err)
	}

	first := r.image("base", "one")
	b := r.build("web")
	q := r.request("web")
	want := build.Laid{Module: "base", Artifact: "image", Language: build.InImages, Digest: first, Packed: build.Packed{Blob: first, Size: 9}}
	if e := q.Environment; e == nil || e.Image != in || e.Digest != first || len(q.Laid) != 1 || q.Laid[0] != want {
		t.Fatalf("what was asked for: %+v, %+v", q.Environment, q.Laid)
	}
	q.Registry = "https://mesh.test:8443"
	if text, err := q.Encode(); err != nil {
		t.Error(err)
	} else if _, err := build.DecodeRequest(text); err != nil {
		t.Error(err)
	}
	if p := b.Manifest.Built; p.Environment != first || len(p.Closure) != 1 || p.Closure[0].Module != "base" || p.Closure[0].Digest != first {
		t.Fatalf("its closure: %+v", p)
	}
	if e := r.shown("web").Environment; e.Module != "base" || e.Digest != string(first) || e.Moved() || e.State != "" || e.Words() != "built in "+in+", which is "+string(first)[:19] {
		t.Errorf("%+v: %s", e, e.Words())
	}

	// What is built of a commit that changes nothing in the image moves nobody.
	r.commit("base", makesImage("base", "", "same"))
	r.step("base")
	if _, waits := r.stale("web"); waits != "the image mesh.internal/base: the build of base" {
		t.Errorf("its image is built again: %q", waits)
	}
	r.image("base", "one")
	if reasons, waits := r.stale("web"); reasons+waits != "" {
		t.Errorf("an image that came out the same: %q, %q", reasons, waits)
	}

	change, err := r.answerChange(t.Context(), api.Who{}, api.ChangeIn{Module: "base", Rev: r.commit("base", makesImage("base", "", "two"))})
	r.must(err)
	if len(change.Rebuilt) != 2 || change.Rebuilt[1].Module != "web" || !slices.Equal(change.Rebuilt[1].Against, []string{"base"}) {
		t.Errorf("mesh plan --commit: %+v", change.Rebuilt)
	}
	r.step("base")
	second := r.image("base", "two")
	if reasons, _ := r.stale("web"); reasons != fmt.Sprintf("environment %s %s→%s", in, first, second) {
		t.Errorf("%q", reasons)
	}
	r.restart()
	if e := r.shown("web").Environment; !e.Moved() || e.Words() != in+" is now "+string(second)[:19]+", built in "+string(first)[:19] {
		t.Errorf("%+v: %s", e, e.Words())
	}
	r.build("web")
	if q := r.request("web"); q.In() != second {
		t.Errorf("%+v", q.Environment)
	}
	owners, err := r.answerOwners(t.Context(), api.Who{}, api.OwnersIn{Module: "new", Asks: []api.Ask{{Language: build.InImages, Name: in, File: "Dockerfile", Line: 2}}})
	r.must(err)
	if len(owners.Edges) != 1 || owners.Edges[0].To != "base" || owners.Edges[0].For[0].Line != 2 {
		t.Errorf("mesh module check: %+v", owners.Edges)
	}
	why, err := r.answerWhy(t.Context(), api.Who{}, api.WhyIn{What: "web", Module: "base"})
	r.must(err)
	if why.Modules == nil || len(why.Modules.Direct) != 1 || why.Modules.Direct[0].For[0].Name != in {
		t.Errorf("mesh why: %+v", why.Modules)
	}
	r.recheckClean()
}

// shown is a module as mesh status has it.
func (r *rig) shown(name string) status.Module {
	r.t.Helper()
	all := r.status().Modules
	return all[slices.IndexFunc(all, func(m status.Module) bool { return m.Module == name })]
}

// What is not fit is built in by nobody; what the registry has lost is made again,
// and what was waiting for it goes on.
func TestAnImageThatCannotBeBuiltInIsWaitedFor(t *testing.T) {
	t.Parallel()
	r, _ := inImage(t)
	r.added(map[string]map[string]string{"web": builtIn("web", "mesh.internal/base", "a"), "base": makesImage("base", "", "one")})
	r.built("base", gives{image: document.Sum([]byte("one")), tests: verdict.Unfit})
	if _, waits := r.stale("web"); waits != "the image mesh.internal/base: a build of base that is fit: its newest is unfit" {
		t.Errorf("%q", waits)
	}
	r.commit("base", makesImage("base", "", "two"))
	r.step("base")
	r.image("base", "two")
	r.build("web")
	_, f, _, err := r.factsOf(t.Context(), "base")
	r.must(err)
	r.tx(func(tx *db.Tx) error { return deliverystore.MarkGone(tx, delivery.CurrentBuild(f).ID, clock.Now()) })
	if reasons, _ := r.stale("base"); !strings.HasPrefix(reasons, "gone") {
		t.Errorf("%q", reasons)
	}
	if _, waits := r.stale("web"); waits != "the image mesh.internal/base: the build of base" {
		t.Errorf("%q", waits)
	}
	_, f, _, err = r.factsOf(t.Context(), "base")
	r.must(err)
	if d := delivery.Compare(f, clock.Now().Add(time.Minute)); d.Ask == nil || d.Ask.Attempt != 2 {
		t.Errorf("it is not built again: %+v", d)
	}
}

// Modules that are made in each other's images are refused, and the circle is named
// with where each says it.
func TestACircleOfImagesIsRefused(t *testing.T) {
	t.Parallel()
	r, _ := inImage(t)
	r.added(map[string]map[string]string{
		"a": makesImage("a", "mesh.internal/b/image", "a"), "b": makesImage("b", "mesh.internal/a", "b"), "web": builtIn("web", "mesh.internal/a", "a"),
	})
	const circle = "a → (module.json:2) b → (module.json:2) a"
	for module, want := range map[string]string{"a": "is in a circle of imports: " + circle, "web": `is built against "a", which is in a circle of imports: ` + circle} {
		if _, waits := r.stale(module); waits != "its imports: it "+want {
			t.Errorf("%s: %q", module, waits)
		}
	}
	r.commit("b", makesImage("b", "", "b"))
	r.step("b")
	if got := r.waits("web"); got != "waits for the image mesh.internal/a: a, which waits for the image mesh.internal/b/image: the build of b" {
		t.Errorf("%q", got)
	}
}

// A container file that stands on the image of a module is built after it, and its
// digest is part of what it is built of; what that stands on is not laid out for it.
func TestAContainerFileStandsOnTheImageOfAModule(t *testing.T) {
	t.Parallel()
	r, _ := inImage(t)
	app := makesImage("app", "", "a")
	app["docker/Containerfile"] = "FROM golang:1.26 AS build\nRUN make\nFROM mesh.internal/tools:latest\nCOPY --from=mesh.internal/tools/image /a /b\n"
	r.added(map[string]map[string]string{"early": makesImage("early", "mesh.internal/base", "e")})
	if got := r.waits("early"); got != "waits for the image mesh.internal/base, which module.json:2 asks for: no module of the mesh makes one that is called so" {
		t.Errorf("%q", got)
	}
	r.added(map[string]map[string]string{"base": makesImage("base", "", "b"), "tools": makesImage("tools", "mesh.internal/base", "t"), "app": app})
	if got := r.edge("app", "tools"); got != "mesh.internal/tools docker/Containerfile:3, mesh.internal/tools/image docker/Containerfile:4" {
		t.Errorf("its edge: %q", got)
	}
	if got := r.edge("app", "base"); got != "" {
		t.Errorf("an edge that nobody has said: %q", got)
	}
	base := r.image("base", "b")
	if got := r.waits("app"); got != "waits for the image mesh.internal/tools: the build of tools waits for the image mesh.internal/tools/image: the build of tools" {
		t.Errorf("%q", got)
	}
	if got := r.waits("tools"); !strings.HasSuffix(got, " base="+base.Short()) {
		t.Errorf("%q", got)
	}
	tools := r.image("tools", "t")
	if got := r.waits("app"); !strings.HasPrefix(got, "ask ") || !strings.HasSuffix(got, " tools="+tools.Short()) || strings.Contains(got, "base") {
		t.Errorf("%q", got)
	}
	if b := r.image("app", "a"); b == "" || r.request("app").Environment != nil {
		t.Errorf("%+v", r.request("app"))
	}
}
