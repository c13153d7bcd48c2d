package builder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/internal/oci/imagetest"
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
		"FROM debian:12\n":                       "Containerfile:1: FROM debian:12: it is a name that may mean another image tomorrow",
		"FROM mesh.internal/other\n":             "Containerfile:1: FROM mesh.internal/other: the request does not say which image",
		"FROM --platform=x/y scratch\n":          "Containerfile:1: FROM --platform=x/y is not taken",
		from + "ADD https://x /\n":               "Containerfile:2: ADD is not taken",
		from + "ONBUILD RUN x\n":                 "Containerfile:2: ONBUILD is not taken",
		from + "HEALTHCHECK NONE\n":              "Containerfile:2: HEALTHCHECK is not taken",
		from + "RUN --mount=type=cache x\n":      "Containerfile:2: RUN --mount=type=cache is not taken",
		from + "RUN <<E\nx\nE\n":                 "Containerfile:2: RUN with a here-document is not taken",
		from + "COPY --chown=1 a b\n":            "Containerfile:2: COPY --chown=1 is not taken",
		from + "COPY --from=debian a b\n":        `Containerfile:2: COPY --from=debian is not taken: "debian" is no earlier stage`,
		from + "COPY --from=a a b\n":             `Containerfile:2: COPY --from=a is not taken: "a" is no earlier stage`,
		from + "COPY a\n":                        "Containerfile:2: COPY is followed by what is copied",
		from + "FROM scratch\nCOPY --from=0 x y": `Containerfile:3: COPY: find "x"`,
		from + "COPY gone /\n":                   `Containerfile:2: COPY: find "gone"`,
		from + "COPY ../../etc/passwd /\n":       `Containerfile:2: COPY: find "../../etc/passwd"`,
		from + "COPY out /\n":                    `Containerfile:2: COPY: find "out"`,
		from + "FORM x\n":                        `Containerfile:2: there is no instruction "FORM"`,
		from + "RUN x\n":                         "Containerfile:2: RUN: the stage has no /bin/sh",
	} {
		a := r.module("app").build(map[string]string{"module.json": fmt.Sprintf(fileManifest, ""), "Containerfile": text, "out": "-> /etc/passwd"})
		if a.Outcome != build.OutcomeFailed || !strings.Contains(a.Why, why) {
			t.Errorf("want %s: %s at %s: %s", why, a.Outcome, a.Step, a.Why)
		}
	}
	for file, why := range map[string]string{".dockerignore": `".dockerignore" says what COPY leaves out`, "x": ""} {
		a := r.module("app").build(map[string]string{"module.json": fmt.Sprintf(fileManifest, ""), "Containerfile": from + "COPY x /\n", "x": "x\n", file: "y\n"})
		if built := a.Outcome == build.OutcomeBuilt; built != (why == "") || !strings.Contains(a.Why, why) {
			t.Errorf("%s: %s at %s: %s", file, a.Outcome, a.Step, a.Why)
		}
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
