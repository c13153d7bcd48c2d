package builder

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/imagetest"
	"noxmesh/manifest"
)

const fileManifest = `{"module": "app", "build": {%s"artifacts": {"image": {"type": "image", "file": "Containerfile"}}}}`

// A container file is carried out: stages, commands, and what it says of itself. The
// same bytes come of it in another folder, on another builder, at another commit.
func TestAnImageIsMadeAsItsContainerFileSays(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	images := imagetest.Serve(t)
	base := insideImage(t, "one")
	base.Layers = append(base.Layers, imagetest.Layer{{Name: "usr/sbin/tool", Text: "tool\n"}, {Name: "sbin", Kind: '2', Link: "usr/sbin"}, {Name: "old/a", Text: "a\n"}, {Name: "old/b", Text: "b\n"}})
	digest := images.Push("site/base", "1", base)[0]
	text := `ARG BASE=` + images.Host + `/site/base@` + string(digest) + `
FROM $BASE AS made
ARG WHO=world
ENV LEVEL=9 PATH=/own:$PATH
WORKDIR /work
COPY *.txt sub ./
WORKDIR /empty
RUN cd /work; echo "hello $WHO $LEVEL $PWD" >out && read x </work/a.txt && echo $x >>out
FROM unused AS never
RUN exit 1
FROM $BASE
LABEL a="b c" d=e
COPY --from=made /work/out /srv/out
COPY --from=made /empty /sbin/../srv/empty/
COPY run.sh /sbin/
COPY a.txt /sbin/tool
RUN while read x; do echo ${x} ; done </srv/out >/srv/read; > /old/a; cd /; exec /bin/sh -c ': >/old/new'
EXPOSE 80 53/udp
USER www
VOLUME ["/data"]
STOPSIGNAL SIGINT
ENTRYPOINT ["/bin/sh"]
CMD run $LEVEL
`
	text = strings.Replace(text, "FROM unused", "FROM scratch", 1)
	files := map[string]string{
		"module.json": fmt.Sprintf(fileManifest, ""), "Containerfile": text, "a.txt": "A\n", "b.txt": "B\n", "sub/in/c": "C\n", "run.sh": "!#!/bin/sh\n",
	}
	var first build.Answer
	for n, readme := range []string{"one\n", "two\n"} {
		r := newRig(t)
		files["README"] = readme
		a := r.module("app").build(files)
		if a.Outcome != build.OutcomeBuilt {
			t.Fatalf("%s at %s: %s", a.Outcome, a.Step, a.Why)
		}
		if n == 0 {
			first = a
		} else if a.Manifest.Built.Images[0] != first.Manifest.Built.Images[0] {
			t.Errorf("%v, and then %v", first.Manifest.Built.Images, a.Manifest.Built.Images)
		}
		root, is := r.unpacked(a.Manifest.Built.Images[0])
		for file, want := range map[string]string{
			"srv/read": "hello world 9 /work\nA\n", "usr/sbin/tool": "A\n", "old/a": "", "old/b": "b\n", "old/new": "", "etc/which": "one\n",
		} {
			if got, err := os.ReadFile(filepath.Join(root.Dir, file)); err != nil || string(got) != want {
				t.Errorf("%s is %q, %v", file, got, err)
			}
		}
		if to, err := os.Readlink(filepath.Join(root.Dir, "sbin")); err != nil || to != "usr/sbin" {
			t.Errorf("%q, %v", to, err)
		}
		if _, err := os.Lstat(filepath.Join(root.Dir, "work")); err == nil {
			t.Error("what only another stage has is there")
		}
		want := `"config":{"Cmd":["/bin/sh","-c","run $LEVEL"],"Entrypoint":["/bin/sh"],"Env":["GREETING=hello","HOME=/root","PATH=/bin"],` +
			`"ExposedPorts":{"53/udp":{},"80/tcp":{}},"Labels":{"a":"b c","d":"e"},"StopSignal":"SIGINT","User":"www","Volumes":{"/data":{}}}`
		if !strings.Contains(string(is.Config), want) {
			t.Errorf("%s\nwant %s", is.Config, want)
		}
	}
}

// What a container file cannot have is named with its line before anything runs.
func TestALineThatIsNotTakenIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	from := "FROM scratch AS a\n"
	for text, why := range map[string]string{
		"FROM debian:12\n":                        "Containerfile:1: FROM debian:12: the request does not say which image that is",
		"FROM mesh.internal/other\n":              "Containerfile:1: FROM mesh.internal/other: no module of the mesh makes an image that is called mesh.internal/other",
		"FROM --platform=x/y scratch\n":           "Containerfile:1: FROM --platform=x/y is not taken",
		from + "ADD https://x /\n":                "Containerfile:2: ADD https://x is not taken: what lies somewhere else",
		from + "ADD x git@a.b:c.git /\n":          "Containerfile:2: ADD git@a.b:c.git is not taken",
		from + "ARG A=ssh://a\nADD $A /\n":        "Containerfile:3: ADD: ADD ssh://a is not taken",
		from + "ADD --checksum=x a /\n":           "Containerfile:2: ADD --checksum=x is not taken",
		from + "ADD --from=a a /\n":               "Containerfile:2: ADD --from=a is not taken",
		from + "ADD a\n":                          "Containerfile:2: ADD is followed by what is copied",
		from + "ONBUILD RUN x\n":                  "Containerfile:2: ONBUILD is not taken",
		from + "HEALTHCHECK\n":                    "Containerfile:2: HEALTHCHECK",
		from + "HEALTHCHECK NONE x\n":             "Containerfile:2: HEALTHCHECK: NONE stands alone",
		from + "HEALTHCHECK CMD\n":                "Containerfile:2: HEALTHCHECK: CMD is followed by a command",
		from + "HEALTHCHECK RUN x\n":              `Containerfile:2: HEALTHCHECK: "HEALTHCHECK RUN" is followed by CMD`,
		from + "HEALTHCHECK --timeout=5 CMD x\n":  "Containerfile:2: HEALTHCHECK: --timeout=5: want a time as 30s",
		from + "HEALTHCHECK --retries=-1 CMD x\n": "Containerfile:2: HEALTHCHECK: --retries=-1: want a number",
		from + "HEALTHCHECK --retry=1 CMD x\n":    "Containerfile:2: HEALTHCHECK: --retry=1 is not taken",
		from + "RUN --mount=type=cache x\n":       "Containerfile:2: RUN --mount=type=cache is not taken",
		from + "RUN <<E\nx\nE\n":                  "Containerfile:2: RUN with a here-document is not taken",
		from + "COPY --chmod=1 a b\n":             "Containerfile:2: COPY --chmod=1 is not taken",
		from + "COPY --chown=a:b:c a b\n":         "Containerfile:2: COPY --chown=a:b:c is not taken",
		from + "COPY --chown=www out2 /\n":        `Containerfile:2: COPY: there is no "www" in /etc/passwd of the image`,
		from + "ARG A=:\nCOPY --chown=$A a b\n":   "Containerfile:3: COPY: --chown=: is nobody",
		from + "COPY --from=debian a b\n":         `Containerfile:2: COPY --from=debian is not taken: "debian" is no earlier stage`,
		from + "COPY --from=a a b\n":              `Containerfile:2: COPY --from=a is not taken: "a" is no earlier stage`,
		from + "COPY a\n":                         "Containerfile:2: COPY is followed by what is copied",
		from + "FROM scratch\nCOPY --from=0 x y":  `Containerfile:3: COPY: find "x"`,
		from + "COPY gone /\n":                    `Containerfile:2: COPY: find "gone"`,
		from + "COPY ../../etc/passwd /\n":        `Containerfile:2: COPY: find "../../etc/passwd"`,
		from + "COPY out /\n":                     `Containerfile:2: COPY: find "out"`,
		from + "FORM x\n":                         `Containerfile:2: there is no instruction "FORM"`,
		from + "RUN x\n":                          "Containerfile:2: RUN: the stage has no /bin/sh",
	} {
		a := r.module("app").build(map[string]string{"module.json": fmt.Sprintf(fileManifest, ""), "Containerfile": text, "out": "-> /etc/passwd"})
		if a.Outcome != build.OutcomeFailed || !strings.Contains(a.Why, why) {
			t.Errorf("want %s: %s at %s: %s", why, a.Outcome, a.Step, a.Why)
		}
	}
	for file, text := range map[string]string{".dockerignore": "a\n[\n", "Containerfile.dockerignore": "!\n"} {
		a := r.module("app").build(map[string]string{"module.json": fmt.Sprintf(fileManifest, ""), "Containerfile": from + "COPY x /\n", "x": "x\n", file: text})
		if why := file + ":" + strconv.Itoa(strings.Count(text, "\n")) + ": "; a.Outcome != build.OutcomeFailed || !strings.Contains(a.Why, why) {
			t.Errorf("%s: %s at %s: %s", file, a.Outcome, a.Step, a.Why)
		}
	}
}

// COPY does not see what .dockerignore leaves out, by name or in a folder; the list of
// the container file's own comes first. ADD unpacks what is an archive, whatever it is
// called, and copies the rest. What a HEALTHCHECK says stands in the image.
func TestWhatIsLeftOutAndWhatIsAdded(t *testing.T) {
	t.Parallel()
	images, r := imagetest.Serve(t), newRig(t)
	below := images.Host + "/site/base@" + string(images.Push("site/base", "1", insideImage(t, "below"))[0])
	packed := string(imagetest.Layer{{Name: "in/", Kind: '5'}, {Name: "in/run", Text: "run\n"}, {Name: "to", Kind: '2', Link: "/etc/which"}}.Tar())
	files := map[string]string{
		"module.json": fmt.Sprintf(fileManifest, ""), "Containerfile": "FROM " + below + "\nCOPY . /all/\nCOPY *.txt web /some/\nADD packed plain.txt /added/\nADD plain.txt /name\n" +
			"HEALTHCHECK --interval=1m30s --timeout=3s --retries=2 CMD curl -f http://localhost/ || exit 1\n",
		".dockerignore": "*.md\n!README.md\n**/node_modules\nweb\n!web/keep\n*file\n", "a.md": "a", "README.md": "r", "web/node_modules/x": "x", "web/keep/y": "y", "web/gone": "g",
		"a.txt": "a", "plain.txt": "plain\n", "packed": packed,
	}
	a := r.module("app").build(files)
	if a.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s at %s: %s", a.Outcome, a.Step, a.Why)
	}
	root, is := r.unpacked(a.Manifest.Built.Images[0])
	for file, want := range map[string]string{
		"all/README.md": "r", "all/web/keep/y": "y", "some/keep/y": "y", "some/a.txt": "a", "added/in/run": "run\n", "added/plain.txt": "plain\n", "name": "plain\n",
		"all/a.md": "", "all/web/node_modules": "", "all/web/gone": "", "some/gone": "", "all/Containerfile": "", "added/packed": "",
	} {
		if got, err := os.ReadFile(filepath.Join(root.Dir, file)); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v", file, got, err)
		}
	}
	if to, err := os.Readlink(filepath.Join(root.Dir, "added/to")); err != nil || to != "/etc/which" {
		t.Errorf("%q, %v", to, err)
	}
	if want := `"Healthcheck":{"Interval":90000000000,"Retries":2,"Test":["CMD-SHELL","curl -f http://localhost/ || exit 1"],"Timeout":3000000000}`; !strings.Contains(string(is.Config), want) {
		t.Errorf("%s\nwant %s", is.Config, want)
	}
	files["Containerfile.dockerignore"] = "web\n"
	files["Containerfile"] = "FROM " + below + "\nCOPY web /web\n"
	if a := r.module("app").build(files); a.Outcome != build.OutcomeFailed || !strings.Contains(a.Why, `Containerfile:2: COPY: find "web": it is left out`) {
		t.Errorf("%s at %s: %s", a.Outcome, a.Step, a.Why)
	}
}

// A command of a container file is within the walls of every other.
func TestACommandOfAContainerFileIsWithinWalls(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	images := imagetest.Serve(t)
	base := images.Host + "/site/base@" + string(images.Push("site/base", "1", insideImage(t, "one"))[0])
	mine := filepath.Join(t.TempDir(), "mine")
	must(t, os.WriteFile(mine, []byte("mine\n"), 0o666))
	must(t, os.Chmod(mine, 0o666))
	for text, why := range map[string]string{
		"RUN echo x >" + mine:                    "irectory nonexistent",
		"RUN echo x >/dev/tcp || echo x >/dev/x": "Read-only file system",
		"RUN echo b >/proc/sysrq-trigger":        "sysrq-trigger: ",
		"RUN exit 3":                             "Containerfile:2",
		"RUN kill -9 $PPID; exit 4":              "status 4",
		"RUN while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done >/big": "limit",
		"USER www\nRUN :":                 `it would run as "www"`,
		"RUN cd /; IFS=; echo x >.wh.y":   `"/.wh.y" begins with .wh.`,
		"COPY set /\nRUN umask 0; . /set": "",
	} {
		r := newRig(t)
		r.config.Limits.FileSize = 32 << 20
		a := r.module("app").build(map[string]string{"module.json": fmt.Sprintf(fileManifest, ""), "Containerfile": "FROM " + base + "\n" + text + "\n", "set": ":\n"})
		if built := a.Outcome == build.OutcomeBuilt; built != (why == "") || a.Outcome == build.OutcomeEnvironment || !strings.Contains(a.Why, why) {
			t.Errorf("%s: want %q: %s at %s: %s", text, why, a.Outcome, a.Step, a.Why)
		}
	}
	if got, err := os.ReadFile(mine); err != nil || string(got) != "mine\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// What a tag means is what the request says that it means, whatever the registry says
// now; the build says so too. Of a tag that the request says nothing of, a line is refused.
func TestAnImageIsMadeOnWhatTheRequestSaysThatATagIs(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	images, repo, r := imagetest.Serve(t), newRepository(t), newRig(t)
	r.config.Limits.Images = 1 << 30
	name := images.Reference("site/base", "1")
	digest := images.Push("site/base", "1", insideImage(t, "then"))[0]
	images.Push("site/base", "1", insideImage(t, "now"))
	commit := repo.commit(map[string]string{
		"module.json":   fmt.Sprintf(fileManifest, ""),
		"Containerfile": "FROM " + name + "\nRUN read x </etc/which; echo $x >/says\n",
	})
	q := repo.request(commit, "")
	q.Module, q.Target = "app", "app"
	q.Bases = []manifest.Base{{Image: name, Digest: digest}}
	a := r.build(identified(t, q))
	if a.Outcome != build.OutcomeBuilt || !slices.Equal(a.Manifest.Built.Bases, q.Bases) {
		t.Fatalf("%s at %s: %s: %+v", a.Outcome, a.Step, a.Why, a.Manifest)
	}
	root, _ := r.unpacked(a.Manifest.Built.Images[0])
	if got, err := os.ReadFile(filepath.Join(root.Dir, "says")); err != nil || string(got) != "then\n" {
		t.Errorf("%q, %v", got, err)
	}
	q.Bases, q.Attempt = nil, 2
	if a := r.build(identified(t, q)); a.Outcome != build.OutcomeFailed || !strings.Contains(a.Why, "Containerfile:1: FROM "+name+": the request does not say which image that is") {
		t.Errorf("%s at %s: %s", a.Outcome, a.Step, a.Why)
	}
}

// What is copied for somebody is his in the layer, and stays his when a command writes
// to it; what a command makes is root's.
func TestWhatIsCopiedForSomebodyIsHis(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	if err := syscall.Setxattr(t.TempDir(), "user.mesh.test", []byte("x"), 0); err != nil {
		t.Skipf("the file system of temporary files keeps no attributes: %v", err)
	}
	images, r := imagetest.Serve(t), newRig(t)
	base := insideImage(t, "below")
	base.Layers = append(base.Layers, imagetest.Layer{{Name: "etc/passwd", Text: "root:x:0:0::/:/bin/sh\nwww:x:33:34::/:/bin/sh\n"}})
	below := images.Host + "/site/base@" + string(images.Push("site/base", "1", base)[0])
	packed := string(imagetest.Layer{{Name: "in/run", Text: "run\n"}}.Tar())
	a := r.module("app").build(map[string]string{
		"module.json": fmt.Sprintf(fileManifest, ""), "web/a": "a", "packed": packed,
		"Containerfile": "FROM " + below + " AS one\nCOPY --chown=www web /srv/\nFROM one\nADD --chown=7:8 packed /own\nCOPY web/a /srv/b\nRUN echo more >>/srv/a; : >/srv/new\n",
	})
	if a.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s at %s: %s", a.Outcome, a.Step, a.Why)
	}
	_, is := r.unpacked(a.Manifest.Built.Images[0])
	var text bytes.Buffer
	top := is.Layers[len(is.Layers)-1].Blob
	must(t, r.registry.client.PullBlob(t.Context(), oci.Blob{Repository: "app", Digest: top.Digest, Size: top.Size}, &text))
	z, err := gzip.NewReader(&text)
	must(t, err)
	got := map[string][2]int{}
	for layer := tar.NewReader(z); ; {
		h, err := layer.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		got[h.Name] = [2]int{h.Uid, h.Gid}
	}
	for name, want := range map[string][2]int{"srv/": {33, 34}, "srv/a": {33, 34}, "srv/b": {}, "srv/new": {}, "own/": {7, 8}, "own/in/": {7, 8}, "own/in/run": {7, 8}} {
		if is, there := got[name]; !there || is != want {
			t.Errorf("%s is of %v, %t", name, is, there)
		}
	}
}
