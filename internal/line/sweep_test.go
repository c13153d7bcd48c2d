//go:build meshcrash

package line

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/builder"
	"noxmesh/host"
	"noxmesh/identity"
	"noxmesh/inventory"
	"noxmesh/status"
)

// crashing is a controller that can be told where to die.
var crashing = sync.OnceValues(func() (string, error) {
	return build("crashing", "-tags=meshcrash", "mesh-controller")
})

// sweepers is how many meshes of the sweep live at once: most of the time they
// wait for somebody to connect again.
const sweepers = 6

// Item 3: the controller is killed before and after each of its effects, and
// started again: what had begun is ended.
func TestTheControllerDiesAtEachOfItsEffects(t *testing.T) {
	t.Parallel()
	dir := folder(t, crashing)
	all := t.TempDir() + "/effects"
	t.Run("none", func(t *testing.T) { sweep(t, dir, "", all) })
	if t.Failed() {
		return
	}
	points := choose(t, all)
	t.Logf("%d points of %d names", len(points), len(names(points)))
	next := make(chan string)
	var group sync.WaitGroup
	for range sweepers {
		group.Go(func() {
			for point := range next {
				t.Run(point, func(t *testing.T) { sweep(t, dir, point, t.TempDir()+"/effects") })
			}
		})
	}
	for _, p := range points { //nolint:paralleltest // the sweepers run them
		next <- p
	}
	close(next)
	group.Wait()
}

var others = flag.Int("points", 10, "how many occurrences of effects the sweep tries besides the first of each")

// choose is each name's first occurrence, before and after, and a handful of the others.
func choose(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	var first, other []string
	for _, here := range strings.Fields(string(text)) {
		if strings.HasSuffix(here, "#1") {
			first = append(first, here+":before", here+":after")
		} else {
			other = append(other, here+":before", here+":after")
		}
	}
	first = slices.Compact(sorted(first))
	rand.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	return append(first, other[:min(*others, len(other))]...)
}

func names(points []string) map[string]bool {
	set := map[string]bool{}
	for _, p := range points {
		name, _, _ := strings.Cut(p, "#")
		set[name] = true
	}
	return set
}

// insist makes a call until it is answered: the controller may die meanwhile.
func insist[In, Out any](m *mesh, call api.Call[In, Out], in In) (out Out) {
	m.t.Helper()
	m.poll(call.Row.Name+" is answered", func() string {
		var err error
		out, err = api.Do(m.t.Context(), m.client, call, in)
		if err != nil && strings.Contains(err.Error(), "already") {
			return "" // it was done, and the answer was lost
		}
		return words(err)
	})
	return out
}

// sweep tells a small story to a controller that dies at the point and is started again.
func sweep(t *testing.T, dir, point, effects string) {
	m := &mesh{t: t, dir: t.TempDir(), ip: address(), forge: newForge(t)}
	m.opt = options{programs: dir, every: 300 * time.Millisecond, drift: time.Hour, lease: 5 * time.Second}
	m.client = api.OverSocket(m.socket())
	t.Cleanup(m.end)
	m.controller = m.part("controller", nil, "mesh-controller", m.controllerArgs()...)
	m.controller.env = []string{"MESH_EFFECTS=" + effects, "MESH_CRASH=" + point}
	m.controller.start()
	revived := m.revive()
	m.opt.programs = "" // builder and hosts are values

	token, err := identity.ParseToken(insist(m, api.BuilderAdd(), api.BuilderIn{Builder: "builder1"}).Token)
	must(t, err)
	m.join("builder1", func(ctx context.Context) error {
		return builder.Join(ctx, builder.Config{State: m.path("builder"), Version: "test"}, token)
	})
	b := m.part("builder1", nil, "")
	b.run = func(ctx context.Context) error {
		return builder.Run(ctx, builder.Config{State: m.path("builder"), Version: "test", Log: b.logger()})
	}
	m.builders = append(m.builders, b)
	b.start()
	for _, name := range []string{"node1", "node2"} {
		m.sweepHost(name)
	}
	address, first := m.forge.repository("site", site("site", "first"))
	insist(m, api.ModuleAdd(), api.ModuleAddIn{Module: "site", Repository: address})
	insist(m, api.Assign(), api.AssignIn{Module: "site", Node: "node1"})
	insist(m, api.ModulePolicy(), api.PolicyIn{Module: "site", Policy: "auto"})
	m.until("the first is out", isOut("site", first, 1))
	second := m.forge.commit("site", files{"public/index.html": "second"})
	m.until("the second is out", isOut("site", second, 1))
	m.holds("node1", "opt/site/index.html", "second")
	m.host("node2").stop()
	m.poll("node2 is removed", func() string {
		_, err := api.Do(t.Context(), m.client, api.NodeRemove(), api.NodeIn{Node: "node2"})
		if err != nil && !strings.Contains(err.Error(), `node "node2"`) {
			return err.Error()
		}
		return ""
	})
	s := m.until("all is well", func(s status.Status) string {
		if n := nodeOf(s, "node1"); len(s.Nodes) != 1 || n.State != "applied" || n.Behind != inventory.NotBehind || n.Refused != "" || n.Finding != "" {
			return fmt.Sprintf("%+v", s.Nodes)
		}
		return ""
	})
	if tr := moduleOf(s, "site").Trouble; len(tr) != 0 {
		t.Errorf("at the end there is trouble: %+v", tr)
	}
	if !revived() { // it may die of ending
		m.controller.stopp()
		<-m.controller.ended
	}
	text, err := os.ReadFile(effects)
	must(t, err)
	if strings.Contains(point, "#1:") && !strings.Contains(string(text), "crash "+point+"\n") {
		t.Errorf("the controller was never at %s", point)
	}
}

// revive starts the controller again when it has died at its point, unless told
// not to any more; then it says whether it has.
func (m *mesh) revive() (stop func() bool) {
	over, done, revived := make(chan struct{}), make(chan struct{}), false
	ended := m.controller.ended
	go func() {
		defer close(done)
		select {
		case <-over:
		case <-ended:
			m.controller.env = m.controller.env[:1]
			m.controller.start()
			revived = true
		}
	}()
	return func() bool {
		close(over)
		<-done
		return revived
	}
}

// join repeats a join that is cut off, with the same token while that is good.
func (m *mesh) join(name string, try func(context.Context) error) {
	m.t.Helper()
	m.poll(name+" has joined", func() string {
		return words(try(m.t.Context()))
	})
}

func (m *mesh) sweepHost(name string) {
	m.t.Helper()
	must(m.t, os.MkdirAll(m.root(name), 0o755))
	token := insist(m, api.NodeAdd(), api.NodeAddIn{Node: name}).Token
	m.join(name, func(ctx context.Context) error {
		_, err := host.Join(ctx, m.hostConfig(name), token)
		return err
	})
	p := m.part(name, nil, "")
	p.run = func(ctx context.Context) error {
		c := m.hostConfig(name)
		c.Log = p.logger()
		return host.Run(ctx, c)
	}
	m.hosts = append(m.hosts, p)
	p.start()
}
