package builder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/oci/imagetest"
	"noxmesh/manifest"
)

// makes builds a module that makes one image and is what others are built in.
func (m module) makes(files map[string]string, against ...build.Laid) build.Laid {
	m.t.Helper()
	a := m.build(files, against...)
	if a.Outcome != build.OutcomeBuilt || len(a.Manifest.Built.Images) != 1 {
		m.t.Fatalf("%s: %s %s: %s", m.name, a.Outcome, a.Step, a.Why)
	}
	return build.LaidImage(m.name, a.Manifest.Built.Images[0])
}

// in builds the site in the image of another module.
func (r *rig) in(repo *repository, commit string, name string, l build.Laid, attempt int64) (build.Request, build.Answer) {
	r.t.Helper()
	q := repo.request(commit, "")
	q.Environment = &build.Environment{Image: name, Digest: l.Digest}
	q.Closure, q.Laid = []manifest.Input{{Module: l.Module, Artifact: l.Artifact, Digest: l.Digest}}, []build.Laid{l}
	q.Attempt = attempt
	q = identified(r.t, q)
	return q, r.build(q)
}

// Commands run in an image that another module has made, which comes from the mesh's
// own registry by its digest; an image stands on such a one in the same way. No
// other registry is asked.
func TestCommandsRunInTheImageOfAModule(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	images, repo, r := imagetest.Serve(t), newRepository(t), newRig(t)
	r.config.Limits.Images = 1 << 30
	below := images.Host + "/site/base@" + string(images.Push("site/base", "1", insideImage(t, "below"))[0])
	base := func(which string) build.Laid {
		return r.module("base").makes(map[string]string{
			"module.json":    fmt.Sprintf(`{"module": "base", "build": {"artifacts": {"tools": {"type": "image", "path": "root", "base": %q, "env": {"GREETING": "moin"}}}}}`, below),
			"root/etc/which": which + "\n",
		})
	}
	first, second := base("one"), base("two")
	images.Asked()
	commit := repo.commit(map[string]string{"module.json": strings.Replace(insideManifest, "%q", `"mesh.internal/base"`, 1), "pages/index.html": "none\n"})
	for n, l := range []build.Laid{first, second, first} {
		q, a := r.in(repo, commit, "mesh.internal/base", l, int64(n+1))
		if a.Outcome != build.OutcomeBuilt || a.Tests != build.TestsPassed || a.Manifest.Built.Environment != l.Digest {
			t.Fatalf("%+v\n%s", a, r.controller.logOf(q))
		}
		if got, want := r.content(a, "index.html"), []string{"one", "two", "one"}[n]+" moin /home/build\n"; got != want {
			t.Errorf("it was built in %q, want %q", got, want)
		}
	}
	top := r.module("app").makes(map[string]string{
		"module.json": `{"module": "app", "build": {"artifacts": {"image": {"type": "image", "path": "public", "base": "mesh.internal/base/tools", "at": "/srv"}}}}`, "public/run": "echo run\n",
	}, second)
	root, is := r.unpacked(manifest.Image{Digest: top.Digest})
	for file, want := range map[string]string{"srv/run": "echo run\n", "etc/which": "two\n"} {
		if got, err := os.ReadFile(filepath.Join(root.Dir, file)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", file, got, err)
		}
	}
	if len(is.Layers) != 4 {
		t.Errorf("%d layers", len(is.Layers))
	}
	if asked := images.Asked(); len(asked) != 0 {
		t.Errorf("another registry was asked: %q", asked)
	}
}

// That the image of a module cannot be had is never a verdict on who is built in it.
func TestAnImageOfAModuleThatCannotBeHadIsTheEnvironment(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, r := newRepository(t), newRig(t)
	r.config.Limits.Images = 1 << 30
	empty := r.module("base").makes(map[string]string{
		"module.json": `{"module": "base", "build": {"artifacts": {"tools": {"type": "image", "path": "root"}}}}`, "root/a": "a",
	})
	commit := repo.commit(map[string]string{"module.json": strings.Replace(insideManifest, "%q", `"mesh.internal/base"`, 1), "pages/index.html": "none\n"})
	gone := empty
	gone.Digest = document.Sum([]byte("gone"))
	gone.Packed.Blob = gone.Digest
	other := empty
	other.Module = "other"
	for n, c := range []struct {
		laid build.Laid
		says string
	}{
		{gone, "answered 404"},
		{empty, "no /bin/sh"},
		{other, `no module of the mesh makes an image that is called mesh.internal/base`},
	} {
		if _, a := r.in(repo, commit, "mesh.internal/base", c.laid, int64(n+1)); a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, c.says) {
			t.Errorf("want %q: %+v", c.says, a)
		}
	}
}
