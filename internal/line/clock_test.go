//go:build meshcrash

package line

import (
	"fmt"
	"os"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/internal/db"
	"noxmesh/internal/observe"
	"noxmesh/status"
)

// year is long enough that no two years look like one.
const year = 8766 * time.Hour

// setClock sets a program's clock, which runs on from there.
func (m *mesh) setClock(part string, by time.Duration) {
	m.t.Helper()
	next := m.path(part + ".clock.new")
	must(m.t, os.WriteFile(next, []byte(by.String()), 0o600))
	must(m.t, os.Rename(next, m.path(part+".clock")))
}

// wrong gives a program a clock that can be set, and starts it anew with it.
func (m *mesh) wrong(p *part, name string, by time.Duration) {
	m.t.Helper()
	m.setClock(name, by)
	p.env = append(p.env, "MESH_CLOCK_FILE="+m.path(name+".clock"))
	p.kill() // it may be too young to be told to stop
	p.start()
}

// timely is that nothing of the status is later than the status itself.
func timely(s status.Status) string {
	for _, mod := range s.Modules {
		for _, tr := range mod.Trouble {
			if tr.Since.After(s.At) {
				return fmt.Sprintf("trouble of %s begins at %s, and it is %s", mod.Module, tr.Since, s.At)
			}
		}
	}
	return ""
}

// TestNoClockStopsAnything: hosts, a builder and the controller with clocks at
// 1970 and 2100 and ones that are set while they run. Every commit goes out.
func TestNoClockStopsAnything(t *testing.T) {
	t.Parallel()
	m := begin(t, options{programs: folder(t, crashing), lease: 5 * time.Second})
	m.wrong(m.controller, "controller", 0)
	m.untilAnswers()
	m.wrong(m.addBuilder("b1"), "b1", 0)
	for _, n := range []string{"node1", "node2", "node3"} {
		m.wrong(m.addHost(n), n, 0)
	}
	m.setClock("node1", -56*year)
	m.setClock("node2", 74*year)
	m.module("site", site("site", "0"))
	m.assign("site", "node1", "node2", "node3")
	m.auto("site")
	n := 0
	goesOut := func(when string) {
		t.Helper()
		n++
		text := fmt.Sprintf("%d %s", n, when)
		commit := m.forge.commit("site", files{"public/index.html": text})
		s := m.until("a commit is out: "+when, isOut("site", commit, 3))
		if why := timely(s); why != "" {
			t.Errorf("%s: %s", when, why)
		}
		m.holds("node1", "opt/site/index.html", text)
	}
	goesOut("two nodes have wrong clocks")
	m.until("the status says whose clock differs", func(s status.Status) string {
		one, two, three := nodeOf(s, "node1"), nodeOf(s, "node2"), nodeOf(s, "node3")
		if one.ClockAhead > -40*365*86400 || two.ClockAhead < 40*365*86400 || three.ClockAhead != 0 {
			return fmt.Sprint(one.ClockAhead, " ", two.ClockAhead, " ", three.ClockAhead)
		}
		return ""
	})
	m.setClock("node1", -time.Hour)
	m.setClock("node3", 10*year)
	m.setClock("b1", -56*year)
	goesOut("the builder is at 1970, and clocks are set while they run")
	m.setClock("b1", 74*year)
	goesOut("the builder is at 2100")
	epoch := m.epoch()
	for _, by := range []time.Duration{10 * year, -time.Hour, 74 * year, 0, -56 * year, 0} {
		m.setClock("controller", by)
		goesOut("the controller's clock is off by " + by.String())
	}
	for _, by := range []time.Duration{74 * year, -56 * year, 0} {
		m.setClock("controller", by)
		m.controller.restart()
		m.untilAnswers()
		goesOut("the controller has started with a clock off by " + by.String())
	}
	if is := m.epoch(); is != epoch {
		t.Errorf("epoch %d, was %d", is, epoch)
	}
	m.setClock("node3", 0)
	m.join4(t)
	record, err := observe.RecordAt(t.Context(), "sqlite:"+m.path("controller", "record.db"))
	must(t, err)
	generation := map[string]int64{}
	for _, i := range record.Ledger {
		if i.Tuple.Generation <= generation[i.Node] {
			t.Errorf("%s: generation %d after %d", i.Node, i.Tuple.Generation, generation[i.Node])
		}
		generation[i.Node] = i.Tuple.Generation
	}
	for _, name := range []string{"node1", "node2", "node3"} {
		if again := m.logged(name, "join"); again > 0 {
			t.Errorf("%s speaks of joining", name)
		}
	}
}

// join4 is a node that joins at 1970.
func (m *mesh) join4(t *testing.T) {
	t.Helper()
	token := do(m, api.NodeAdd(), api.NodeAddIn{Node: "node4"}).Token
	must(t, os.MkdirAll(m.root("node4"), 0o755))
	p := m.part("join4", nil, "mesh-host", "join", token, "--root", m.root("node4"))
	p.env = []string{"MESH_CLOCK=" + (-56 * year).String()}
	p.start()
	<-p.ended
	m.until("node4 has joined", func(s status.Status) string {
		if state := nodeOf(s, "node4").State; state == "" || state == "not joined" {
			return state + " "
		}
		return ""
	})
}

func (m *mesh) epoch() (epoch int64) {
	m.t.Helper()
	d, err := db.Open(m.t.Context(), "sqlite:"+m.path("controller", "record.db"))
	must(m.t, err)
	defer d.Close()
	must(m.t, d.Read(m.t.Context(), func(tx *db.Tx) (err error) {
		epoch, _, err = db.One(tx, db.Number, `SELECT epoch FROM fence`)
		return err
	}))
	return epoch
}
