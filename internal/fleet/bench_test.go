package fleet

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"noxmesh/api"
	"noxmesh/builder"
	"noxmesh/controller"
	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/link"
)

var (
	rest     = flag.Duration("rest", 20*time.Second, "how long the fleet is watched at rest")
	sizes    = flag.String("nodes", "500,1000,2000", "how many nodes, one measurement each")
	profiles = flag.String("profiles", "", "a `folder` for the controller's profiles")
)

const (
	modules   = 20
	resources = 5 // of each module
)

// mesh is a controller and its nodes, and a builder in this process.
type mesh struct {
	tb         testing.TB
	dir        string
	client     *api.Client
	cfg        controller.Config
	controller *child
	nodes      *child
	count      int
	starts     int
	since      time.Time // who counts as told must have been told since then
}

// BenchmarkFleet is one controller with ever more nodes, each with twenty
// modules of five resources. A figure for each node that grows with their
// number is a superlinear cost. The bare broker of the same run is the limit.
func BenchmarkFleet(b *testing.B) {
	for size := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			for b.Loop() {
				measure(b, n)
			}
		})
	}
}

func measure(b *testing.B, n int) {
	b.Helper()
	rate, bare := measureBare(b, n)
	b.ReportMetric(rate, "bare-handshakes/s")
	b.ReportMetric(bare/1024, "bare-KB/link")
	m := newMesh(b)
	m.build()
	m.join(n)
	empty := m.controller.rss()
	m.startNodes()
	began := time.Now()
	m.declareAll()
	b.ReportMetric(time.Since(began).Seconds(), "first-declare-s")
	b.ReportMetric((m.controller.rss()-empty)/float64(n)/1024, "KB/link")
	b.ReportMetric(m.controller.rss()/(1<<20), "rss-MB")

	cpu, began := m.controller.cpu(), time.Now()
	pause(*rest)
	atRest := m.controller.cpu() - cpu
	b.ReportMetric(100*atRest.Seconds()/time.Since(began).Seconds(), "rest-%core")
	b.ReportMetric(float64(atRest.Milliseconds())/float64(n)/time.Since(began).Minutes(), "rest-cpu-ms/node/min")

	content := m.commit("module-0", "second")
	cpu, began = m.controller.cpu(), time.Now()
	m.declare("module-0")
	m.wait("accepted by all", "module-0", content, func(s stats) int { return s.Accepted })
	b.ReportMetric(time.Since(began).Seconds(), "accepted-s")
	m.wait("reported by all", "module-0", content, func(s stats) int { return min(s.Reported, s.Current) })
	b.ReportMetric(time.Since(began).Seconds(), "reported-s")
	b.ReportMetric(float64((m.controller.cpu()-cpu).Microseconds())/1000/float64(n), "declare-cpu-ms/node")

	m.questions()
	m.controller.end()
	restarted := time.Now()
	m.since = restarted
	m.startController()
	m.wait("back", "module-0", content, func(s stats) int { return s.Current })
	back := time.Since(restarted).Seconds()
	b.ReportMetric(back, "back-s")
	b.ReportMetric((back-jitter)/(float64(n)/rate), "back/limit")
	b.ReportMetric(m.controller.cpu().Seconds()*1000/float64(n), "back-cpu-ms/node")
	m.nodes.end()
	m.controller.end()
}

// jitter is the longest wait of a client before it dials again, in seconds.
const jitter = 5

func measureBare(b *testing.B, n int) (rate, each float64) {
	b.Helper()
	broker := begin(b, "bare")
	port := broker.hear()
	before := broker.rss()
	clients := begin(b, "clients", "MESH_FLEET_PORT="+port, fmt.Sprintf("MESH_FLEET_CLIENTS=%d", n))
	var seconds float64
	if _, err := fmt.Sscan(clients.hear(), &seconds); err != nil {
		b.Fatal(err)
	}
	each = (broker.rss() - before) / float64(n)
	clients.end()
	broker.end()
	return float64(n) / seconds, each
}

func newMesh(tb testing.TB) *mesh {
	m := &mesh{tb: tb, dir: tb.TempDir(), cfg: controller.Default()}
	m.cfg.Dir, m.cfg.Names, m.cfg.Folders = filepath.Join(m.dir, "controller"), []string{"127.0.0.1"}, []string{m.dir}
	m.cfg.Listen, m.cfg.Broker = "127.0.0.1:0", "127.0.0.1:0"
	m.cfg.Socket = filepath.Join(os.TempDir(), fmt.Sprintf("mesh-fleet-%d.sock", os.Getpid())) //nolint:usetesting // a socket's path is short
	m.cfg.Every, m.cfg.Record = 5*time.Second, os.Getenv("MESH_FLEET_RECORD")
	m.cfg.Listen, m.cfg.Broker = "127.0.0.1:21843", "127.0.0.1:21822" // the same after a restart
	m.client = api.OverSocket(m.cfg.Socket)
	m.startController()
	return m
}

func (m *mesh) startController() {
	m.tb.Helper()
	cfg := m.cfg
	cfg.Log = nil
	text, err := json.Marshal(cfg)
	m.must(err)
	env := []string{"MESH_FLEET_CONFIG=" + string(text)}
	if *profiles != "" {
		m.starts++
		env = append(env, fmt.Sprintf("MESH_FLEET_PROFILE=%s/%s-%d", *profiles, strings.ReplaceAll(m.tb.Name(), "/", "-"), m.starts))
	}
	m.controller = begin(m.tb, "controller", env...)
	m.poll("the controller answers", func() string {
		_, err := api.Do(context.Background(), m.client, api.Version(), api.Nothing{})
		if err != nil {
			return err.Error()
		}
		return ""
	})
}

func (m *mesh) must(err error) {
	m.tb.Helper()
	if err != nil {
		m.tb.Fatal(err)
	}
}

func do[In, Out any](m *mesh, call api.Call[In, Out], in In) Out {
	m.tb.Helper()
	out, err := api.Do(context.Background(), m.client, call, in)
	m.must(err)
	return out
}

func (m *mesh) poll(what string, against func() string) {
	m.tb.Helper()
	if testing.Verbose() {
		began := time.Now()
		defer func() { fmt.Fprintln(os.Stderr, what, time.Since(began)) }()
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	over := time.After(10 * time.Minute)
	for {
		why := against()
		if why == "" {
			return
		}
		select {
		case <-tick.C:
		case <-over:
			m.tb.Fatalf("waited in vain for: %s; against it: %s", what, why)
		}
	}
}

func pause(d time.Duration) { <-time.After(d) }

// build makes the modules, and lets a builder build them.
func (m *mesh) build() {
	m.tb.Helper()
	token, err := identity.ParseToken(do(m, api.BuilderAdd(), api.BuilderIn{Builder: "b1"}).Token)
	m.must(err)
	cfg := builder.Config{State: filepath.Join(m.dir, "builder"), Version: "test", FileFolders: []string{m.dir}}
	m.must(builder.Join(context.Background(), cfg, token))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = builder.Run(ctx, cfg) // it ends with the benchmark
	}()
	m.tb.Cleanup(func() { stop(); <-done })
	for i := range modules {
		m.add(fmt.Sprintf("module-%d", i), "first")
	}
	m.add("everything", "bundle")
	m.built("everything", "")
	for i := range modules {
		m.built(fmt.Sprintf("module-%d", i), "")
	}
}

func (m *mesh) add(module, text string) {
	m.tb.Helper()
	repository := filepath.Join(m.dir, module)
	m.must(os.Mkdir(repository, 0o755))
	m.git(repository, "init", "-q", "-b", "main")
	m.write(module, text)
	do(m, api.ModuleAdd(), api.ModuleAddIn{Module: module, Repository: "file://" + repository})
}

// write commits a module; the one that is called everything requires all others.
func (m *mesh) write(module, text string) {
	var all, requires []string
	if module == "everything" {
		for i := range modules {
			requires = append(requires, fmt.Sprintf("%q", fmt.Sprintf("module-%d", i)))
		}
	}
	for i := 0; i < resources && requires == nil; i++ {
		all = append(all, fmt.Sprintf(`{"id": "file-%d", "type": "file", "path": "/etc/%s/%d.conf", "content": "%s of ${node.name}\n"}`, i, module, i, text))
	}
	dir := filepath.Join(m.dir, module)
	m.must(os.WriteFile(filepath.Join(dir, "module.json"), []byte(fmt.Sprintf(`{"module": %q, "requires": [%s], "resources": [%s]}`,
		module, strings.Join(requires, ", "), strings.Join(all, ", "))), 0o600))
	m.git(dir, "add", "-A")
	m.git(dir, "commit", "-q", "-m", text)
}

func (m *mesh) git(dir string, args ...string) {
	m.tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		m.tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// built waits until the module has a current build whose content is another.
func (m *mesh) built(module, was string) (content string) {
	m.poll(module+" is built", func() string {
		s := do(m, api.Status(), api.StatusIn{Module: module, Node: ""}).Modules[0]
		if s.Built == nil || !s.Built.Current || s.Built.Content == was {
			pause(50 * time.Millisecond)
			return s.Line()
		}
		content = s.Built.Content
		return ""
	})
	return content
}

func (m *mesh) commit(module, text string) (content string) {
	was := m.built(module, "")
	m.write(module, text)
	do(m, api.ModuleLook(), api.LookIn{Module: module})
	return m.built(module, was)
}

// join lets the nodes join, and assigns everything to each.
func (m *mesh) join(n int) {
	m.tb.Helper()
	began := time.Now()
	seal, err := age.GenerateX25519Identity()
	m.must(err)
	all := make([]credentials, n)
	for i := range all {
		name := fmt.Sprintf("node-%d", i)
		token, err := identity.ParseToken(do(m, api.NodeAdd(), api.NodeAddIn{Node: name}).Token)
		m.must(err)
		sign, err := link.NewKey()
		m.must(err)
		seed, public, err := bus.NewUserSeed()
		m.must(err)
		joined := do(m, api.Join(), identity.JoinRequest{
			Format: identity.Format, Token: token.ID, Secret: token.Secret.Reveal(), Kind: identity.KindNode, Name: name,
			Sign: sign.Public(), Nats: public, Seal: seal.Recipient().String(), Version: "light", Speaks: []int{1},
		})
		all[i] = credentials{
			ID: joined.ID, Mesh: joined.Mesh, CA: joined.CA, Broker: joined.Broker, JWT: joined.JWT,
			Nats: string(seed), Sign: sign.Seed(), Root: token.Root, Keys: joined.Keys,
		}
	}
	joined := time.Now()
	for i := range all {
		do(m, api.Assign(), api.AssignIn{Node: fmt.Sprintf("node-%d", i), Module: "everything"})
	}
	m.metric(float64(joined.Sub(began).Microseconds())/1000/float64(n), "join-ms/node")
	m.metric(float64(time.Since(joined).Microseconds())/1000/float64(n), "assign-ms/node")
	data, err := json.Marshal(all)
	m.must(err)
	m.must(os.WriteFile(m.file(), data, 0o600))
	m.count = n
}

func (m *mesh) metric(v float64, unit string) {
	if b, ok := m.tb.(*testing.B); ok {
		b.ReportMetric(v, unit)
	}
}

func (m *mesh) file() string { return filepath.Join(m.dir, "nodes.json") }

func (m *mesh) startNodes() {
	m.nodes = begin(m.tb, "nodes", "MESH_FLEET_NODES="+m.file(), "MESH_FLEET_HEARTBEAT=1m")
	m.wait("connected", "", "", func(s stats) int { return s.Connected })
}

func (m *mesh) declare(module string) { do(m, api.Declare(), api.DeclareIn{Module: module}) }

// declareAll declares every module everywhere, and waits until all of it is reported.
func (m *mesh) declareAll() {
	for i := range modules {
		m.declare(fmt.Sprintf("module-%d", i))
	}
	m.declare("everything")
	for i := range modules {
		name := fmt.Sprintf("module-%d", i)
		m.wait("everything reported", name, m.built(name, ""), func(s stats) int { return min(s.Reported, s.Current) })
	}
}

func (m *mesh) wait(what, module, content string, of func(stats) int) {
	m.tb.Helper()
	m.poll(what, func() string {
		var s stats
		m.must(json.Unmarshal([]byte(m.nodes.say(fmt.Sprint(module, " ", content, " ", m.since.UnixMilli()))), &s))
		if n := of(s); n < m.count {
			return fmt.Sprintf("%d of %d: %+v", n, m.count, s)
		}
		return ""
	})
}

// questions is what people ask, and how much they are told.
func (m *mesh) questions() {
	m.tb.Helper()
	began := time.Now()
	s := do(m, api.Status(), api.StatusIn{})
	took := time.Since(began)
	text, err := json.Marshal(s)
	m.must(err)
	for _, one := range s.Modules {
		if one.Applied != m.count {
			m.tb.Fatalf("%s: %s", one.Module, one.Line())
		}
	}
	m.metric(took.Seconds()*1000, "status-ms")
	m.metric(float64(len(text))/float64(m.count), "status-B/node")
	began = time.Now()
	do(m, api.Status(), api.StatusIn{Node: "node-7"})
	m.metric(time.Since(began).Seconds()*1000, "status-one-ms")
	began = time.Now()
	if out := do(m, api.Push(), api.PushIn{Behind: true, Wait: 1000}); len(out.Nodes) != 0 {
		m.tb.Fatalf("%d nodes are behind", len(out.Nodes))
	}
	m.metric(time.Since(began).Seconds()*1000, "push-behind-ms")
	began = time.Now()
	do(m, api.Push(), api.PushIn{Wait: 10_000})
	m.metric(time.Since(began).Seconds()*1000, "push-all-ms")
}
