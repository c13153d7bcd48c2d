package host

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	booted "noxmesh/internal/machine"
	"noxmesh/report"
)

// contained is the program that containers of the tests run.
var contained = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "contained-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", filepath.Join(dir, "contained"), "noxmesh/host/testdata/contained")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, b)
	}
	return os.ReadFile(filepath.Join(dir, "contained"))
})

// picture is an image: its blobs, and which of them is its manifest.
type picture struct {
	digest document.Digest
	blobs  map[document.Digest][]byte
}

// drawn is an image with the program and nothing else; check is its HEALTHCHECK, in JSON.
func drawn(t testing.TB, variant, check string) picture {
	t.Helper()
	program, err := contained()
	must(t, err)
	p := picture{blobs: map[document.Digest][]byte{}}
	blob := func(b []byte) (document.Digest, int) {
		p.blobs[document.Sum(b)] = b
		return document.Sum(b), len(b)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for name, text := range map[string]string{"contained": string(program), "variant": variant} {
		must(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o755}))
		_, err := w.Write([]byte(text))
		must(t, err)
	}
	must(t, w.WriteHeader(&tar.Header{Name: "data", Typeflag: tar.TypeDir, Mode: 0o755}))
	must(t, w.Close())
	lower, size := blob(layer.Bytes())
	if check != "" {
		check = `,"Healthcheck":` + check
	}
	config, configSize := blob(fmt.Appendf(nil, `{"os":"linux","architecture":"amd64","config":{"Entrypoint":["/contained"],"Cmd":["serve"]%s},"rootfs":{"type":"layers","diff_ids":["%s"]}}`, check, lower))
	p.digest, _ = blob(fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"%s","size":%d},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"%s","size":%d}]}`, config, configSize, lower, size))
	return p
}

// own is the name of an image of the mesh. Its blobs are laid where the host of the
// machine finds them.
func (r *real) own(t testing.TB, artifact string, p picture) string {
	t.Helper()
	for digest, b := range p.blobs {
		r.put(t, "/root/blobs/sha256/"+digest.Hex(), b)
	}
	r.images[p.digest] = int64(len(p.blobs[p.digest]))
	return "mesh.internal/m/" + artifact + "@" + string(p.digest)
}

// put puts a file on the machine.
func (r *real) put(t testing.TB, path string, b []byte) {
	t.Helper()
	cmd := r.Command(t.Context(), "sh", "-c", `mkdir -p "$(dirname "$1")" && cat >"$1"`, "sh", path)
	cmd.Stdin = bytes.NewReader(b)
	must(t, cmd.Run())
}

// depotOfImages is a registry on the bridge, with whatever goes wrong.
type depotOfImages struct {
	mu    sync.Mutex
	blobs map[document.Digest][]byte
	wrong string
}

func (d *depotOfImages) goesWrong(how string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrong = how
}

func (d *depotOfImages) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, last, _ := strings.Cut(q.URL.Path, "sha256:")
	b, there := d.blobs[document.Digest("sha256:"+last)]
	switch {
	case d.wrong == "away":
		panic(http.ErrAbortHandler)
	case q.URL.Path == "/v2/":
		return
	case !there, d.wrong == "lost" && strings.Contains(q.URL.Path, "/blobs/"):
		w.WriteHeader(http.StatusNotFound)
		return
	case strings.Contains(q.URL.Path, "/manifests/"):
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	case d.wrong == "rotten":
		b = append(bytes.Clone(b[:len(b)-1]), b[len(b)-1]^1)
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	if q.Method == http.MethodGet {
		_, _ = w.Write(b)
	}
}

func (r *real) depotOfImages(t *testing.T, pictures ...picture) *depotOfImages {
	t.Helper()
	d := &depotOfImages{blobs: map[document.Digest][]byte{}}
	for _, p := range pictures {
		for digest, b := range p.blobs {
			d.blobs[digest] = b
		}
	}
	var l net.Listener
	must(t, r.net.Inside(func() (err error) {
		l, err = net.Listen("tcp", booted.Gateway+":5000")
		return err
	}))
	server := &http.Server{Handler: d}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { must(t, server.Close()) })
	r.put(t, "/etc/containers/registries.conf.d/test.conf", []byte("[[registry]]\nlocation = \""+booted.Gateway+":5000\"\ninsecure = true\n"))
	return d
}

func elsewhere(p picture) string { return booted.Gateway + ":5000/site/web@" + string(p.digest) }

func container(name string, t declaration.Traits) declaration.Resource {
	t.Name = name
	return declaration.Resource{ID: "m/" + name, Type: declaration.Container, Traits: &t}
}

// containers is what the machine has of containers that the mesh has made.
func (r *real) containers(t testing.TB) string {
	t.Helper()
	list := `podman ps --all --format '{{.Names}} {{.Image}} {{.Exited}}'`
	if r.by == "docker" {
		list = `docker ps --all --format '{{if .Names}}{{.Names}} {{.Label "mesh.image"}} {{eq .State "exited"}}{{end}}' | grep .` // without what it lists and has not
	}
	return r.sh(t, "%s", list+` | sort; `+r.by+` images --format '{{.Repository}}' | sort; ls /etc/systemd/system | grep mesh-container; ls /etc/systemd/system/multi-user.target.wants | grep mesh-container; true`)
}

const checkEverySecond = `{"Test":["CMD","/contained","check"],"Interval":1000000000,"Retries":1}`

func TestContainersOnAMachine(t *testing.T) {
	t.Parallel()
	boots(t).keepsContainers(t)
}

// keepsContainers is what holds of containers, whatever runs them.
func (r *real) keepsContainers(t *testing.T) {
	r.turn(t, "run, moved and removed", r.containersMoved)
	r.turn(t, "the table", r.containerTable)
	r.turn(t, "what cannot be fetched", r.containersFetched)
	r.turn(t, "drift", r.driftOfContainers)
	r.turn(t, "the machine starts again", r.containersStartAgain)
	r.turn(t, "killed anywhere", r.containersKilled)
}

// answers is what the container says that the port of the machine leads to.
func (r *real) answers(t testing.TB, port int) string {
	t.Helper()
	return r.sh(t, "for i in $(seq 300); do bash -c 'cat <>/dev/tcp/127.0.0.1/%d' 2>/dev/null && exit; sleep 0.1; done; exit 1", port)
}

func (r *real) containersMoved(t *testing.T) {
	one, two := r.own(t, "web", drawn(t, "one", "")), r.own(t, "web", drawn(t, "two", ""))
	r.sh(t, "mkdir -p /srv/web && echo -n here >/srv/web/in")
	web := func(image, says string) []declaration.Resource {
		return list(container("web", declaration.Traits{
			Image: image, Env: map[string]string{"SAYS": says}, Ports: []string{"8080:8000"}, Volumes: []string{"/srv/web:/data:ro"}, User: "12", Command: declaration.Command{Words: []string{"serve", "a b", "%n$x"}},
		}))
	}
	pid := func() string { return r.sh(t, "systemctl show -P MainPID mesh-container-web") }
	odd := "100% $HOME \"x\" \\ 'y'\nz\t;"
	r.declare(t, web(one, odd))
	if got := r.sh(t, "mesh-host plan /root/d.json --blobs /root/blobs; [ $? = 3 ] && %s images --quiet", r.by); !strings.HasPrefix(got, "make    m/web  container web: nothing → ") || !strings.HasSuffix(got, "known later") {
		t.Error(got) // a plan fetches nothing
	}
	r.says(t, web(one, odd), "web changed")
	if got, want := r.answers(t, 8080), fmt.Sprintf("one|/contained serve a b %%n$x|%q|12|here", odd); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	first := pid()
	r.says(t, web(one, odd), "web ok")
	if got, want := r.containers(t), "web mesh.internal/m/web:"+one[len(one)-64:][:12]+" false\nmesh.internal/m/web\nmesh-container-web.service\nmesh-container-web.service"; got != want || pid() != first {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if rep := r.says(t, web(one, "x"), "web changed"); rep.Resources[0].Found != "started as something else was declared" {
		t.Error(rep.Resources[0].Found)
	}
	if rep := r.says(t, web(two, "x"), "web changed"); !strings.HasPrefix(rep.Resources[0].Found, "made from mesh.internal/m/web:") {
		t.Error(rep.Resources[0].Found)
	}
	if got := r.answers(t, 8080); !strings.HasPrefix(got, "two|") {
		t.Error(got)
	}
	if got := r.sh(t, "%s images --quiet | wc -l", r.by); got != "1" {
		t.Errorf("%s images", got)
	}
	r.says(t, nil, "web removed")
	if got := r.containers(t) + r.sh(t, "cat /srv/web/in"); got != "here" {
		t.Errorf("there is still\n%s", got)
	}
}

// containerTable is what is said of each kind of container, all at once, and again.
func (r *real) containerTable(t *testing.T) {
	plain, checked := r.own(t, "plain", drawn(t, "plain", "")), r.own(t, "checked", drawn(t, "checked", checkEverySecond))
	slow := r.own(t, "slow", drawn(t, "slow", `{"Test":["CMD-SHELL","exit 1"],"Interval":600000000000}`))
	never := "mesh.internal/m/never@" + string(document.Sum([]byte("never")))
	r.images[document.Sum([]byte("never"))] = 7
	r.sh(t, "mkdir -p /srv/sick /srv/well && touch /srv/sick/sick")
	notSo := func(name string) string {
		return fmt.Sprintf(`failed (read back "container %s": it is not as declared: `, name)
	}
	more := "podman healthcheck run sick says more"
	if r.by == "docker" {
		more = "docker inspect sick says more"
	}
	var all []declaration.Resource
	var first, then []string
	for _, row := range []struct{ name, image, volume, command, port, first, then string }{
		{name: "good", image: plain, port: "8080:8000", first: "changed", then: "ok"},
		{name: "well", image: checked, volume: "/srv/well:/data", first: "changed", then: "ok"},
		{name: "exits", image: plain, command: "exit", first: notSo("exits")},
		{name: "taken", image: plain, port: "8080:8000", first: notSo("taken")},
		{name: "nowhere", image: plain, volume: "/srv/nowhere:/data", first: notSo("nowhere")},
		{name: "sick", image: checked, volume: "/srv/sick:/data", first: `failed (read back "container sick": it is not as declared: unhealthy: in /data/sick; ` + more + `)`},
		{name: "slow", image: slow, first: `waiting (read back "container slow": its health check has not passed yet`},
		{name: "never", image: never, first: `failed (change "container never": fetch the image "mesh.internal/m/never:` + document.Sum([]byte("never")).Hex()[:12] + `": the blob ` + string(document.Sum([]byte("never"))) + ` is not in "/root/blobs"; a blob lies there as sha256/ and its 64 hexadecimal digits)`},
	} {
		c := declaration.Traits{Image: row.image}
		if row.volume != "" {
			c.Volumes = []string{row.volume}
		}
		if row.command != "" {
			c.Command.Words = []string{row.command}
		}
		if row.port != "" {
			c.Ports = []string{row.port}
		}
		all = append(all, container(row.name, c))
		first, then = append(first, row.name+" "+row.first), append(then, row.name+" "+row.then)
	}
	all[3].After = []string{"m/good"} // which has the port by then
	want := strings.Join(first, "\n") + "\n"
	said := func(rep report.Report) string {
		text := strings.NewReplacer(" ok\n", " changed\n", `look at "container slow"`, `read back "container slow"`).Replace(sketch(rep))
		return regexp.MustCompile(`(has not passed yet|(exits|taken|nowhere)": it is not as declared: ).*`).ReplaceAllString(text, "$1")
	}
	rep, _ := r.apply(t, all)
	for range 5 { // a machine that is busy may be slow to come to what is right
		if said(rep) != want {
			rep, _ = r.apply(t, all)
		}
	}
	if can := strings.Join(rep.Facts.Capabilities, " "); !strings.Contains(can, "keeps-container") || !strings.Contains(can, r.by) {
		t.Errorf("the machine says of itself %s", can)
	}
	if got := said(rep); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	r.says(t, all[:2], append(then[:2], "exits removed", "never removed", "nowhere removed", "sick removed", "slow removed", "taken removed")...)
	r.says(t, nil, "good removed", "well removed")
	if got := r.containers(t); got != "" {
		t.Errorf("there is still\n%s", got)
	}
	r.sh(t, "systemctl reset-failed")
}

// containersFetched is what is said where an image does not come; and that what ran
// goes on meanwhile.
func (r *real) containersFetched(t *testing.T) {
	one, two := drawn(t, "one", ""), drawn(t, "two", "")
	d := r.depotOfImages(t, one, two)
	web := func(image string) []declaration.Resource {
		return list(container("web", declaration.Traits{Image: image}))
	}
	r.says(t, web(elsewhere(one)), "web changed")
	was := r.sh(t, "systemctl show -P MainPID mesh-container-web")
	fails := func(name, image, why string) {
		t.Helper()
		rep, _ := r.apply(t, web(image))
		if got := sketch(rep); !regexp.MustCompile(strings.ReplaceAll(why, "RUNNER", r.by)).MatchString(got) {
			t.Errorf("%s:\n%s", name, got)
		}
		if is := r.sh(t, "systemctl show -P MainPID mesh-container-web; systemctl is-active mesh-container-web"); is != was+"\nactive" {
			t.Errorf("%s: it was %s, and is %s", name, was, is)
		}
	}
	d.goesWrong("away")
	fails("no registry", elsewhere(two), `web failed \(change "container web": pull "10\.77\.0\.1:5000/site/web@sha256:[0-9a-f]{64}": RUNNER says: .*EOF\)`)
	d.goesWrong("lost")
	fails("no blob", elsewhere(two), `web failed \(change "container web": pull .*: RUNNER says: .*(404|unknown blob)`)
	d.goesWrong("rotten")
	fails("other bytes", elsewhere(two), `web failed \(change "container web": pull .*: RUNNER says: .*(does not match|did not match|mismatch|verif)`)
	d.goesWrong("")
	fails("no such digest", booted.Gateway+":5000/site/web@"+string(document.Sum([]byte("x"))), `web failed \(change "container web": pull .*: RUNNER says: .*(unknown|404|not found)`)
	rotten := drawn(t, "rotten", "")
	own := r.own(t, "web", rotten)
	for digest, b := range rotten.blobs {
		if digest != rotten.digest && !json.Valid(b) {
			b = bytes.Clone(b)
			b[len(b)/2] ^= 1
			r.put(t, "/root/blobs/sha256/"+digest.Hex(), b)
		}
	}
	fails("other bytes of the mesh's", own, `web failed \(change "container web": fetch a layer of the image .*: the bytes that came have the digest [0-9a-f]+, declared is `)
	for digest, b := range rotten.blobs {
		if digest != rotten.digest && !json.Valid(b) {
			r.put(t, "/root/blobs/sha256/"+digest.Hex(), b[:len(b)/2])
		}
	}
	fails("half of it", own, `web failed \(change "container web": `)
	on := "/var/tmp"
	if r.by == "docker" {
		on = "/var/lib/containers/docker/tmp"
	}
	r.sh(t, "mount -t tmpfs -o size=300k tmpfs %s", on)
	fails("no room", elsewhere(two), `web failed \(change "container web": pull .*no space left on device`)
	r.sh(t, "umount %s", on)
	r.says(t, web(elsewhere(two)), "web changed")
	if got := r.sh(t, "%s images --quiet | wc -l", r.by); got != "1" {
		t.Errorf("%s images", got)
	}
	r.says(t, nil, "web removed")
	if got := r.containers(t); got != "" {
		t.Errorf("there is still\n%s", got)
	}
}

func (r *real) driftOfContainers(t *testing.T) {
	one := r.own(t, "web", drawn(t, "one", ""))
	all := func(text string) []declaration.Resource {
		c := container("web", declaration.Traits{Image: one, RestartOn: []string{"m/conf"}})
		return list(textFile("conf", "/etc/web.conf", text), c)
	}
	pid := func() string { return r.sh(t, "systemctl show -P MainPID mesh-container-web") }
	r.says(t, all("x"), "conf changed", "web changed")
	first := pid()
	if rep := r.says(t, all("y"), "conf changed", "web changed"); rep.Resources[1].Found != "started before something that it is made from was changed" || pid() == first {
		t.Error(rep.Resources[1].Found)
	}
	type byHand struct{ name, hand, found string }
	cases := []byHand{
		{"stopped", "systemctl stop mesh-container-web", "stopped: its main process ended with 0"},
		{"removed", "podman rm --force web; systemctl stop mesh-container-web", "stopped"},
		{"another unit", "sed -i s/RestartSec=5/RestartSec=6/ /etc/systemd/system/mesh-container-web.service", "its unit says something else"},
		{"no unit", "systemctl stop mesh-container-web; rm /etc/systemd/system/mesh-container-web.service; systemctl daemon-reload", ""},
		{"disabled", "systemctl disable mesh-container-web", "not enabled"},
	}
	if r.by == "docker" { // whose command says how the container has ended; what a unit is made of is the same
		cases = []byHand{cases[0], {"removed", "docker rm --force web; systemctl stop mesh-container-web", "its main process ended with 137"}}
	}
	for _, c := range cases {
		r.sh(t, "(%s) >/dev/null 2>&1", c.hand)
		if rep := r.says(t, all("y"), "conf ok", "web changed"); !strings.Contains(rep.Resources[1].Found, c.found) || !rep.Resources[1].Fixed {
			t.Errorf("%s: %+v", c.name, rep.Resources[1])
		}
	}
	// Somebody else's of that name is not touched.
	r.says(t, nil, "conf removed", "web removed")
	r.sh(t, `mkdir -p /root/foreign && cp /usr/local/bin/mesh-host /root/foreign/x && tar -C /root/foreign -c . | %[1]s import - foreign >/dev/null 2>&1 && %[1]s create --name web foreign /x >/dev/null`, r.by)
	r.says(t, all("y"), "conf changed", fmt.Sprintf(`web failed (change "container web": %[1]s has a container of that name which the mesh did not make; %[1]s rename gives it another name; or call the declared one otherwise)`, r.by))
	r.says(t, nil, "conf removed")
	foreign := "web localhost/foreign:latest false\nlocalhost/foreign"
	if r.by == "docker" {
		foreign = "web  false\nforeign"
	}
	if got := r.containers(t); got != foreign {
		t.Error(got)
	}
	r.sh(t, "%[1]s rm web; %[1]s rmi foreign; rm -r /root/foreign", r.by)
}

func (r *real) containersStartAgain(t *testing.T) {
	all := list(container("web", declaration.Traits{Image: r.own(t, "web", drawn(t, "one", checkEverySecond))}))
	r.apply(t, all)
	must(t, r.PowerCut(t.Context()))
	if _, err := r.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	rep, _ := r.apply(t, all)
	for range 5 {
		if rep.Resources[0].State == report.StateWaiting { // for its check, on a machine that is slow to begin
			rep, _ = r.apply(t, all)
		}
	}
	if got := sketch(rep); got != "web ok\n" {
		t.Error(got)
	}
	r.says(t, nil, "web removed")
	if got := r.containers(t); got != "" {
		t.Errorf("there is still\n%s", got)
	}
}

func (r *real) containersKilled(t *testing.T) {
	one, two := drawn(t, "one", ""), drawn(t, "two", "")
	r.depotOfImages(t, two)
	first := list(container("web", declaration.Traits{Image: r.own(t, "web", one)}))
	second := list(container("web", declaration.Traits{Image: elsewhere(two)}))
	if r.by == "docker" { // the unit is made, and an old image goes, as with podman
		other := container("other", declaration.Traits{Image: elsewhere(two)})
		r.sweep(t, []string{"docker."}, r.containers, append(list(other), first...))
	} else {
		r.sweep(t, []string{"podman.", "resource.container.", "resource.staged.", "resource.thing."}, r.containers, first, second)
	}
	// What is staged of a unit goes with a container that is not declared any more.
	if _, killed := r.apply(t, first, "MESH_CRASH=resource.staged.commit#1:before"); !killed {
		t.Error("it was not killed")
	}
	r.says(t, nil, "web removed")
	if left := r.sh(t, "find /etc/systemd -name '.mesh-new*'"); left != "" {
		t.Errorf("staged, and left: %s", left)
	}
	// What is left of a container whose unit is gone.
	r.says(t, first, "web changed")
	for _, when := range []string{"before", "after"} {
		r.sh(t, `systemctl stop mesh-container-web; %[1]s create --name web --label mesh.container=web $(%[1]s images --quiet) >/dev/null`, r.by)
		if _, killed := r.apply(t, nil, "MESH_CRASH="+r.by+".container.remove#1:"+when); !killed {
			t.Errorf("%s: it was not killed", when)
		}
		if rep, _ := r.apply(t, nil); rep.Outcome != report.OutcomeApplied || r.containers(t) != "" {
			t.Errorf("%s: %s%s", when, sketch(rep), r.containers(t))
		}
		r.says(t, first, "web changed")
	}
	r.says(t, nil, "web removed")
}
