package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/build"
	"noxmesh/delivery/environment"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/imagetest"
	"noxmesh/internal/oci/remote"
	"noxmesh/manifest"
)

// inImage is a rig whose modules may be built in images of a registry.
func inImage(t *testing.T) (*rig, *imagetest.Registry) {
	t.Helper()
	r := newRig(t)
	c := remote.New(remote.Config{})
	t.Cleanup(c.Close)
	r.names0 = c
	r.restart()
	return r, imagetest.Serve(t)
}

func builtIn(name, in, text string) map[string]string {
	return map[string]string{"module.json": fmt.Sprintf(`{"module": %q, "build": {"in": %q, "test": [["true"]]},
  "resources": [{"id": "f", "type": "file", "path": "/opt/f", "content": %q}]}`, name, in, text)}
}

func pushed(platform, text string) imagetest.Image {
	return imagetest.Image{Platform: platform, Layers: []imagetest.Layer{{{Name: "a", Text: text}}}}
}

// look looks at every image once.
func (r *rig) look() {
	r.t.Helper()
	keys, err := r.imageKeys(r.t.Context())
	r.must(err)
	for _, key := range keys {
		if _, err := r.imageStep(r.t.Context(), key); err != nil && fault.KindOf(err) != fault.Unavailable && fault.KindOf(err) != fault.Invalid {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) stale(module string) (reasons, waits string) {
	r.t.Helper()
	out, err := r.answerStale(r.t.Context(), api.Who{}, api.Nothing{})
	r.must(err)
	for _, m := range out.Modules {
		if m.Module != module {
			continue
		}
		var all, waiting []string
		for _, s := range m.Reasons {
			all = append(all, fmt.Sprintf("%s %s %s→%s", s.Cause, s.Image, s.From, s.To))
		}
		for _, w := range m.Waiting {
			if w.Since.IsZero() {
				r.t.Errorf("it waits since never: %+v", w)
			}
			waiting = append(waiting, w.For)
		}
		return strings.Join(all, "; "), strings.Join(waiting, "; ")
	}
	return "", ""
}

func (r *rig) request(module string) build.Request {
	r.t.Helper()
	var all []deliverystore.RequestRow
	r.must(r.db.Read(r.t.Context(), func(tx *db.Tx) (err error) {
		all, err = deliverystore.Requests(tx, module, "")
		return err
	}))
	if len(all) == 0 {
		r.t.Fatalf("nothing was asked of %q", module)
	}
	return all[len(all)-1].Request
}

func TestAModuleIsBuiltInWhatItsImageIsNow(t *testing.T) {
	t.Parallel()
	r, images := inImage(t)
	in := images.Reference("site/base", "1")
	r.commit("web", builtIn("web", in, "a"))
	r.add("web", api.ModuleAddIn{Repository: r.address("web")})
	r.step("web")
	if reasons, waits := r.stale("web"); reasons == "" || !strings.Contains(waits, "the image "+in+" that it is built in: the controller has not looked at it yet") {
		t.Fatalf("%q, %q", reasons, waits)
	}
	r.look()
	if _, waits := r.stale("web"); !strings.Contains(waits, "no such image: ") || !strings.Contains(waits, "answered 404") {
		t.Fatalf("%q", waits)
	}
	first := images.Push("site/base", "1", pushed("linux/amd64", "one"), pushed("linux/arm64", "one"))[0]
	r.look()
	b := r.build("web")
	if q := r.request("web"); q.Environment == nil || q.Environment.Digest != first || q.Environment.Image != images.Host+"/site/base" {
		t.Fatalf("what was asked for: %+v", q.Environment)
	}
	if got := b.Manifest.Built.Environment; got != first {
		t.Fatalf("it was built in %q", got)
	}
	if reasons, waits := r.stale("web"); reasons+waits != "" {
		t.Fatalf("%q, %q", reasons, waits)
	}

	// Pushed again as it is, or for another platform: nothing is stale.
	images.Push("site/base", "1", pushed("linux/amd64", "one"), pushed("linux/arm64", "two"))
	r.look()
	if reasons, waits := r.stale("web"); reasons+waits != "" {
		t.Fatalf("another platform's push: %q, %q", reasons, waits)
	}

	// A registry that is away makes nothing stale, and is shown.
	images.Status(503)
	r.look()
	if reasons, _ := r.stale("web"); reasons != "" {
		t.Fatalf("its registry is away: %q", reasons)
	}
	m := r.status().Modules[0]
	if e := m.Environment; e == nil || e.State != "its registry is unreachable" || e.Digest != string(first) || e.Moved() || e.Since.IsZero() ||
		len(m.Waiting) == 0 || !strings.Contains(m.Waiting[0].For, "unreachable") {
		t.Fatalf("%+v, %+v", e, m.Waiting)
	}
	images.Answer(nil)

	// The name means another image: stale, in words, everywhere.
	second := images.Push("site/base", "1", pushed("linux/amd64", "two"))[0]
	r.look()
	want := fmt.Sprintf("environment %s %s→%s", in, first, second)
	if reasons, _ := r.stale("web"); reasons != want {
		t.Fatalf("%q, want %q", reasons, want)
	}
	says := in + " is now " + string(second)[:19] + ", built in " + string(first)[:19]
	if e := r.status().Modules[0].Environment; !e.Moved() || e.Words() != says {
		t.Fatalf("%q", e.Words())
	}
	builds, err := r.answerBuilds(t.Context(), api.Who{}, api.BuildsIn{})
	r.must(err)
	if got := builds.Builds[0]; got.Moved != says || got.Environment != string(first) || got.Own {
		t.Fatalf("%+v", got)
	}
	change, err := r.answerChange(t.Context(), api.Who{}, api.ChangeIn{Module: "web", Rev: "main"})
	r.must(err)
	if !change.Same || len(change.Rebuilt) != 1 || !change.Rebuilt[0].Moved || change.Environment == nil || change.Environment.Words() != says {
		t.Fatalf("%+v, %+v", change, change.Environment)
	}
	_, f, _, err := r.factsOf(t.Context(), "web")
	r.must(err)
	if d := delivery.Compare(f, clock.Now()); d.Ask == nil || d.Ask.Closure.Environment != second || d.Ask.Attempt != 1 {
		t.Fatalf("%+v", d)
	}
	r.restart() // what is known is in the record
	if reasons, _ := r.stale("web"); reasons != want {
		t.Fatalf("after a restart: %q", reasons)
	}
	r.recheckClean()
}

// recheckClean holds the book against the record.
func (r *rig) recheckClean() {
	r.t.Helper()
	if _, err := r.recheckStep(r.t.Context(), recheckKey); err != nil {
		r.t.Error(err)
	}
}

func TestEachThingThatIsWrongWithAnImageIsNamed(t *testing.T) {
	t.Parallel()
	r, images := inImage(t)
	in := images.Reference("a", "1")
	r.commit("web", builtIn("web", in, "a"))
	r.add("web", api.ModuleAddIn{Repository: r.address("web")})
	r.step("web")
	state := func(want environment.State, says string) {
		t.Helper()
		r.look()
		e := r.status().Modules[0].Environment
		if e.State != want.String() || !strings.Contains(e.Why, says) || e.Since.IsZero() {
			t.Errorf("it is %q: %q, want %q", e.State, e.Why, says)
		}
	}
	images.Push("a", "1", pushed("linux/arm64", "a"))
	state(environment.NoPlatform, "images for linux/arm64 and none for linux/amd64")
	images.Tag("a", "1", images.Manifest("a", imagetest.MediaIndex, []byte(`{"schemaVersion":1}`)))
	state(environment.NotImage, "docker's first form")
	images.Status(401)
	state(environment.Refused, "answered 401")
	images.Status(500)
	state(environment.Unreachable, "answered 500")
	images.Answer(nil)
	images.Untag("a", "1")
	state(environment.Gone, "answered 404")

	// What nobody asks for any more is forgotten.
	r.commit("web", builtIn("web", images.Host+"/a@"+string(document.Sum([]byte("x"))), "a"))
	r.step("web")
	images.Asked()
	r.look()
	if keys, err := r.imageKeys(t.Context()); err != nil || len(keys) != 0 || len(images.Asked()) != 0 {
		t.Errorf("%q, %v: a name that is a digest is asked for", keys, err)
	}
	if _, waits := r.stale("web"); strings.Contains(waits, "image") {
		t.Errorf("a name that is a digest is waited for: %q", waits)
	}
	if b := r.build("web"); b.Manifest.Built.Environment != document.Sum([]byte("x")) {
		t.Errorf("%+v", b.Manifest.Built)
	}
}

func TestABuildInNoImageIsTheBuildersOwn(t *testing.T) {
	t.Parallel()
	r, _ := inImage(t)
	r.commit("web", map[string]string{"module.json": `{"module": "web", "build": {"test": [["true"]]}, "resources": [{"id": "f", "type": "file", "path": "/opt/f", "content": "a"}]}`})
	r.add("web", api.ModuleAddIn{Repository: r.address("web")})
	r.step("web")
	if b := r.build("web"); b.Manifest.Built.Environment != "" {
		t.Errorf("%+v", b.Manifest.Built)
	}
	builds, err := r.answerBuilds(t.Context(), api.Who{}, api.BuildsIn{})
	r.must(err)
	if !builds.Builds[0].Own {
		t.Errorf("%+v", builds.Builds[0])
	}
	if e := r.status().Modules[0].Environment; e == nil || !strings.Contains(e.Words(), "not reproducible in general") {
		t.Errorf("%+v", e)
	}
}

// What a container file stands on by a tag is looked up and compared as what a module
// is built in is: the request and the build say what it meant, and where it means
// something else the module is stale. What another container file of the folder stands
// on, and what is named by a digest, is nobody's to look up.
func TestAModuleIsMadeOnWhatATagIsNow(t *testing.T) {
	t.Parallel()
	r, images := inImage(t)
	base, other := images.Reference("site/base", "1"), images.Reference("site/other", "7")
	files := func(file string) map[string]string {
		return map[string]string{
			"module.json":         `{"module": "web", "build": {"in": "` + other + `", "test": [["true"]], "artifacts": {"image": {"type": "image", "file": "sub/Containerfile"}}}}`,
			"sub/Containerfile":   "ARG TAG=1\nFROM " + images.Host + "/site/base:$TAG AS a\nFROM " + base + "\nFROM " + other + "\nFROM scratch\n" + file,
			"Containerfile.build": "FROM " + images.Reference("site/never", "1") + "\n",
		}
	}
	r.commit("web", files(""))
	r.add("web", api.ModuleAddIn{Repository: r.address("web")})
	r.step("web")
	if _, waits := r.stale("web"); !strings.Contains(waits, "the image "+base+" that its container file stands on: the controller has not looked at it yet") {
		t.Fatalf("%q", waits)
	}
	keys, err := r.imageKeys(t.Context())
	r.must(err)
	if want := []string{"linux/amd64 " + base, "linux/amd64 " + other}; !slices.Equal(keys, want) {
		t.Fatalf("%q is looked at, want %q", keys, want)
	}
	images.Push("site/other", "7", pushed("linux/amd64", "other"))
	r.look()
	if _, waits := r.stale("web"); !strings.Contains(waits, "that its container file stands on: no such image: ") {
		t.Fatalf("%q", waits)
	}
	first := images.Push("site/base", "1", pushed("linux/amd64", "one"))[0]
	r.look()
	b := r.build("web")
	want := []manifest.Base{{Image: base, Digest: first}}
	if q := r.request("web"); !slices.Equal(q.Bases, want) || !slices.Equal(b.Manifest.Built.Bases, want) {
		t.Fatalf("%+v, %+v", q.Bases, b.Manifest.Built.Bases)
	}
	if reasons, waits := r.stale("web"); reasons+waits != "" {
		t.Fatalf("%q, %q", reasons, waits)
	}
	out, err := r.answerBuild(t.Context(), api.Who{}, api.BuildIn{Build: b.Request})
	r.must(err)
	if len(out.Bases) != 1 || out.Bases[0] != (api.BaseOut{Image: base, Digest: string(first)}) {
		t.Errorf("%+v", out.Bases)
	}
	images.Status(503)
	r.look()
	reasons, _ := r.stale("web")
	if waits := r.status().Modules[0].Waiting; reasons != "" || len(waits) == 0 || !strings.Contains(waits[0].For, "unreachable") {
		t.Fatalf("its registry is away: %q, %+v", reasons, waits)
	}
	images.Answer(nil)
	second := images.Push("site/base", "1", pushed("linux/amd64", "two"))[0]
	r.look()
	if reasons, _ := r.stale("web"); reasons != fmt.Sprintf("environment %s %s→%s", base, first, second) {
		t.Fatalf("%q", reasons)
	}
	r.restart()
	r.build("web")
	if reasons, waits := r.stale("web"); reasons+waits != "" {
		t.Fatalf("built again: %q, %q", reasons, waits)
	}
	r.recheckClean()

	// A line that a builder refuses is its to name: nothing is looked up for it.
	r.commit("web", files("ADD https://x /\n"))
	r.step("web")
	r.must(r.with(t.Context(), func(v *view) error {
		if asked := v.imagesAsked(); !slices.Equal(asked, []string{"linux/amd64 " + other}) {
			t.Errorf("%q", asked)
		}
		return nil
	}))
}
