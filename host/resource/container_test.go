package resource

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/container"
	"noxmesh/host/docker"
	"noxmesh/host/keep"
	"noxmesh/host/podman"
)

// A word in the file of a unit is one word to systemd, and what it says.
func TestWordsOfAUnit(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":              `""`,
		"--name=web":    `"--name=web"`,
		"a b;":          `"a b;"`,
		`"x" \ 'y'`:     `"\"x\" \\ 'y'"`,
		"100% $HOME":    `"100%% $$HOME"`,
		"one\ntwo\tx\r": `"one\x0atwo\x09x\x0d"`,
		"Grüße\x7f":     `"Grüße\x7f"`,
	} {
		if got := unitWord(in); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", in, got, want)
		}
	}
}

// A note is taken for what it was written as; another one means nothing.
func TestNotesOfAContainer(t *testing.T) {
	t.Parallel()
	n := containerNote{Of: "x@y", Image: "z", Check: &container.Check{Test: []string{"CMD", "a b\n"}, Interval: 5}, Brought: []string{"p", "q"}, Unit: "STARTED of=1 from= again=0"}
	if got := readContainerNote(n.String()); got.String() != n.String() || got.Check == nil || got.Check.Test[1] != "a b\n" {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"", "STARTED", `{"of":1}`, `{"what":"x"}`} {
		if got := readContainerNote(text).String(); got != "{}" {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// What a container is started as has a mark of its own, whatever is told apart by it and
// whichever runs it.
func TestMarksOfContainers(t *testing.T) {
	t.Parallel()
	digest := string(document.Sum(nil))
	seen := map[string]string{}
	for _, by := range []runner{podman.Podman{}, docker.Docker{}} {
		for name, change := range map[string]func(*declaration.Traits){
			"nothing":   func(*declaration.Traits) {},
			"a command": func(t *declaration.Traits) { t.Command.Words = []string{"a", "b"} },
			"one word":  func(t *declaration.Traits) { t.Command.Words = []string{"a b"} },
			"env":       func(t *declaration.Traits) { t.Env = map[string]string{"A": "b"} },
			"ports":     func(t *declaration.Traits) { t.Ports = []string{"1:1"} },
			"volumes":   func(t *declaration.Traits) { t.Volumes = []string{"/a:/a"} },
			"read only": func(t *declaration.Traits) { t.Volumes = []string{"/a:/a:ro"} },
			"user":      func(t *declaration.Traits) { t.User = "1" },
		} {
			want := declaration.Traits{Name: "web", Image: "mesh.internal/m/web@" + digest}
			change(&want)
			c := newContained(&holding{want: want, hold: keep.Hold{Subject: "container web"}}, by)
			c.image.ID = "id"
			mark := c.mark()
			if other, there := seen[mark]; there {
				t.Errorf("%s by %s is %s", name, by.Name(), other)
			}
			seen[mark] = name
			if !strings.Contains(c.text(), `"--label=mesh.declared=`+mark+`"`) {
				t.Errorf("%s: %s", name, c.text())
			}
		}
	}
	c := newContained(&holding{want: declaration.Traits{Name: "web", Image: "mesh.internal/m/web@" + digest}}, podman.Podman{})
	if localName(c.of) != "mesh.internal/m/web:"+digest[7:19] || !slices.Equal(c.words()[:1], []string{"--rm"}) {
		t.Error(localName(c.of))
	}
}

// A machine that has no other runner than before starts no container anew for a newer
// host: what podman is told is what it always was.
func TestTheUnitOfAContainer(t *testing.T) {
	t.Parallel()
	want := declaration.Traits{
		Name: "web", Image: "docker.io/library/nginx@" + string(document.Sum(nil)), Env: map[string]string{"A": "b c"}, Ports: []string{"80:8000"},
		Volumes: []string{"/a:/b:ro", "/c:/d"}, User: "1", Command: declaration.Command{Words: []string{"run"}},
	}
	for by, is := range map[runner]string{podman.Podman{}: podmanUnit, docker.Docker{}: dockerUnit} {
		c := newContained(&holding{want: want, hold: keep.Hold{Subject: "container web"}}, by)
		c.image.ID = "id"
		if got := c.text(); got != is {
			t.Errorf("got\n%s\nwant\n%s", got, is)
		}
	}
}

const unitHead = `# The container "web", as mesh-host keeps it: what is changed here is put back.
[Unit]
Description=Container web of the mesh
`

const podmanUnit = unitHead + `Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=all
SyslogIdentifier=web
ExecStartPre=-/usr/bin/podman rm --force --filter=label=mesh.container=web
ExecStartPre=-/bin/rm --force /run/mesh-container-web.cid
ExecStart=/usr/bin/podman run "--name=web" "--label=mesh.container=web" "--label=mesh.declared=63eb8ee4d528f696fd9e493326ee741d" "--cidfile=/run/mesh-container-web.cid" "--rm" "--detach" "--pull=never" "--sdnotify=conmon" "--cgroups=split" "--log-driver=passthrough" "--no-healthcheck" "--env=A=b c" "--publish=80:8000" "--volume=/a:/b:ro" "--volume=/c:/d" "--user=1" "id" "run"
ExecStop=-/usr/bin/podman rm --force --ignore --cidfile=/run/mesh-container-web.cid
Delegate=yes
` + unitTail

const dockerUnit = unitHead + `Wants=network-online.target docker.socket docker.service
After=network-online.target docker.socket docker.service
StartLimitIntervalSec=0

[Service]
Type=exec
Environment=DOCKER_HOST=unix:///run/docker.sock
SyslogIdentifier=web
ExecStartPre=-/bin/sh -c "while ids=$$(/usr/bin/docker ps --quiet --no-trunc --filter label=mesh.container=web --all | xargs --no-run-if-empty /usr/bin/docker inspect --type=container --format={{.Id}}); [ -n \"$$ids\" ]; do /usr/bin/docker rm --force $$ids || sleep 0.2; done"
ExecStart=/usr/bin/docker run "--name=web" "--label=mesh.container=web" "--label=mesh.declared=1cd93dbee823ae4d0f3f1feb3c767859" "--label=mesh.image=docker.io/library/nginx@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" "--rm" "--pull=never" "--log-driver=none" "--no-healthcheck" "--env=A=b c" "--publish=80:8000" "--mount=type=bind,source=/a,target=/b,readonly" "--mount=type=bind,source=/c,target=/d" "--user=1" "id" "run"
ExecStop=-/bin/sh -c "/usr/bin/docker ps --quiet --no-trunc --filter label=mesh.container=web | xargs --no-run-if-empty /usr/bin/docker stop"
ExecStopPost=-/bin/sh -c "while ids=$$(/usr/bin/docker ps --quiet --no-trunc --filter label=mesh.container=web --all | xargs --no-run-if-empty /usr/bin/docker inspect --type=container --format={{.Id}}); [ -n \"$$ids\" ]; do /usr/bin/docker rm --force $$ids || sleep 0.2; done"
` + unitTail

const unitTail = `KillMode=mixed
Restart=always
RestartSec=5
TimeoutStopSec=60

[Install]
WantedBy=multi-user.target
`

// What a note says is somebody's is said as it was before there was anybody but podman.
func TestWhoseAContainerIs(t *testing.T) {
	t.Parallel()
	for _, by := range []runner{podman.Podman{}, docker.Docker{}} {
		if name, what := whose(has(by, "a/b:c")); name != by.Name() || what != "a/b:c" {
			t.Errorf("%q has %q", name, what)
		}
	}
	if has(podman.Podman{}, "x") != "x" {
		t.Error("what podman has is said with its name")
	}
	var fresh containerNote
	fresh.takes(docker.Docker{})
	old := containerNote{Of: "x"}
	old.takes(podman.Podman{})
	moved := old
	moved.takes(docker.Docker{})
	for _, c := range []struct {
		note containerNote
		want string
	}{{fresh, "[docker]"}, {old, "[]"}, {moved, "[podman docker]"}} {
		if got := fmt.Sprint(c.note.By); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if moved.by(podmanName); moved.By != nil {
		t.Error(moved.By)
	}
}
