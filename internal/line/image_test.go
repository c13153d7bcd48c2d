package line

import (
	"net/http"
	"strings"
	"testing"

	"noxmesh/api"
	"noxmesh/builder"
	"noxmesh/internal/oci/imagetest"
	"noxmesh/status"
)

func baseImage(t *testing.T, which string) imagetest.Image {
	return imagetest.Image{Platform: builder.Platform, Layers: []imagetest.Layer{imagetest.Shell(t), {{Name: "etc/which", Text: which + "\n"}}}}
}

// A module is built in the image that it names. When the name means another one it
// is built again in that, and that goes out; the same image pushed again, and a
// registry that is away, move nothing.
func TestAModuleIsBuiltInTheImageThatItNames(t *testing.T) {
	t.Parallel()
	images := imagetest.Serve(t)
	images.Push("site/base", "1", baseImage(t, "first"))
	m := start(t, options{hosts: 1, builders: 1})
	m.needsSandbox()
	name := images.Reference("site/base", "1")
	site := m.module("site", files{
		"module.json": `{"module": "site", "resources": [{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/pages"}],
			"build": {"in": "` + name + `", "run": [["/bin/sh", "-c", "read x </etc/which; echo $x >pages/says"]], "artifacts": {"pages": {"type": "archive", "path": "pages"}}}}`,
		"pages/says": "nothing\n",
	})
	m.assign("site", "node1")
	m.auto("site")
	says := func(want string) func(status.Status) string {
		return func(s status.Status) string {
			if why := isOut("site", site, 1)(s); why != "" {
				return why
			}
			if got := strings.TrimSpace(m.read("node1", "opt/pages/says")); got != want {
				return line(s, "site") + ": it says " + got
			}
			return ""
		}
	}
	m.until("it is out, built in the first image", says("first"))
	builds := func() []api.BuildOut { return do(m, api.Builds(), api.BuildsIn{Module: "site"}).Builds }
	look := func() { do(m, api.ModuleLook(), api.LookIn{Module: "site"}) }
	was := builds()

	images.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	look()
	s := m.until("its registry is said to be away", func(s status.Status) string {
		if e := moduleOf(s, "site").Environment; e == nil || !strings.Contains(e.Why, "answered 500") {
			return line(s, "site")
		}
		return ""
	})
	if e := moduleOf(s, "site").Environment; e.Moved() || e.Digest != was[0].Environment || len(builds()) != len(was) {
		t.Errorf("a registry that is away moved something: %+v, %+v", e, builds())
	}

	images.Answer(nil)
	images.Push("site/base", "1", baseImage(t, "first"))
	look()
	m.until("its registry is back", func(s status.Status) string {
		if e := moduleOf(s, "site").Environment; e.Why != "" {
			return e.Why
		}
		return ""
	})
	if now := builds(); len(now) != len(was) {
		t.Errorf("the same image pushed again built it again: %+v", now)
	}

	second := images.Push("site/base", "1", baseImage(t, "second"))[0]
	look()
	m.until("it is out, built in the second image", says("second"))
	if all := builds(); len(all) != len(was)+1 || all[0].Environment != string(second) || all[1].Environment != was[0].Environment {
		t.Errorf("%+v", all)
	}
}

// A commit to a module that makes an image goes out in what is built in that image: first
// the image, then its user, in the new one. A commit that leaves the image as it
// was builds the module again, and nobody else.
func TestAnImageOfAModuleGoesToWhoIsBuiltInIt(t *testing.T) {
	t.Parallel()
	images := imagetest.Serve(t)
	below := images.Host + "/site/base@" + string(images.Push("site/base", "1", baseImage(t, "below"))[0])
	m := start(t, options{hosts: 1, builders: 1})
	m.needsSandbox()
	site := m.module("site", files{
		"module.json": `{"module": "site", "resources": [{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/pages"}],
			"build": {"in": "mesh.internal/tools", "run": [["/bin/sh", "-c", "read x </etc/which; echo $x >pages/says"]], "artifacts": {"pages": {"type": "archive", "path": "pages"}}}}`,
		"pages/says": "nothing\n",
	})
	m.assign("site", "node1")
	m.auto("site")
	m.until("it waits for an image that nobody makes", func(s status.Status) string {
		for _, w := range moduleOf(s, "site").Waiting {
			if strings.Contains(w.For, "the image mesh.internal/tools, which module.json:2 asks for: no module of the mesh makes one") {
				return ""
			}
		}
		return line(s, "site")
	})
	tools := m.module("tools", files{
		"module.json": `{"module": "tools", "build": {"artifacts": {"image": {"type": "image", "path": "root", "base": "` + below + `"}}}}`, "root/etc/which": "first\n",
	})
	says := func(want string) func(status.Status) string {
		return func(s status.Status) string {
			if why := isFit("tools", tools)(s) + isOut("site", site, 1)(s); why != "" {
				return why
			}
			if got := strings.TrimSpace(m.read("node1", "opt/pages/says")); got != want {
				return line(s, "site") + ": it says " + got
			}
			return ""
		}
	}
	builds := func(module string) []api.BuildOut { return do(m, api.Builds(), api.BuildsIn{Module: module}).Builds }
	m.until("it is out, built in the first image", says("first"))
	was := builds("site")

	tools = m.forge.commit("tools", files{"README.md": "words\n"})
	m.until("the same image is made again", says("first"))
	if now := builds("site"); len(now) != len(was) || now[0].Request != was[0].Request {
		t.Errorf("an image that came out the same built its user again: %+v", now)
	}

	tools = m.forge.commit("tools", files{"root/etc/which": "second\n"})
	m.until("it is out, built in the second image", says("second"))
	all := builds("site")
	if len(all) != len(was)+1 || all[0].Environment == was[0].Environment {
		t.Errorf("%+v, and before %+v", all, was)
	}
	for _, made := range builds("tools") {
		if made.Commit == tools && !all[0].Began.After(made.Ended) {
			t.Errorf("it was built at %s, and the image that it is built in until %s", all[0].Began, made.Ended)
		}
	}
}

// An image is made as its container file says on the image of another module, and on
// what a tag of another registry means: both are part of what it is made of, and when
// one of them is another it is made again, on that.
func TestAnImageIsMadeOnTheImageOfAModuleAndOnATag(t *testing.T) {
	t.Parallel()
	images := imagetest.Serve(t)
	tag := images.Reference("site/base", "1")
	first := images.Push("site/base", "1", baseImage(t, "below"))[0]
	m := start(t, options{hosts: 0, builders: 1})
	base := m.module("base", files{
		"module.json": `{"module": "base", "build": {"artifacts": {"image": {"type": "image", "file": "Containerfile"}}}}`, "etc/base": "one\n",
		"Containerfile": "FROM " + tag + "\nCOPY etc /etc\n",
	})
	app := m.module("app", files{
		"module.json":   `{"module": "app", "build": {"artifacts": {"image": {"type": "image", "file": "Containerfile"}}}}`,
		"Containerfile": "FROM mesh.internal/base\nCOPY run /srv/\n", "run": "run\n",
	})
	both := func(s status.Status) string { return isFit("base", base)(s) + isFit("app", app)(s) }
	m.until("both are made", both)
	show := func(module string) api.BuildShowOut {
		return do(m, api.BuildShow(), api.BuildIn{Build: do(m, api.Builds(), api.BuildsIn{Module: module}).Builds[0].Request})
	}
	image := func(b api.BuildShowOut) string {
		for _, a := range b.Artifacts {
			if a.Type == "image" {
				return a.Digest
			}
		}
		return ""
	}
	// stands waits until the newest build of each is made of what is below it now.
	stands := func(below string) {
		t.Helper()
		m.until("each is made on what is below it", func(s status.Status) string {
			b, a := show("base"), show("app")
			if why := both(s); why != "" || len(b.Bases) != 1 || b.Bases[0].Digest != below || len(a.Closure) != 1 || a.Closure[0].Module != "base" || a.Closure[0].Digest != image(b) || image(a) == "" {
				return why + line(s, "base") + line(s, "app")
			}
			return ""
		})
	}
	stands(string(first))
	was := image(show("app"))
	base = m.forge.commit("base", files{"etc/base": "two\n"})
	stands(string(first))
	if is := image(show("app")); is == was {
		t.Error("the base is another, and what stands on it is the same")
	} else {
		was = is
	}
	second := images.Push("site/base", "1", baseImage(t, "other"))[0]
	do(m, api.ModuleLook(), api.LookIn{Module: "base"})
	stands(string(second))
	if image(show("app")) == was {
		t.Error("what is below the base is another, and what stands on it is the same")
	}
}
