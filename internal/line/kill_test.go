package line

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	"noxmesh/status"
)

var (
	killer = flag.Duration("killer", 20*time.Second, "how long the random killer kills")
	seed   = flag.Uint64("seed", 0, "of the random killer; another at each run where it is 0")
)

// Item 2: kill -9 of controller, builder or host at any moment, while commits
// keep coming: it still goes out, nothing goes back to an older declaration, and
// nothing is claimed that is not there.
func TestKillAnythingAtAnyMoment(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 3, builders: 2, programs: folder(t, programs), drift: 2 * time.Second, lease: 2 * time.Second})
	if *seed == 0 {
		*seed = rand.Uint64() | 1
	}
	t.Logf("-seed=%d", *seed)
	h := &havoc{m: m, random: rand.New(rand.NewPCG(*seed, 1)), commits: map[string]int{}, highest: map[string]declaration.Tuple{}, kills: map[string]int{}}
	h.begin()
	for over := time.Now().Add(*killer); time.Now().Before(over); {
		switch h.random.IntN(4) {
		case 0:
			h.commit()
		case 1:
			h.check()
		default:
			h.kill()
		}
		time.Sleep(time.Duration(h.random.IntN(700)) * time.Millisecond) // the killer's own interval
	}
	h.end()
}

// havoc is what the killer knows.
type havoc struct {
	m       *mesh
	random  *rand.Rand
	edition int                          // the number in the last commit
	commits map[string]int               // the number in each commit
	highest map[string]declaration.Tuple // by node: the highest that it was seen to have accepted
	kills   map[string]int
}

// begin is three modules on three nodes; one of them takes a while to build,
// where the builders run commands.
func (h *havoc) begin() {
	m := h.m
	h.commits[m.module("site", site("site", "0"))] = 0
	m.module("motd", motd("motd", "0"))
	m.module("slow", h.slow())
	for _, name := range []string{"site", "motd", "slow"} {
		m.assign(name, three...)
		m.auto(name)
	}
}

func (h *havoc) slow() files {
	tree := site("slow", strconv.Itoa(h.edition))
	for _, b := range do(h.m, api.Builders(), api.Nothing{}).Builders {
		if b.Sandbox != "" {
			return tree
		}
	}
	tree["module.json"] = strings.Replace(tree["module.json"], `"build": {`, `"build": {"run": [["sleep", "0.3"]], "test": [["sleep", "0.3"]], `, 1)
	return tree
}

// end is the last commit, after the last kill: it goes out, and everything is well.
func (h *havoc) end() {
	m, t := h.m, h.m.t
	m.untilUp()
	last, slow := h.commit(), m.forge.commit("slow", h.slow())
	began := time.Now()
	s := m.until("the last commit is out", isOut("site", last, 3))
	t.Logf("%d commits, killed %v; the last is out %s after it was made", h.edition, h.kills, since(began))
	for _, n := range three {
		m.holds(n, "opt/site/index.html", strconv.Itoa(h.edition))
		if got := nodeOf(s, n); got.Finding != "" || got.Trouble != nil {
			t.Errorf("%s at the end: finding %q, trouble %+v", n, got.Finding, got.Trouble)
		}
	}
	m.until("all is out", func(s status.Status) string {
		for _, n := range s.Nodes {
			if n.Behind != inventory.NotBehind || n.Refused != "" || n.State != "applied" {
				return fmt.Sprintf("%s is %s, refused %q", n.Name, n.State, n.Refused)
			}
		}
		if !moduleOf(s, "motd").Out() {
			return line(s, "motd")
		}
		return isOut("slow", slow, 3)(s)
	})
	h.check()
	m.oneDigest()
}

func (h *havoc) commit() string {
	h.edition++
	commit := h.m.forge.commit("site", files{"public/index.html": strconv.Itoa(h.edition)})
	h.commits[commit] = h.edition
	return commit
}

func (h *havoc) kill() {
	all := append(append([]*part{h.m.controller}, h.m.builders...), h.m.hosts...)
	p := all[h.random.IntN(len(all))]
	if !p.running() {
		h.m.t.Fatalf("%s ended by itself: %v", p.name, p.err)
	}
	p.kill()
	h.kills[p.name]++
	h.check() // while it is dead
	p.start()
}

// check looks at what must be true at every moment.
func (h *havoc) check() {
	t := h.m.t
	for _, n := range three {
		if now := h.m.accepted(n); now.Before(h.highest[n]) {
			t.Errorf("%s had accepted %+v, and now %+v", n, h.highest[n], now)
		} else {
			h.highest[n] = now
		}
	}
	s, err := h.m.status()
	if err != nil {
		return // the controller is dead just now
	}
	for _, on := range moduleOf(s, "site").Nodes {
		if on.Standing != inventory.Applied {
			continue
		}
		// A node's file only ever goes up, so that it is at least what was claimed before.
		has, err := strconv.Atoi(h.m.read(on.Name, "opt/site/index.html"))
		if claimed := h.commits[on.Commit]; err != nil || has < claimed {
			t.Errorf("applied is claimed of edition %d on %s, and it has %d: %v", claimed, on.Name, has, err)
		}
	}
}

// accepted is what a node's own state says that it has accepted.
func (m *mesh) accepted(node string) declaration.Tuple {
	m.t.Helper()
	sys, err := system.Open(m.root(node))
	must(m.t, err)
	defer sys.Close()
	f, err := keep.Look(sys)
	must(m.t, err)
	defer f.Close()
	e, err := f.Accepted()
	if fault.KindOf(err) == fault.NotFound {
		return declaration.Tuple{}
	}
	must(m.t, err)
	d, err := declaration.Decode(e.Payload)
	must(m.t, err)
	tuple, err := d.Tuple()
	must(m.t, err)
	return tuple
}

// oneDigest looks for an identity with two contents, in all that was recorded.
func (m *mesh) oneDigest() {
	m.t.Helper()
	builds := map[string]string{} // by commit
	for _, b := range do(m, api.Builds(), api.BuildsIn{Limit: 1000}).Builds {
		if b.Finding != "" {
			m.t.Errorf("build %s: %s", b.Request, b.Finding)
		}
		key := b.Module + " " + b.Commit
		if was, ok := builds[key]; ok && b.Build != "" && was != b.Build {
			m.t.Errorf("%s was built as %s and as %s", key, was, b.Build)
		}
		if b.Build != "" {
			builds[key] = b.Build
		}
	}
	m.controller.stop()
	d := m.openRecord()
	defer d.Close()
	err := d.Read(m.t.Context(), func(tx *db.Tx) error {
		rows, err := db.All(tx, db.Text, `SELECT node FROM ledger GROUP BY node, epoch, generation HAVING count(*) > 1`)
		if len(rows) > 0 {
			m.t.Errorf("the ledger has two digests for one place in the order: %s", strings.Join(rows, ", "))
		}
		return err
	})
	must(m.t, err)
}
