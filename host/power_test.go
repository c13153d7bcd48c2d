//go:build power

package host

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"noxmesh/host/keep"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/internal/power"
)

// machine is a node's disks: one for everything, or one for what is delivered
// and one for the host's state.
type machine struct {
	root  string
	disks power.Disks
}

type images struct{ tree, state power.Image }

func (i images) mount(t testing.TB) machine {
	t.Helper()
	tree := i.tree.Mount(t)
	m := machine{tree.Dir, power.Disks{tree}}
	if i.state != "" {
		m.disks = append(m.disks, i.state.MountAt(t, filepath.Join(tree.Dir, keep.Path)))
	}
	return m
}

func (m machine) images() images {
	if len(m.disks) == 1 {
		return images{tree: m.disks[0].Image()}
	}
	state := m.disks[1].Image()
	return images{m.disks[0].Image(), state}
}

// sync makes what was done by hand outlive the cut.
func (m machine) sync(t testing.TB) {
	t.Helper()
	must(t, power.Sync(m.root))
}

// outage is one power cut: what had been applied before, what was being applied, and where.
type outage struct {
	from        images
	first, then bundle
	power.Cut
}

// TestPowerIsCutAnywhere cuts the power before and after each effect of a first
// apply and of a change, and at its end, and holds what is on the disk then, and
// what the next run makes of it. Where the log is lost, the state is on a disk
// of its own: what makes it durable does nothing for the rest.
func TestPowerIsCutAnywhere(t *testing.T) {
	t.Parallel()
	cuts := plannedCuts(t)
	t.Logf("%d power cuts", len(cuts))
	if len(cuts) < 150 {
		t.Fatalf("only %d cuts: the effects are not all there", len(cuts))
	}
	for _, c := range cuts {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			c.happens(t)
		})
	}
}

// plannedCuts is every cut that there is, of a first apply and of a change.
func plannedCuts(t *testing.T) (cuts []outage) {
	before, after := bundled(t, 1, crashBefore), bundled(t, 2, crashAfter)
	blank := power.Blank(t, "16M")
	m := images{tree: blank}.mount(t)
	plant(t, filepath.Join(m.root, "etc/was"), "was here")
	plant(t, filepath.Join(m.root, "opt/site/foreign"), "foreign")
	must(t, os.MkdirAll(filepath.Join(m.root, keep.Path), 0o700))
	tree := m.disks[0].Image()
	froms := map[power.Log]images{power.Written: {tree: tree}, power.Lost: {tree, blank}}
	first := bundle{}
	for _, then := range []bundle{before, before, after} {
		passed := ""
		next := map[power.Log]images{}
		for log, from := range froms {
			m := from.mount(t)
			drift(t, m.root, []bundle{first, then})
			file := filepath.Join(t.TempDir(), "effects")
			if code, _, said := then.apply(t, m.root, "MESH_EFFECTS="+file); code != 0 {
				t.Fatalf("exit %d: %s", code, said)
			}
			text, err := os.ReadFile(file)
			must(t, err)
			if len(text) > len(passed) {
				passed = string(text) // one disk more is a sync more
			}
			next[log] = m.images()
		}
		for _, c := range power.Cuts(passed) {
			cuts = append(cuts, outage{froms[c.Log], first, then, c})
		}
		froms, first = next, then
	}
	return cuts
}

func (c outage) happens(t *testing.T) {
	m := c.from.mount(t)
	drift(t, m.root, []bundle{c.first, c.then})
	m.sync(t)
	_, killed, said := c.then.apply(t, m.root, m.disks.Env(c.Cut)...)
	if killed == (c.Point == power.End) {
		t.Fatalf("killed: %v: %s", killed, said)
	}
	if killed {
		m.disks.Back(t)
	} else {
		m.disks.Fail(c.Log)
		m.disks.Back(t)
		holds(t, m.root, "applied, then cut", c.then)
	}
	c.oldOrNew(t, m.root)
	c.recordFollows(t, m.root)
	if code, _, said := c.then.apply(t, m.root); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	m.disks.Fail(c.Log)
	m.disks.Back(t) // it has said that all is applied
	holds(t, m.root, c.Point, c.then)
	c.recordFollows(t, m.root)
}

// oldOrNew is that each thing is as it was or as it is to be: never empty,
// never a part of it, and gone only where it was not there or is not to be.
func (c outage) oldOrNew(t *testing.T, root string) {
	t.Helper()
	unmixed(t, root, c.Point)
	was := map[string]string{"/etc/was": "was here", "/opt/site/foreign": "foreign"}
	for p, what := range c.first.things {
		was[p] = what
	}
	if c.first.file == c.then.file {
		maps.Copy(was, byHand)
	}
	paths := map[string]bool{}
	for p := range was {
		paths[p] = true
	}
	for p := range c.then.things {
		paths[p] = true
	}
	for p := range paths {
		got, old, wanted := describe(filepath.Join(root, p)), was[p], c.then.things[p]
		if p == "/etc/was" && wanted == "" || p == "/opt/site/foreign" {
			wanted = old // not the host's to remove
		}
		turns := old != "" && wanted != "" && (old == "/") != (wanted == "/") // a directory cannot be replaced in one step
		if got != old && got != wanted && (!turns || got != "") {
			t.Errorf("%s is %q, was %q, is to be %q", p, got, old, wanted)
		}
	}
}

// recordFollows is that what the host keeps can be read, and holds: everything
// which its record says was read back is there, and nobody else's thing was
// touched. What is no longer declared is removed first and then struck out.
func (c outage) recordFollows(t *testing.T, root string) {
	t.Helper()
	n, err := observe.Node(root)
	must(t, err)
	for i, thing := range n.Things {
		n.Things[i].Touched = thing.Found == "" && c.then.things[thing.Path] == "" || c.first.file == c.then.file && touched(root, thing.Path)
	}
	foreign := filepath.Join(root, "opt/site/foreign")
	n.Foreign = []invariant.Foreign{{Path: "/opt/site/foreign", Put: "foreign", Found: describe(foreign)}}
	for _, f := range invariant.Always(invariant.Seen{Nodes: []invariant.Node{n}}) {
		t.Error(f)
	}
}
