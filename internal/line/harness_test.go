package line

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/builder"
	"noxmesh/controller"
	"noxmesh/host"
	"noxmesh/identity"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	"noxmesh/internal/machine"
	"noxmesh/internal/oci/registry/registrytest"
	"noxmesh/status"
)

// options are a mesh. What is zero is as small as it can be.
type options struct {
	hosts     int                    // node1, node2, …
	builders  int                    // b1, …
	postgres  bool                   // instead of SQLite
	programs  string                 // a folder of built programs: then every part is a process
	every     time.Duration          // between two looks at a source; 500 ms
	drift     time.Duration          // between two looks for drift; an hour
	lease     time.Duration          // 5 s
	poll      time.Duration          // between two looks at a fact; 20 ms
	env       []string               // of the controller's process
	on        func(*mesh)            // before the controller begins
	patience  time.Duration          // that of -patience
	elsewhere *registrytest.Registry // keeps what is published; the controller's own
	workshop  string                 // of a builder, which has a folder in it as a value; its own choice
	net       *machine.Net           // the bridge that the programs are on, with machines; loopback
}

// mesh is a line that runs.
type mesh struct {
	t          testing.TB
	opt        options
	dir        string
	ip         string // its own, so that its ports are there after every restart
	own        string // of a mesh on a bridge, where every controller has one address: what ip is elsewhere
	record     string // empty: SQLite, in the controller's folder
	client     *api.Client
	forge      *forge
	controller *part
	builders   []*part
	hosts      []*part
	slowest    atomic.Int64 // the longest that the status was waited for
}

// stretched is a time that parts have for one another: longer on a machine that
// has more to do than a run of these tests makes by itself, where all are slow and
// none is dead.
func stretched(d time.Duration) time.Duration {
	var load float64
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _ = strconv.ParseFloat(strings.Fields(string(text))[0], 64) // without it, the machine is as idle as any
	}
	return time.Duration(float64(d) * max(1, load/float64(8*runtime.NumCPU())))
}

// The ports of every mesh, below those that the kernel gives away.
const (
	apiPort    = "21443"
	brokerPort = "21222"
)

// A fact that takes longer than this, on a machine that has nothing else to do,
// will not come true.
var patience = flag.Duration("patience", 60*time.Second, "how long a fact is waited for")

var meshes atomic.Int64

// address is a loopback address that no other mesh of this machine has.
func address() string {
	n := meshes.Add(1)
	return fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()%250, 1+os.Getpid()/250%250, 1+n%250)
}

// start runs a mesh until the test ends, and waits until everybody has been heard of.
func start(t testing.TB, opt options) *mesh {
	t.Helper()
	m := begin(t, opt)
	for i := range m.opt.builders {
		m.addBuilder(fmt.Sprintf("b%d", i+1))
	}
	for i := range m.opt.hosts {
		m.addHost(fmt.Sprintf("node%d", i+1))
	}
	m.untilUp()
	return m
}

// begin runs a controller alone.
func begin(t testing.TB, opt options) *mesh {
	t.Helper()
	if opt.every == 0 {
		opt.every = 500 * time.Millisecond
	}
	if opt.drift == 0 {
		opt.drift = time.Hour
	}
	if opt.lease == 0 {
		opt.lease = 5 * time.Second
	}
	m := &mesh{t: t, opt: opt, dir: t.TempDir(), ip: address(), forge: newForge(t, opt.net)}
	if opt.net != nil {
		m.ip, m.own = machine.Gateway, m.ip
	}
	if opt.on != nil {
		opt.on(m)
	}
	switch {
	case opt.postgres:
		m.record = dbtest.Postgres(t)
	case opt.programs == "": // what real programs make, and may die of, is no test of these
		m.keepEmptyRecord()
	}
	m.client = api.OverSocket(m.socket())
	t.Cleanup(m.end)
	m.controller = m.part("controller", m.runController, "mesh-controller", m.controllerArgs()...)
	m.controller.env = opt.env
	m.controller.start()
	m.untilAnswers()
	return m
}

// keepEmptyRecord gives the controller a record that need not be made first.
func (m *mesh) keepEmptyRecord() {
	file, err := dbtest.Empty()
	if err == nil {
		err = errors.Join(os.MkdirAll(m.path("controller"), 0o700), os.WriteFile(m.path("controller", "record.db"), file, 0o600))
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// end stops everything, the controller last, and shows the logs where the test failed.
func (m *mesh) end() {
	parts := append(append([]*part{}, m.hosts...), m.builders...)
	for _, p := range append(parts, m.controller) {
		if p.running() {
			p.stop()
		}
	}
	if !m.t.Failed() {
		return
	}
	logs, err := filepath.Glob(filepath.Join(m.dir, "*.log"))
	if err != nil {
		m.t.Error(err)
	}
	for _, l := range logs {
		text, err := os.ReadFile(l)
		if err != nil {
			m.t.Error(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		m.t.Logf("%s:\n  %s", filepath.Base(l), strings.Join(lines[max(0, len(lines)-40):], "\n  "))
	}
}

func (m *mesh) path(words ...string) string {
	return filepath.Join(append([]string{m.dir}, words...)...)
}

// socket is the API's. Its path is short, whatever the test is called: the kernel wants that.
func (m *mesh) socket() string {
	return filepath.Join(os.TempDir(), "mesh-line-"+cmp.Or(m.own, m.ip)+".sock")
}

func (m *mesh) config() controller.Config {
	c := controller.Default()
	c.Dir, c.Record, c.Names, c.Socket = m.path("controller"), m.record, []string{m.ip}, m.socket()
	c.Listen, c.Broker = m.ip+":"+apiPort, m.ip+":"+brokerPort
	c.Every, c.Hello, c.Lease, c.Limit = m.opt.every, 10*time.Second, m.opt.lease, stretched(2*time.Minute)
	c.Log = m.controller.logger()
	if m.opt.elsewhere != nil {
		c.Registry, c.Login = m.opt.elsewhere.URL, m.opt.elsewhere.Login
	}
	return c
}

func (m *mesh) runController(ctx context.Context) error { return controller.Run(ctx, m.config()) }

func (m *mesh) controllerArgs() []string {
	args := []string{
		"run", "--dir", m.path("controller"), "--name", m.ip, "--socket", m.socket(),
		"--listen", m.ip + ":" + apiPort, "--broker", m.ip + ":" + brokerPort,
		"--every", m.opt.every.String(), "--lease", m.opt.lease.String(), "--limit", stretched(2 * time.Minute).Round(time.Second).String(),
	}
	if m.record != "" {
		args = append(args, "--record", m.record)
	}
	return args
}

// addBuilder lets a builder join, and runs it.
func (m *mesh) addBuilder(name string) *part {
	m.t.Helper()
	state := m.path("builders", name)
	must(m.t, os.MkdirAll(m.path("builders"), 0o755))
	t := do(m, api.BuilderAdd(), api.BuilderIn{Builder: name})
	m.joinBuilder(state, t.Token)
	args := []string{"run", "--state", state}
	if m.opt.workshop != "" {
		args = append(args, "--workshop", m.opt.workshop)
	}
	var p *part
	p = m.part("builder-"+name, func(ctx context.Context) error {
		c := builder.Config{State: state, Version: "test", Log: p.logger()}
		if m.opt.workshop != "" {
			c.Workshop = filepath.Join(m.opt.workshop, name)
		}
		return builder.Run(ctx, c)
	}, "mesh-builder", args...)
	m.builders = append(m.builders, p)
	p.start()
	return p
}

func (m *mesh) joinBuilder(state, token string) {
	m.t.Helper()
	if m.opt.net != nil {
		must(m.t, m.opt.net.Inside(func() error {
			out, err := exec.CommandContext(m.t.Context(), filepath.Join(m.opt.programs, "mesh-builder"), "join", token, "--state", state).CombinedOutput()
			if err != nil {
				m.t.Logf("%s", out)
			}
			return err
		}))
		return
	}
	t, err := identity.ParseToken(token)
	must(m.t, err)
	must(m.t, builder.Join(m.t.Context(), builder.Config{State: state, Version: "test"}, t))
}

// root is the tree of a node.
func (m *mesh) root(node string, words ...string) string {
	return m.path(append([]string{"nodes", node}, words...)...)
}

func (m *mesh) hostConfig(name string) host.Config {
	c := host.Default()
	c.Root, c.Version, c.Drift = m.root(name), "test", m.opt.drift
	c.Heartbeat, c.Backoff, c.BackoffMost = time.Second, 200*time.Millisecond, time.Second
	return c
}

// addHost lets a host join, and runs it.
func (m *mesh) addHost(name string) *part {
	m.t.Helper()
	if err := os.MkdirAll(m.root(name), 0o755); err != nil {
		m.t.Fatal(err)
	}
	t := do(m, api.NodeAdd(), api.NodeAddIn{Node: name})
	if _, err := host.Join(m.t.Context(), m.hostConfig(name), t.Token); err != nil {
		m.t.Fatal(err)
	}
	var p *part
	p = m.part(name, func(ctx context.Context) error {
		c := m.hostConfig(name)
		c.Log = p.logger()
		return host.Run(ctx, c)
	}, "mesh-host", "run", "--root", m.root(name), "--heartbeat", "1s", "--drift", m.opt.drift.String())
	m.hosts = append(m.hosts, p)
	p.start()
	return p
}

// untilAnswers waits for the controller.
func (m *mesh) untilAnswers() {
	m.t.Helper()
	m.poll("the controller answers", func() string {
		_, err := api.Do(m.t.Context(), m.client, api.Version(), api.Nothing{})
		return words(err)
	})
}

// untilUp waits until every builder and every node that runs has been heard of
// by this controller.
func (m *mesh) untilUp() {
	m.t.Helper()
	m.untilAnswers()
	since := m.controller.began
	m.until("every node has said hello", func(s status.Status) string {
		for _, n := range s.Nodes {
			if p := m.host(n.Name); p != nil && p.running() && !n.LastSeen.After(since) {
				return n.Name + " has not"
			}
		}
		return ""
	})
	m.poll("every builder has asked for work", func() string {
		for _, b := range do(m, api.Builders(), api.Nothing{}).Builders {
			if b.LastSeen.IsZero() {
				return b.Name + " has not"
			}
		}
		return ""
	})
}

func (m *mesh) host(name string) *part {
	for _, p := range m.hosts {
		if p.name == name {
			return p
		}
	}
	return nil
}

// until polls the status until the fact is true. The fact says what stands
// against it, and nothing where it is true.
func (m *mesh) until(what string, fact func(status.Status) string) status.Status {
	m.t.Helper()
	var s status.Status
	m.poll(what, func() string {
		var err error
		began := time.Now()
		if s, err = m.status(); err != nil {
			return err.Error()
		}
		m.slowest.Store(max(m.slowest.Load(), int64(time.Since(began))))
		return fact(s)
	})
	return s
}

// poll looks until nothing stands against the fact, as often as there are ticks in
// its patience. It counts looks, for where everybody waits for the processor, a
// look does too: a machine that is busy has more time, and nothing is given up
// that merely has not had its turn.
func (m *mesh) poll(what string, against func() string) {
	m.t.Helper()
	most, every, began := cmp.Or(m.opt.patience, *patience), cmp.Or(m.opt.poll, 20*time.Millisecond), time.Now()
	over := time.After(5 * most)
	tick := time.NewTicker(every)
	defer tick.Stop()
	why := ""
	for range most / every {
		if why = against(); why == "" {
			return
		}
		select {
		case <-tick.C:
		case <-over:
			m.t.Fatalf("waited %s for: %s\nagainst it: %s", since(began), what, why)
		}
	}
	m.t.Fatalf("waited %s for: %s\nagainst it: %s", since(began), what, why)
}

func (m *mesh) status() (status.Status, error) {
	return api.Do(m.t.Context(), m.client, api.Status(), api.StatusIn{})
}

// now is the status as it is.
func (m *mesh) now() status.Status {
	m.t.Helper()
	s, err := m.status()
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

// do makes a call that must be answered.
func do[In, Out any](m *mesh, call api.Call[In, Out], in In) Out {
	m.t.Helper()
	out, err := api.Do(m.t.Context(), m.client, call, in)
	if err != nil {
		m.t.Fatalf("%s: %v", call.Row.Name, err)
	}
	return out
}

// refused makes a call that must be refused with this kind, and gives its words.
func refused[In, Out any](m *mesh, call api.Call[In, Out], in In, kind fault.Kind) string {
	m.t.Helper()
	_, err := api.Do(m.t.Context(), m.client, call, in)
	if fault.KindOf(err) != kind {
		m.t.Fatalf("%s: %v, want a refusal of the kind %s", call.Row.Name, err, kind)
	}
	return err.Error()
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
