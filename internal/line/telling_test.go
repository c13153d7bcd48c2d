//go:build meshcrash

package line

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/builder"
	"noxmesh/host"
	"noxmesh/identity"
	"noxmesh/internal/invariant"
	"noxmesh/inventory"
	"noxmesh/sealed"
	"noxmesh/status"
)

// telling is the story of the line, told once.
type telling struct {
	programs string   // the folder of those that can be told where to die
	mortal   string   // which of them is a process of its own: controller, builder or host
	ends     []string // MESH_CRASH: it dies of each once, of whichever it comes to first
	failing  bool     // MESH_FAIL instead: each fails until somebody has been told of it
	ways     string   // MESH_WAYS

	calls map[string]string // that lead to each place
}

func (s telling) name() string {
	if len(s.ends) > 1 {
		return fmt.Sprintf("%s %s and %d more", s.mortal, s.ends[0], len(s.ends)-1)
	}
	return s.mortal + " " + strings.Join(s.ends, "")
}

// told is a telling under way.
type told struct {
	telling
	*mesh
	watch
	faulty

	effects   string
	died      atomic.Int64  // how many of its deaths it has died
	before    atomic.Int64  // how many of them before this round; below 0 before the first
	rounds    int           // commits after the first
	withdrawn int           // builds of which too many leases were lost
	earlier   int64         // how many of them when the story last asked for more
	spare     atomic.Bool   // it runs, and was told of no death: the round has had its share
	renewed   atomic.Bool   // the story itself has killed it, to tell it of more
	once      sync.Once     // closes ended
	ended     chan struct{} // closed when nothing is started again
	guards    sync.WaitGroup
	found     verdicts
}

// tell tells the story.
func (s telling) tell(t *testing.T) { s.begin(filepath.Join(t.TempDir(), "effects")).tell(t) }

func (s telling) begin(effects string) *told {
	w := &told{telling: s, effects: effects, ended: make(chan struct{})}
	w.before.Store(-1)
	return w
}

func (w *told) tell(t *testing.T) {
	if w.mortal == person {
		w.dev(t)
		return
	}
	w.line(t)
}

func (w *told) line(t *testing.T) {
	w.mesh = &mesh{t: t, dir: t.TempDir(), ip: address(), forge: newForge(t, nil)}
	w.opt = options{every: 300 * time.Millisecond, drift: time.Second, lease: stretched(6 * time.Second).Round(time.Second), poll: 100 * time.Millisecond}
	w.client = api.OverSocket(w.socket())
	t.Cleanup(w.end)
	t.Cleanup(w.settle)
	w.begins()
	w.controller = w.mortalPart("controller", w.runController, "mesh-controller", w.controllerArgs()...)
	w.begin(w.controller)
	w.untilAnswers()
	w.nodesJoin()
	w.builderJoins("builder1")
	if w.mortal != "builder" {
		w.builderJoins("builder2")
	}
	w.first()
	w.second()
	for w.more() {
		w.third()
		w.second()
	}
	w.last()
	w.close()
}

// env is what the mortal is told before it has died, and after.
func (w *told) env() []string {
	env := []string{"MESH_EFFECTS=" + w.effects, "MESH_LETTER=" + letter}
	if w.ways != "" {
		env = append(env, "MESH_WAYS="+w.ways)
	}
	if w.failing {
		return append(env, "MESH_FAIL="+strings.Join(w.ends, ","), "MESH_FAIL_WHILE="+w.faults())
	}
	if points := w.next(); len(points) > 0 {
		env = append(env, "MESH_CRASH="+strings.Join(points, ","))
	}
	return env
}

// settle ends that anything is started again.
func (w *told) settle() {
	w.once.Do(func() { close(w.ended) })
	w.guards.Wait()
}

// is reports whether this part is the one that dies.
func (w *told) is(part string) bool {
	switch w.mortal {
	case "builder":
		return part == "builder1"
	case "host":
		return part == "node1"
	}
	return part == w.mortal
}

func (w *told) mortalPart(name string, run func(context.Context) error, program string, args ...string) *part {
	p := w.part(name, run, program, args...)
	if w.is(name) {
		p.program = filepath.Join(w.programs, program)
	}
	return p
}

// begin starts a part, and starts it again when it has died.
func (w *told) begin(p *part) {
	p.env = w.env()
	p.start()
	if !w.is(p.name) {
		return
	}
	w.guards.Go(func() {
		for {
			p.mu.Lock()
			ended := p.ended
			p.mu.Unlock()
			select {
			case <-w.ended:
				return
			case <-ended:
			}
			switch {
			case killed(p.err) && w.fell():
			case killed(p.err) && w.renewed.Swap(false):
			case !w.failing:
				w.t.Errorf("%s ended by itself: %v", p.name, p.err)
				return
			default: // a service manager starts it again
				select {
				case <-w.ended:
					return
				case <-time.After(300 * time.Millisecond):
				}
			}
			p.env = w.env()
			p.start()
		}
	})
}

// killed reports whether a process ended as by a power cut.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// join lets a part into the mesh: as a process where it is the mortal, and again
// where that dies or is cut off, with the same token while that is good.
func (w *told) join(name, program string, token string, as func(context.Context) error, args ...string) {
	w.t.Helper()
	w.poll(name+" has joined", func() string {
		if !w.is(name) {
			return words(as(w.t.Context()))
		}
		cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.programs, program), append([]string{"join", token}, args...)...)
		cmd.Env = append(os.Environ(), w.env()...)
		out, err := cmd.CombinedOutput()
		if killed(err) && w.fell() {
			return name + " was killed"
		}
		w.hears(string(out))
		if err != nil && !strings.Contains(string(out), "already") && !strings.Contains(string(out), "this machine is node") { // it had joined, and died before it said so
			return "it ended: " + err.Error() + ": " + string(out)
		}
		return ""
	})
}

func (w *told) builderJoins(name string) {
	w.t.Helper()
	state := w.path("builders", name)
	must(w.t, os.MkdirAll(state, 0o700))
	if name == "builder1" { // what another kill has left
		must(w.t, os.MkdirAll(filepath.Join(state, "answers"), 0o700))
		must(w.t, os.WriteFile(filepath.Join(state, "counter.new"), []byte("half"), 0o600))
		must(w.t, os.WriteFile(filepath.Join(state, "answers", strings.Repeat("0", 32)+".log"), []byte("half"), 0o600))
	}
	text := insist(w.mesh, api.BuilderAdd(), api.BuilderIn{Builder: name}).Token
	w.givesToken(w.t, name, text)
	w.join(name, "mesh-builder", text, func(ctx context.Context) error {
		token, err := identity.ParseToken(text)
		if err != nil {
			return err
		}
		return builder.Join(ctx, builder.Config{State: state, Version: "test"}, token)
	}, "--state", state)
	var p *part
	p = w.mortalPart(name, func(ctx context.Context) error {
		return builder.Run(ctx, builder.Config{State: state, Version: "test", Log: p.logger()})
	}, "mesh-builder", "run", "--state", state)
	w.builders = append(w.builders, p)
	w.begin(p)
}

func (w *told) nodesJoin() {
	w.t.Helper()
	nodes := []string{"node1"}
	if w.mortal == "controller" {
		nodes = append(nodes, "node2") // to be removed
	}
	for _, name := range nodes {
		must(w.t, os.MkdirAll(w.root(name), 0o755))
		w.watch.put(w.mesh, name, "etc/mine", "mine")
		w.watch.put(w.mesh, name, "opt/site/foreign", "foreign")
		w.mesh.put(name, "etc/was", "was here")
		if name == "node1" { // what another kill has left
			sum := sha256.Sum256([]byte("was"))
			w.mesh.put(name, "etc/.mesh-new-"+hex.EncodeToString(sum[:8]), "half")
		}
		text := insist(w.mesh, api.NodeAdd(), api.NodeAddIn{Node: name}).Token
		w.givesToken(w.t, name, text)
		w.join(name, "mesh-host", text, func(ctx context.Context) error {
			_, err := host.Join(ctx, w.hostConfig(name), text)
			return err
		}, "--root", w.root(name))
		var p *part
		p = w.mortalPart(name, func(ctx context.Context) error {
			c := w.hostConfig(name)
			c.Log = p.logger()
			return host.Run(ctx, c)
		}, "mesh-host", "run", "--root", w.root(name), "--heartbeat", "1s", "--drift", "1s")
		w.hosts = append(w.hosts, p)
		w.begin(p)
	}
}

// first is a module of everything that a host knows: it is built, declared and applied.
func (w *told) first() {
	w.t.Helper()
	w.renew()
	address, commit := w.forge.repository("site", everything())
	w.head("site", commit)
	insist(w.mesh, api.ModuleAdd(), api.ModuleAddIn{Module: "site", Repository: address})
	insist(w.mesh, api.Assign(), api.AssignIn{Module: "site", Node: "node1"})
	w.givesSecret(commit, onlyNode1)
	insist(w.mesh, api.ModulePolicy(), api.PolicyIn{Module: "site", Policy: "auto"})
	w.isOut(commit)
	w.asks(commit)
	w.holds("node1", "opt/site/index.html", "first")
	mustHold(w.t, "after the first", invariant.Always(w.see(w.mesh)))
}

// onlyNode1 is the value of a secret, which nobody else may know.
const onlyNode1 = "a-value-that-node1-alone-may-know"

// givesSecret is a person who gives the secret of the site a value, again and again
// until it is kept. The controller may have kept it and died before it said so.
func (w *told) givesSecret(commit, value string) {
	w.t.Helper()
	sum := sha256.Sum256([]byte("sealed"))
	w.gives("a secret", value, w.root("node1", "etc/app/sealed"), w.root("node1", "etc/app/.mesh-new-"+hex.EncodeToString(sum[:8]))) // where it waits for its name
	w.until("its source is read", func(s status.Status) string {
		if got := moduleOf(s, "site").Source.Commit; got != commit {
			return "it is at " + got
		}
		return ""
	})
	w.poll("a secret is given", func() string {
		to, err := api.Do(w.t.Context(), w.client, api.SecretRecipients(), api.SecretRecipientsIn{Module: "site", Secret: "token", Nodes: []string{"node1"}})
		if err != nil {
			return err.Error()
		}
		in := api.SecretSetIn{Module: "site", Secret: "token", Version: to.Version}
		for _, r := range to.Recipients {
			text, err := sealed.Seal(r.Recipient, sealed.Value{For: sealed.For{Mesh: to.Mesh, Node: r.Node, Module: "site", Name: "token"}, Version: to.Version, Value: []byte(value)})
			must(w.t, err)
			in.Values = append(in.Values, api.Sealed{Node: r.Node, Recipient: r.Recipient, Sealed: text})
		}
		_, err = api.Do(w.t.Context(), w.client, api.SecretSet(), in)
		if err != nil {
			w.hears(err.Error() + "\n")
		}
		return words(err)
	})
}

// second changes each thing in each way, and third changes it back.
func (w *told) second() {
	w.t.Helper()
	w.round(changed())
	w.holds("node1", "opt/site/index.html", "second")
	w.holds("node1", "etc/app/sealed", "two: "+onlyNode1)
	w.lacks("node1", "srv/deep")
}

func (w *told) third() {
	w.t.Helper()
	again := everything()
	again["public/new/n"] = ""
	w.round(again)
	w.holds("node1", "opt/site/index.html", "first")
	w.holds("node1", "etc/app/sealed", "one: "+onlyNode1)
	w.lacks("node1", "moves/to")
}

// round is one more commit that goes out.
func (w *told) round(tree files) {
	w.t.Helper()
	w.renew()
	w.t.Logf("%d of %d are through after %d rounds", w.died.Load(), len(w.telling.ends), w.rounds+1)
	commit := w.forge.commit("site", w.anew(tree))
	w.head("site", commit)
	w.isOut(commit)
	w.asks(commit)
}

// asks is a person who asks of a commit, by its first digits, what it would change.
func (w *told) asks(commit string) {
	w.t.Helper()
	if w.mortal != "controller" {
		return
	}
	w.poll("it is said what a commit would change", func() string {
		_, err := api.Do(w.t.Context(), w.client, api.Change(), api.ChangeIn{Module: "site", Rev: commit[:8]})
		if err != nil {
			w.hears(err.Error() + "\n")
		}
		return words(err)
	})
}

// last removes what there is, and holds what is left against the invariants.
func (w *told) last() {
	w.t.Helper()
	w.renew()
	if len(w.builders) > 1 && !w.builders[1].running() {
		w.builders[1].start() // it may have answers that it has not brought
	}
	if w.mortal == "controller" {
		w.host("node2").stop()
		w.poll("node2 is removed", func() string {
			_, err := api.Do(w.t.Context(), w.client, api.NodeRemove(), api.NodeIn{Node: "node2"})
			if err != nil && !strings.Contains(err.Error(), `node "node2"`) {
				return err.Error()
			}
			return ""
		})
	}
	w.rest()
	s := w.until("all is well", func(s status.Status) string {
		if n := nodeOf(s, "node1"); len(s.Nodes) != 1 || n.State != "applied" || n.Behind != inventory.NotBehind || n.Refused != "" || n.Finding != "" {
			return fmt.Sprintf("%+v", s.Nodes)
		}
		return ""
	})
	w.poll("every builder has brought its answers", func() string {
		left, err := filepath.Glob(w.path("builders", "*", "answers", "*"))
		must(w.t, err)
		return strings.Join(left, ", ")
	})
	if m := moduleOf(s, "site"); len(m.Trouble) != 0 || m.Finding != "" {
		w.t.Errorf("at the end there is trouble: %+v, finding %q", m.Trouble, m.Finding)
	}
	mustHold(w.t, "at the end", invariant.AtEnd(w.see(w.mesh)))
	w.again()
	w.looksAgain()
	insist(w.mesh, api.Unassign(), api.UnassignIn{Module: "site", Node: "node1"})
	w.until("nothing is left on node1", func(s status.Status) string {
		if n := nodeOf(s, "node1"); n.State != "applied" || n.Behind != inventory.NotBehind || len(n.Modules) != 0 {
			return fmt.Sprintf("%+v", n)
		}
		return ""
	})
	w.rest()
	for _, gone := range []string{"opt/site/index.html", "etc/app", "etc/current", "turns", "moves"} {
		w.lacks("node1", gone)
	}
	mustHold(w.t, "after the removal", invariant.AtEnd(w.see(w.mesh)))
}

// looksAgain waits until the host has looked at its machine, and had nothing new to say of it.
func (w *told) looksAgain() {
	w.t.Helper()
	latest := w.root("node1", "var/lib/mesh-host/latest")
	var said string
	var looked time.Time
	w.poll("node1 has looked again", func() string {
		info, err := os.Stat(latest)
		must(w.t, err)
		text, err := os.ReadFile(latest)
		must(w.t, err)
		if string(text) == said && info.ModTime().After(looked) {
			return ""
		}
		said, looked = string(text), info.ModTime()
		return "it has said something new, or not looked"
	})
}

// close ends everything in order. Who dies of it is started once more.
func (w *told) close() {
	w.t.Helper()
	w.settle()
	if w.failing { // some only fail at the end
		w.before.Store(-1)
		w.again()
		w.fails()
	}
	for _, p := range append(append([]*part{}, w.hosts...), append(w.builders, w.controller)...) {
		if p.ended != nil {
			w.comesToAnEnd(p)
		}
	}
	mustHold(w.t, "when all has ended", invariant.Always(w.see(w.mesh)))
	w.leftovers()
}

// comesToAnEnd ends a part in order. One that dies of it is started once more.
func (w *told) comesToAnEnd(p *part) {
	w.t.Helper()
	for {
		if p.running() {
			p.halt()
		}
		failed := w.failing && w.is(p.name) && w.waiting() != ""
		if failed {
			w.poll("it is told", func() string {
				w.fails()
				return w.waiting()
			})
		}
		if fell := w.is(p.name) && killed(p.err) && w.fell(); !fell && !failed {
			break
		}
		says := map[string]string{"controller": "controller is ready", "builder1": "builder is up", "node1": "this node"}[p.name]
		was := w.logged(p.name, says)
		p.env = w.env()
		p.start()
		w.poll(p.name+" is there again", func() string {
			if p.running() && w.logged(p.name, says) == was {
				return "it has not said so"
			}
			return ""
		})
	}
	if p.err != nil && !errors.Is(p.err, context.Canceled) && !p.unborn() && !w.failing {
		w.t.Errorf("%s ended with: %v", p.name, p.err)
	}
}

// leftovers is what no program may leave when it has ended in order.
func (w *told) leftovers() {
	w.t.Helper()
	for _, pattern := range []string{"controller/registry/staging/*", "builders/*/workshop", "builders/*/*.new", "builders/*/answers/*", "nodes/*/var/lib/mesh-host/*.new", "nodes/*/*/.mesh-*", "nodes/*/.mesh-*"} {
		left, err := filepath.Glob(w.path(pattern))
		must(w.t, err)
		mustHold(w.t, "when all has ended", invariant.AtEnd(invariant.Seen{Left: left}))
	}
}

// insist makes a call until it is answered: the controller may die meanwhile.
func insist[In, Out any](m *mesh, call api.Call[In, Out], in In) (out Out) {
	m.t.Helper()
	m.poll(call.Row.Name+" is answered", func() string {
		var err error
		out, err = api.Do(m.t.Context(), m.client, call, in)
		if err != nil && (strings.Contains(err.Error(), "already") || strings.Contains(err.Error(), "is not assigned")) {
			return "" // it was done, and the answer was lost
		}
		return words(err)
	})
	return out
}

// everything is a module with one of each, made by commands. What it has of code is
// more than comes with the trees: it is fetched for itself.
func everything() files {
	return files{
		"module.json": `{"module": "site", "secrets": {"token": {}}, "resources": [
			{"id": "dir", "type": "directory", "path": "/etc/app", "mode": "0750"},
			{"id": "sealed", "type": "file", "path": "/etc/app/sealed", "content": "one: ${secret.token}"},
			{"id": "conf", "type": "file", "path": "/etc/app/conf", "mode": "0640", "content": "one"},
			{"id": "same", "type": "file", "path": "/etc/app/same", "from": "same"},
			{"id": "gone", "type": "file", "path": "/srv/deep/gone", "content": "gone"},
			{"id": "link", "type": "link", "path": "/etc/current", "target": "app/conf"},
			{"id": "turns", "type": "file", "path": "/turns", "content": "file"},
			{"id": "over", "type": "file", "path": "/etc/was", "content": "taken over"},
			{"id": "moves", "type": "file", "path": "/moves/from", "content": "moves"},
			{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/site"}],
			"build": {"run": [["sh", "-c", "cp -r public out && ln -s index.html out/link && env >out/env"]], "test": [["test", "-f", "out/index.html"]],
			"artifacts": {"pages": {"type": "archive", "path": "out"}}}}`,
		"same": "same", "public/index.html": "first", "public/img/a": "a", "public/old": "old", "public/turns/in": "in",
		"words.py": strings.Repeat("# a line of no meaning\n", 4000),
	}
}

func changed() files {
	return files{
		"module.json": `{"module": "site", "secrets": {"token": {}}, "resources": [
			{"id": "dir", "type": "directory", "path": "/etc/app", "mode": "0700"},
			{"id": "sealed", "type": "file", "path": "/etc/app/sealed", "mode": "0600", "content": "two: ${secret.token}"},
			{"id": "conf", "type": "file", "path": "/etc/app/conf", "mode": "0600", "content": "one"},
			{"id": "same", "type": "file", "path": "/etc/app/same", "from": "same"},
			{"id": "link", "type": "link", "path": "/etc/current", "target": "app/same"},
			{"id": "turns", "type": "directory", "path": "/turns", "mode": "0755"},
			{"id": "inside", "type": "file", "path": "/turns/inside", "content": "in"},
			{"id": "moves", "type": "file", "path": "/moves/to", "content": "moves"},
			{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/site"}],
			"build": {"run": [["sh", "-c", "cp -r public out && ln -s img out/link && env >out/env"]], "test": [["test", "-f", "out/index.html"]],
			"artifacts": {"pages": {"type": "archive", "path": "out"}}}}`,
		"public/index.html": "second", "public/old": "", "public/turns/in": "",
		"public/new/n": "new",
	}
}
