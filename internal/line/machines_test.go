package line

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"noxmesh/api"
	"noxmesh/declaration"
	"noxmesh/internal/machine"
	"noxmesh/inventory"
	"noxmesh/status"
)

// onMachine runs a mesh on a bridge, with a Debian that has booted as its node.
func onMachine(t *testing.T) (*mesh, *machine.Machine) {
	t.Helper()
	net, node := machine.Raise(t)
	hostPackage(t, filepath.Join(node.Root, "root"))
	node.MustBoot(t)
	m := begin(t, options{builders: 1, programs: folder(t, programs), net: net})
	m.addBuilder("b1")
	node.Sh(t, "dpkg -i /root/*.deb && mesh-host join %s && systemctl start nox-mesh-host", do(m, api.NodeAdd(), api.NodeAddIn{Node: "node"}).Token)
	return m, node
}

// hostPackage makes the package of the host, as make deb does.
func hostPackage(t *testing.T, to string) {
	t.Helper()
	const version = "1.0.0"
	dir, err := build("host", "-buildvcs=false", "-ldflags", "-X main.version="+version, "mesh-host")
	must(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "run", "./internal/release", "-program", filepath.Join(dir, "mesh-host"), "-version", version, "-to", to)
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// fails is the fact that the node says so of a resource: what is wrong with it
// holds each of the words, and nothing of the module is applied anywhere.
func fails(module, resource string, words ...string) func(status.Status) string {
	return func(s status.Status) string {
		m, n := moduleOf(s, module), nodeOf(s, "node")
		if m.Applied != 0 || m.Out() {
			return "it is said to be applied: " + line(s, module)
		}
		if n.State != string(inventory.Failed) {
			return line(s, module)
		}
		for _, f := range n.Failing {
			if f.Resource != module+"/"+resource {
				continue
			}
			for _, w := range words {
				if !strings.Contains(f.Error, w) {
					return fmt.Sprintf("%q is not in: %s", w, f.Error)
				}
			}
			return ""
		}
		return line(s, module)
	}
}

// mirrors are two of one package, for apt. While they are gone they have nothing
// but their lists.
type mirrors struct{ gone atomic.Bool }

func (d *mirrors) start(m *mesh, node *machine.Machine) {
	t := m.t
	t.Helper()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "tool", "DEBIAN"), 0o755))
	control := "Package: tool\nVersion: 1.0\nArchitecture: all\nMaintainer: t <t@localhost>\nDescription: t\n"
	must(t, os.WriteFile(filepath.Join(dir, "tool", "DEBIAN", "control"), []byte(control), 0o644))
	deb := filepath.Join(dir, "tool.deb")
	if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "-Znone", "--root-owner-group", "--build", filepath.Join(dir, "tool"), deb).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	body, err := os.ReadFile(deb)
	must(t, err)
	list := control + fmt.Sprintf("Filename: ./tool.deb\nSize: %d\nSHA256: %x\n\n", len(body), sha256.Sum256(body))
	address := serve(t, m.opt.net, machine.Gateway, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/Packages"):
			_, _ = w.Write([]byte(list)) // who has gone away asks again
		case strings.HasSuffix(r.URL.Path, ".deb") && !d.gone.Load():
			_, _ = w.Write(body)
		default:
			http.NotFound(w, r)
		}
	}))
	sources := fmt.Sprintf("deb [trusted=yes] %s/one ./\ndeb [trusted=yes] %s/two ./\n", address, address)
	must(t, os.WriteFile(filepath.Join(node.Root, "etc/apt/sources.list"), []byte(sources), 0o644))
	node.Sh(t, "rm -f /etc/apt/sources.list.d/*")
}

// What has once been green and was not: on a machine, through the whole line.
func TestOnAMachineNothingIsGreenThatIsNot(t *testing.T) {
	t.Parallel()
	m, node := onMachine(t)
	m.noMirrorHasIt(node)
	m.startedAndDoesNotRun(node)
	m.rotated(node)
	m.imageThatDoesNotCome(node)
	m.failedDownload(node)
	m.cutOff(node)
}

// noMirrorHasIt is F2: a package that every mirror lists, and none has.
func (m *mesh) noMirrorHasIt(node *machine.Machine) {
	m.t.Helper()
	var depot mirrors
	depot.gone.Store(true)
	depot.start(m, node)
	first := m.module("tool", files{"module.json": `{"module": "tool", "resources": [{"id": "tool", "type": "package", "name": "tool", "version": "1.0"}]}`})
	m.assign("tool", "node")
	m.auto("tool")
	m.until("the node says that no mirror has it", fails("tool", "tool", "404"))
	depot.gone.Store(false)
	m.until("it is there as soon as a mirror has it", isOut("tool", first, 1))
	if got := node.Sh(m.t, `dpkg-query -W -f '${Status} ${Version}' tool`); got != "install ok installed 1.0" {
		m.t.Errorf("dpkg says %q", got)
	}
}

// startedAndDoesNotRun is F4: the command that starts a service returns, and all is well with it.
func (m *mesh) startedAndDoesNotRun(node *machine.Machine) {
	m.t.Helper()
	unit := func(command string) string {
		return "[Service]\nExecStart=" + command + "\n[Install]\nWantedBy=multi-user.target\n"
	}
	m.module("clock", files{"unit": unit("/bin/true"), "module.json": `{"module": "clock", "resources": [
		{"id": "unit", "type": "file", "path": "/etc/systemd/system/clock.service", "from": "unit"},
		{"id": "run", "type": "service", "unit": "clock.service", "state": "running", "restart_on": ["unit"]}]}`})
	m.assign("clock", "node")
	m.auto("clock")
	m.until("the node says that it does not run", fails("clock", "run", "its main process ended with 0 at once"))
	second := m.forge.commit("clock", files{"unit": unit("/bin/sleep infinity")})
	m.until("the commit that mends it is out", isOut("clock", second, 1))
	if got := node.Sh(m.t, "systemctl show -P ActiveState -P SubState clock"); got != "active\nrunning" {
		m.t.Errorf("systemd says %q", got)
	}
}

// imageThatDoesNotCome is F4 as well. The image that a module makes itself comes with
// the node's own login; one that cannot be pulled is no reason to stop what runs.
func (m *mesh) imageThatDoesNotCome(node *machine.Machine) {
	m.t.Helper()
	program := filepath.Join(m.t.TempDir(), "contained")
	cmd := exec.CommandContext(m.t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, "noxmesh/host/testdata/contained")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(program)
	must(m.t, err)
	runs := func(what string) string {
		return `{"module": "web", "resources": [{"id": "run", "type": "container", "name": "web", ` + what + `, "ports": ["8080:8000"]}], "build": {
			"run": [["chmod", "755", "root/contained"]], "artifacts": {"image": {"type": "image", "path": "root", "command": ["/contained"]}}}}`
	}
	own, none := `"artifact": "image"`, `"image": "`+machine.Gateway+`:9/none@sha256:`+strings.Repeat("0", 64)+`"`
	says := func() string {
		return node.Sh(m.t, "systemctl show -P MainPID mesh-container-web; for i in $(seq 300); do bash -c 'cat <>/dev/tcp/127.0.0.1/8080' 2>/dev/null && exit; sleep 0.1; done; exit 1")
	}
	first := m.module("web", files{"root/contained": string(text), "root/variant": "one", "module.json": runs(own)})
	m.assign("web", "node")
	m.auto("web")
	m.until("the container is out", isOut("web", first, 1))
	was := says()
	if !strings.Contains(was, "\none|") {
		m.t.Error(was)
	}
	m.forge.commit("web", files{"module.json": runs(none)})
	m.until("the node says that it cannot be pulled", fails("web", "run", "podman says: ", "connection refused"))
	if is := says(); is != was {
		m.t.Errorf("it was %s, and is %s", was, is)
	}
	third := m.forge.commit("web", files{"root/variant": "two", "module.json": runs(own)})
	m.until("the commit that mends it is out", isOut("web", third, 1))
	if is := says(); !strings.Contains(is, "\ntwo|") {
		m.t.Error(is)
	}
}

// failedDownload is F6. What is declared is taken out of the registry before the
// node has it, while no builder can make it again: the node is at what it was, and
// so is its record.
func (m *mesh) failedDownload(node *machine.Machine) {
	m.t.Helper()
	first := m.module("site", site("site", "first"))
	m.assign("site", "node")
	m.auto("site")
	m.until("the first commit is out", isOut("site", first, 1))
	node.Sh(m.t, "systemctl stop nox-mesh-host")
	any := func([]byte) bool { return true }
	had := m.blobs(any)
	second := m.forge.commit("site", files{"public/index.html": "second"})
	m.until("the second is declared", isOn("site", second, 1, 0))
	m.builders[0].stop()
	for _, file := range m.blobs(any) {
		if !slices.Contains(had, file) {
			must(m.t, os.Remove(file))
		}
	}
	node.Sh(m.t, "systemctl start nox-mesh-host")
	m.until("the node says that it cannot fetch it", fails("site", "pages"))
	var says struct{ Accepted, Applied declaration.Tuple }
	must(m.t, json.Unmarshal([]byte(node.Sh(m.t, "mesh-host status -o json || [ $? = 3 ]")), &says))
	if says.Accepted.Generation <= says.Applied.Generation {
		m.t.Errorf("its record is ahead of the machine: %+v", says)
	}
	if got := node.Sh(m.t, "cat /opt/site/index.html"); got != "first" {
		m.t.Errorf("the page is %q", got)
	}
	m.builders[0].start()
	m.until("it is out when it could be made again", isOut("site", second, 1))
	if got := node.Sh(m.t, "cat /opt/site/index.html"); got != "second" {
		m.t.Errorf("the page is %q", got)
	}
}

// cutOff commits while the node's cable is cut, and cuts its power beside.
func (m *mesh) cutOff(node *machine.Machine) {
	m.t.Helper()
	ctx := m.t.Context()
	must(m.t, node.Cut(ctx))
	third := m.forge.commit("site", files{"public/index.html": "third"})
	m.until("it is declared, and nobody says that it is out", isOn("site", third, 1, 0))
	must(m.t, node.PowerCut(ctx))
	must(m.t, node.Heal(ctx))
	_, err := node.Boot(ctx)
	must(m.t, err)
	m.until("it is out when the node is there again", isOut("site", third, 1))
	if got := node.Sh(m.t, "cat /opt/site/index.html"); got != "third" {
		m.t.Errorf("the page is %q", got)
	}
	if got := node.Sh(m.t, "systemctl is-active clock"); got != "active" {
		m.t.Errorf("the service is %s", got)
	}
}
