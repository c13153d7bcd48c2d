package host

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"noxmesh/declaration"
	booted "noxmesh/internal/machine"
)

// bootsDocker is a machine that has docker, as Debian has it, and no podman that anybody
// sees. Docker keeps what it has beside what podman would have: on no overlay.
func bootsDocker(t *testing.T) *real {
	t.Helper()
	net, m := booted.RaiseWith(t, "docker.io")
	must(t, os.Rename(filepath.Join(m.Root, "usr/bin/podman"), filepath.Join(m.Root, "root/podman")))
	for name, text := range map[string]string{
		"docker/daemon.json":                        `{"data-root": "/var/lib/containers/docker", "insecure-registries": ["` + booted.Gateway + `:5000"], "max-download-attempts": 1}`,
		"systemd/system/docker.service.d/test.conf": "[Unit]\nStartLimitIntervalSec=0\n", // a test starts it more often than anybody
	} {
		file := filepath.Join(m.Root, "etc", name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	return boot(t, net, m, "docker")
}

// What holds of containers that podman runs holds of those that docker runs.
func TestContainersOfDockerOnAMachine(t *testing.T) {
	t.Parallel()
	r := bootsDocker(t)
	r.keepsContainers(t)
	r.turn(t, "docker is slow", r.dockerIsSlow)
	r.turn(t, "what docker does by itself", r.dockerEnds)
	r.turn(t, "podman comes and goes", r.podmanComes)
}

// dockerIsSlow is that a container that docker has not started when its unit runs for long
// is waited for: the unit's process is none of the container's. What starts it stands
// still until the host must have looked.
func (r *real) dockerIsSlow(t *testing.T) {
	web := list(container("web", declaration.Traits{Image: r.own(t, "web", drawn(t, "one", ""))}))
	r.sh(t, `kill -STOP $(systemctl show -P MainPID containerd)
setsid sh -c 'until systemctl --quiet is-active mesh-container-web; do sleep 0.1; done; sleep 4; kill -CONT $(systemctl show -P MainPID containerd)' >/dev/null 2>&1 </dev/null &`)
	r.says(t, web, "web changed")
	r.says(t, nil, "web removed")
}

// dockerEnds is that a container runs once, whatever becomes of docker: its command is
// killed, its daemon starts anew, is killed, or is not there.
func (r *real) dockerEnds(t *testing.T) {
	one := r.own(t, "web", drawn(t, "one", ""))
	web := func(says string) []declaration.Resource {
		return list(container("web", declaration.Traits{Image: one, Env: map[string]string{"SAYS": says}, Ports: []string{"8080:8000"}}))
	}
	r.says(t, web("x"), "web changed")
	r.sh(t, "mkdir /run/systemd/system/mesh-container-web.service.d && printf '[Service]\\nRestartSec=100ms\\n' >/run/systemd/system/mesh-container-web.service.d/soon.conf && systemctl daemon-reload")
	for _, hand := range []string{
		"kill -9 $(systemctl show -P MainPID mesh-container-web)",
		"systemctl restart docker",
		"kill -9 $(systemctl show -P MainPID docker)",
	} {
		another := r.sh(t, `are() { docker ps --format '{{if .Names}}{{.ID}}{{end}}' "$@" | grep .; } # without what it lists and has not
was=$(are); %s; for i in $(seq 300); do
is=$(are --filter label=mesh.container=web); [ -n "$is" ] && [ "$is" != "$was" ] && are --all && break; sleep 0.1; done`, hand)
		if strings.Count(another, "\n") != 0 || another == "" {
			t.Errorf("%s: there is then %q", hand, another)
		}
		if got := r.answers(t, 8080); !strings.HasPrefix(got, "one|") {
			t.Errorf("%s: it says %q", hand, got)
		}
	}
	r.sh(t, "systemctl mask --runtime --now docker.socket docker.service 2>&1")
	rep, _ := r.apply(t, web("y"))
	if got := sketch(rep); !regexp.MustCompile(`web failed \(.*docker does not answer at "/run/docker.sock": (no such file or directory|connection refused); systemctl status docker says why; systemctl start docker starts its daemon\)`).MatchString(got) {
		t.Error(got)
	}
	r.sh(t, "systemctl unmask --runtime docker.socket docker.service 2>&1; systemctl start docker; rm -r /run/systemd/system/mesh-container-web.service.d; systemctl daemon-reload")
	r.says(t, nil, "web removed")
	if got := r.containers(t); got != "" {
		t.Errorf("there is still\n%s", got)
	}
}

// podmanComes is that what docker has run podman runs where the machine has it, and
// the other way round; never both, wherever the host is killed on the way.
func (r *real) podmanComes(t *testing.T) {
	web := list(container("web", declaration.Traits{Image: r.own(t, "web", drawn(t, "one", "")), Ports: []string{"8080:8000"}}))
	all := func() string {
		return r.sh(t, `for by in docker podman; do [ ! -x /usr/bin/$by ] || $by ps --all --format "{{if .Names}}$by runs {{.Names}}{{end}}" | grep .; done; for by in docker podman; do [ ! -x /usr/bin/$by ] || $by images --format "$by has {{.Repository}}"; done`)
	}
	r.says(t, web, "web changed")
	r.sh(t, "mv /root/podman /usr/bin/podman")
	r.by = "podman"
	if _, killed := r.apply(t, web, "MESH_CRASH=docker.container.remove#1:before"); !killed {
		t.Error("it was not killed")
	}
	if rep := r.says(t, web, "web changed"); !strings.Contains(rep.Resources[0].Found, "docker has one of it as well") {
		t.Error(rep.Resources[0].Found)
	}
	if got := all(); got != "podman runs web\npodman has mesh.internal/m/web" {
		t.Error(got)
	}
	if got := r.answers(t, 8080); !strings.HasPrefix(got, "one|") {
		t.Error(got)
	}
	r.says(t, web, "web ok")
	// Who takes podman away while it runs something takes away what would undo its network.
	r.sh(t, "mv /usr/bin/podman /root/podman; iptables -t nat -F NETAVARK-HOSTPORT-DNAT")
	r.by = "docker"
	r.says(t, web, "web changed")
	if got := all(); got != "docker runs web\ndocker has mesh.internal/m/web" {
		t.Error(got)
	}
	if got := r.answers(t, 8080); !strings.HasPrefix(got, "one|") {
		t.Error(got)
	}
	r.says(t, nil, "web removed")
	if got := r.containers(t); got != "" {
		t.Errorf("there is still\n%s", got)
	}
}
