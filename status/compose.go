package status

import (
	"slices"
	"strings"
	"time"

	"noxmesh/declaration"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/document"
	"noxmesh/inventory"
	"noxmesh/report"
	"noxmesh/trouble"
)

// ModuleFacts is what a module's status is made of.
type ModuleFacts struct {
	Delivery  delivery.Facts
	Nodes     map[string]inventory.Node                // those that it belongs on or is declared on, by id
	AppliedAt map[string]map[document.Digest]time.Time // by node and content: first reported as applied
	Trouble   []trouble.Trouble                        // of the loops, about this module
}

// OfModule is the module's status.
func OfModule(f ModuleFacts, now time.Time) Module {
	d := f.Delivery
	m := Module{Module: d.Module, Policy: string(d.Policy), Source: sourceOf(d), Assigned: len(d.Nodes), Nodes: []On{}}
	line := lineBuild(d)
	if line != nil {
		m.Built = builtOf(*line, d)
		m.Finding = line.Finding
	}
	m.count(f, line)
	for _, w := range delivery.Compare(d, now).Waiting {
		m.Waiting = append(m.Waiting, Waiting(w))
	}
	for _, t := range f.Trouble {
		m.Trouble = append(m.Trouble, *TroubleOf(t))
	}
	return m
}

func sourceOf(d delivery.Facts) Source {
	s := d.Source
	return Source{s.Ref, s.Commit, s.State.String(), s.Why, s.Since, s.LookedAt}
}

// lineBuild is the build that the line is about: the current one, or else the newest.
func lineBuild(d delivery.Facts) *artifact.Build {
	if b := delivery.CurrentBuild(d); b != nil {
		return b
	}
	var newest *artifact.Build
	for i, b := range d.Builds {
		if newest == nil || b.At.After(newest.At) {
			newest = &d.Builds[i]
		}
	}
	return newest
}

func builtOf(b artifact.Build, d delivery.Facts) *Built {
	made := b.Manifest.Built
	current := !b.Gone && artifact.Current(artifact.Of(b), delivery.ClosureNow(d))
	return &Built{
		Build: string(b.ID), Content: string(b.Content), Commit: made.Commit, Current: current,
		SameTree: current && made.Commit != d.Source.Commit, Verdict: b.Verdict.String(), At: b.At,
	}
}

// count fills the numbers and the list of nodes.
func (m *Module) count(f ModuleFacts, line *artifact.Build) {
	builds := map[document.Digest]artifact.Build{}
	for _, b := range f.Delivery.Builds {
		builds[b.ID] = b
	}
	older := map[document.Digest]int{}
	for _, id := range nodesOf(f) {
		declared, ok := builds[f.Delivery.Declared[id]]
		if !ok {
			m.Nodes = append(m.Nodes, On{Node: id, Name: f.Nodes[id].Name, LastSeen: f.Nodes[id].LastSeen})
			continue
		}
		on := onNode(f, id, declared)
		switch {
		case line == nil || declared.Content != line.Content:
			older[declared.ID]++
		case m.Built.Current: // where the commit is another and the content is the same, it is applied at once
			on.Commit = line.Manifest.Built.Commit
			fallthrough
		default:
			m.add(on.Standing)
		}
		m.Nodes = append(m.Nodes, on)
	}
	for id, count := range older {
		m.Older = append(m.Older, Older{builds[id].Manifest.Built.Commit, string(id), count})
	}
	slices.SortFunc(m.Older, func(a, b Older) int { return strings.Compare(a.Build, b.Build) })
}

// onNode is how one node stands to the build that is declared on it.
func onNode(f ModuleFacts, id string, declared artifact.Build) On {
	n := f.Nodes[id]
	on := On{Node: id, Name: n.Name, LastSeen: n.LastSeen, Commit: declared.Manifest.Built.Commit}
	on.Standing = inventory.StandingOf(n, declaration.Module{Module: f.Delivery.Module, Content: declared.Content})
	switch on.Standing {
	case inventory.Applied:
		on.At = f.AppliedAt[id][declared.Content]
	case inventory.Failed:
		on.Why = failedWords(n, f.Delivery.Module)
	case inventory.Outstanding:
	}
	return on
}

// nodesOf is every node that the module belongs on or is declared on, by name.
func nodesOf(f ModuleFacts) []string {
	ids := slices.Clone(f.Delivery.Nodes)
	for id := range f.Delivery.Declared {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return strings.Compare(f.Nodes[a].Name+"\x00"+a, f.Nodes[b].Name+"\x00"+b)
	})
	return ids
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

func failedWords(n inventory.Node, module string) string {
	r := inventory.FailedModule(*n.Report, module)
	if r == nil {
		return ""
	}
	return r.ID + ": " + r.Error
}

// NodeFacts is what a node's status is made of.
type NodeFacts struct {
	Node         inventory.Node
	Wanted       document.Digest // of what the mesh would send now; empty where it wants nothing or cannot work it out
	NotWorkedOut int
	Modules      []string // that belong on it
}

// NodeState is the one word for a node: not joined, quarantined, failed, out of
// date, never told, outstanding, applied, or idle where nothing is wanted of it.
func NodeState(f NodeFacts) string {
	n := f.Node
	behind := inventory.BehindOf(n, f.Wanted)
	switch {
	case n.JoinedAt.IsZero():
		return "not joined"
	case n.Finding != "":
		return "quarantined"
	case behind != inventory.NotBehind:
		return string(behind)
	case n.Report != nil && n.Report.Outcome == report.OutcomeFailed:
		return "failed"
	case f.Wanted == "":
		return "idle"
	case n.Report == nil || n.Report.Applied != n.Wanted:
		return "outstanding"
	}
	return "applied"
}

// OfNode is the node's status.
func OfNode(f NodeFacts) Node {
	n := f.Node
	out := Node{
		Node: n.ID, Name: n.Name, State: NodeState(f), Behind: inventory.BehindOf(n, f.Wanted), Host: n.Host,
		LastSeen: n.LastSeen, SentAt: n.Sent.At, ReportAt: n.ReportAt, Finding: n.Finding,
		Trouble: TroubleOf(n.Trouble), NotWorkedOut: f.NotWorkedOut, Modules: f.Modules,
	}
	if out.Modules == nil {
		out.Modules = []string{}
	}
	if n.Refused != nil {
		out.Refused = n.Refused.Why
	}
	if n.Report == nil {
		return out
	}
	out.Outcome = string(n.Report.Outcome)
	for _, r := range n.Report.Resources {
		if r.Fixed {
			out.Drift++
		}
		switch r.State {
		case report.StateFailed, report.StateBlocked, report.StateWaiting, report.StateDiffers:
			out.Failing = append(out.Failing, Failing{r.ID, string(r.State), r.Error})
		case report.StateOK, report.StateChanged, report.StateRemoved:
		}
	}
	return out
}
