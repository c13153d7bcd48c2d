package status

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"noxmesh/declaration"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/document"
	"noxmesh/inventory"
	"noxmesh/trouble"
)

// ModuleFacts is what a module's status is made of.
type ModuleFacts struct {
	Delivery  delivery.Facts
	Nodes     map[string]inventory.Node                // at least those that it belongs on, by id
	AppliedAt map[string]map[document.Digest]time.Time // by node and content: first reported as applied
	Trouble   []trouble.Trouble                        // of the loops, about this module
}

// OfModule is the module's status.
func OfModule(f ModuleFacts, now time.Time) Module {
	d := f.Delivery
	m := Module{Module: d.Module, Policy: string(d.Policy), Source: sourceOf(d), Nodes: []On{}}
	line := lineBuild(d)
	if line != nil {
		m.Built = builtOf(*line, d)
		m.Finding = delivery.Named(d, line.Finding)
	}
	m.Environment = EnvironmentOf(d, d.In)
	m.Building = buildingOf(d)
	m.count(f, line)
	for _, w := range delivery.Compare(d, now).Waiting {
		m.Waiting = append(m.Waiting, Waiting(w))
	}
	for _, l := range delivery.LostOf(d, now) {
		m.Lost = append(m.Lost, Lost{string(l.Build.ID), l.Build.Manifest.Built.Commit, len(l.On), l.Build.GoneAt, l.Mends, l.Says})
	}
	for _, t := range f.Trouble {
		m.Trouble = append(m.Trouble, *TroubleOf(t))
	}
	if t := delivery.FailingOf(d); t != nil {
		m.Trouble = append(m.Trouble, *TroubleOf(trouble.Trouble{Says: t.Says, Since: t.Since, Count: t.Count}))
	}
	return m
}

func sourceOf(d delivery.Facts) Source {
	s := d.Source
	since := s.Since
	if since.IsZero() {
		since = d.AddedAt
	}
	out := Source{Ref: s.Ref, Commit: s.Commit, State: s.State.String(), Why: s.Because(), Since: since, LookedAt: s.LookedAt}
	for _, n := range s.Notices {
		if says := n.String(); says != "" {
			out.Notices = append(out.Notices, Notice{string(n.Kind), says, n.Since})
		}
	}
	return out
}

// lineBuild is the build that the line is about: the current one, or else the newest.
func lineBuild(d delivery.Facts) *artifact.Build {
	if b := delivery.CurrentBuild(d); b != nil {
		return b
	}
	return delivery.NewestBuild(d)
}

func builtOf(b artifact.Build, d delivery.Facts) *Built {
	made := b.Manifest.Built
	current := delivery.IsCurrent(d, b)
	return &Built{
		Build: string(b.ID), Content: string(b.Content), Commit: made.Commit, Current: current,
		SameTree: current && made.Commit != d.Source.Commit, Verdict: b.Verdict.String(), At: b.At,
	}
}

// count fills the numbers and the list of nodes: those that the module belongs
// on. What is still declared on another node is not of them, since the node's
// plan does not name it.
func (m *Module) count(f ModuleFacts, line *artifact.Build) {
	builds := map[document.Digest]*artifact.Build{}
	for i, b := range f.Delivery.Builds {
		builds[b.ID] = &f.Delivery.Builds[i]
	}
	older := map[document.Digest]int{}
	m.Nodes = make([]On, 0, len(f.Delivery.Nodes))
	for _, id := range nodesOf(f) {
		m.Assigned++
		n := f.Nodes[id]
		on := On{Node: id, Name: n.Name, LastSeen: n.LastSeen, Finding: cmp.Or(n.Twins, n.Finding)}
		if declared := builds[f.Delivery.Declared[id]]; declared != nil {
			on = onNode(on, n, *declared, f.AppliedAt[id])
			if declared.Content == line.Content {
				on.Commit, on.Build = line.Manifest.Built.Commit, string(line.ID) // another commit's build, and the same on a machine
				m.add(on.Standing)
			} else {
				older[declared.ID]++
			}
		}
		m.Nodes = append(m.Nodes, on)
	}
	m.Older = olderOf(builds, older)
}

// nodesOf is every node that the module belongs on, by name.
func nodesOf(f ModuleFacts) []string {
	type named struct{ name, id string }
	all := make([]named, 0, len(f.Delivery.Nodes))
	for _, id := range f.Delivery.Nodes {
		all = append(all, named{f.Nodes[id].Name, id})
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id)) })
	ids := make([]string, 0, len(all))
	for _, n := range slices.Compact(all) {
		ids = append(ids, n.id)
	}
	return ids
}

// onNode is the entry of a node on which this build is declared.
func onNode(on On, n inventory.Node, b artifact.Build, applied map[document.Digest]time.Time) On {
	on.Commit, on.Build = b.Manifest.Built.Commit, string(b.ID)
	on.Standing = inventory.StandingOf(n, declaration.Module{Module: b.Module, Content: b.Content})
	switch on.Standing {
	case inventory.Applied:
		on.At = applied[b.Content]
	case inventory.Failed:
		if r := inventory.FailedModule(*n.Report, b.Module); r != nil {
			on.Why = r.ID + ": " + cmp.Or(r.Error, string(r.State))
		}
	case inventory.Outstanding:
	}
	return on
}

// olderOf is the other builds with the number of their nodes, newest first.
func olderOf(builds map[document.Digest]*artifact.Build, count map[document.Digest]int) []Older {
	ids := slices.SortedFunc(maps.Keys(count), func(a, b document.Digest) int {
		return -cmp.Or(artifact.Older(*builds[a], *builds[b]), cmp.Compare(a, b))
	})
	var out []Older
	for _, id := range ids {
		out = append(out, Older{builds[id].Manifest.Built.Commit, string(id), count[id]})
	}
	return out
}

func (m *Module) add(s inventory.Standing) {
	m.Declared++
	switch s {
	case inventory.Applied:
		m.Applied++
	case inventory.Failed:
		m.Failed++
	case inventory.Outstanding:
		m.Outstanding++
	}
}
