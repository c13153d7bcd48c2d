package builder

import (
	"strings"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/oci/imagetest"
)

const insideManifest = `{"module": "site", "build": {"in": %q,
  "run": [["/bin/sh", "-c", "read x </etc/which; echo \"$x $GREETING $HOME\" >pages/index.html; echo x 2>/dev/null >/etc/which && echo written >>pages/index.html; [ -e /usr/bin/env ] && echo host >>pages/index.html; :"]],
  "test": [["/bin/sh", "-c", "[ -d /mesh ] || [ -d /build/pages ]"]],
  "artifacts": {"pages": {"type": "archive", "path": "pages"}}},
  "resources": [{"id": "pages", "type": "archive", "artifact": "pages", "path": "/srv/pages"}]}`

func insideImage(t *testing.T, which string) imagetest.Image {
	return imagetest.Image{Platform: Platform, Env: []string{"GREETING=hello", "HOME=/root", "PATH=/bin"}, Layers: []imagetest.Layer{
		imagetest.Shell(t), {{Name: "etc/which", Text: which + "\n"}},
	}}
}

// Commands run in the root file system of the image that is asked for, and of
// nothing else; another image gives another build.
func TestCommandsRunInTheImage(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	images, repo, rig := imagetest.Serve(t), newRepository(t), newRig(t)
	rig.config.Limits.Images = 1 << 30
	name := images.Host + "/site/base"
	commit := repo.commit(map[string]string{"module.json": strings.Replace(insideManifest, "%q", `"`+name+`:1"`, 1), "pages/index.html": "none\n"})
	var contents []document.Digest
	for _, which := range []string{"one", "two", "one"} {
		digest := images.Push("site/base", "1", insideImage(t, which))[0]
		q := repo.request(commit, "")
		q.Environment, q.Attempt = &build.Environment{Image: name, Digest: digest}, int64(len(contents)+1)
		q = identified(t, q)
		a := rig.build(q)
		if a.Outcome != build.OutcomeBuilt || a.Tests != build.TestsPassed || a.Manifest.Built.Environment != digest {
			t.Fatalf("%+v\n%s", a, rig.controller.logOf(q))
		}
		if got := rig.content(a, "index.html"); got != which+" hello /home/build\n" {
			t.Errorf("it was built in %q", got)
		}
		if log := rig.controller.logOf(q); strings.Contains(log, "pulled and unpacked") != (len(contents) < 2) {
			t.Errorf("try %d: %s", len(contents), log)
		}
		contents = append(contents, a.Content)
	}
	if contents[0] == contents[1] || contents[0] != contents[2] {
		t.Errorf("%v", contents)
	}
}

// An image that cannot be had is never a verdict on the module.
func TestAnImageThatCannotBeHadIsTheEnvironment(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	images, repo, rig := imagetest.Serve(t), newRepository(t), newRig(t)
	name := images.Host + "/site/base"
	commit := repo.commit(map[string]string{"module.json": strings.Replace(insideManifest, "%q", `"`+name+`:1"`, 1), "pages/index.html": "none\n"})
	none := images.Push("site/base", "2", imagetest.Image{Platform: Platform, Layers: []imagetest.Layer{{{Name: "a", Text: "a"}}}})[0]
	for n, c := range []struct {
		in   *build.Environment
		says string
	}{
		{&build.Environment{Image: name, Digest: document.Sum([]byte("gone"))}, "answered 404"},
		{&build.Environment{Image: name, Digest: none}, "no /bin/sh"},
		{&build.Environment{Image: "docker.io/library/other", Digest: none}, "the request names the image"},
		{nil, "the request names none: upgrade the controller"},
	} {
		q := repo.request(commit, "")
		q.Environment, q.Attempt = c.in, int64(n+1)
		q = identified(t, q)
		if a := rig.build(q); a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, c.says) {
			t.Errorf("%s: %+v", c.says, a)
		}
	}
}
