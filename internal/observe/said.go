package observe

import (
	"noxmesh/document"
	"noxmesh/internal/invariant"
	"noxmesh/inventory"
	"noxmesh/status"
)

// Said is the status as the checker wants it. The record says which content is
// declared on a node: of one commit there may be several, built against one
// thing and another.
func Said(s status.Status, record invariant.Record) invariant.Said {
	of := map[document.Digest]document.Digest{} // by build
	for _, b := range record.Builds {
		of[b.ID] = b.Content
	}
	content := map[string]document.Digest{}
	for _, d := range record.Declared {
		content[d.Module+" "+d.Node] = of[d.Build]
	}
	said := invariant.Said{Known: true, Recovering: s.Recovering}
	for _, m := range s.Modules {
		said.Modules = append(said.Modules, module(m, content))
	}
	for _, n := range s.Nodes {
		is := invariant.NodeSaid{
			Node: n.Node, State: n.State, LastSeen: n.LastSeen, ReportAt: n.ReportAt, Refused: n.Refused, Finding: n.Finding, NotWorkedOut: n.NotWorkedOut,
		}
		for _, f := range n.Failing {
			is.Failing = append(is.Failing, invariant.Failing{Resource: f.Resource, State: f.State, Why: f.Error})
		}
		if n.Trouble != nil {
			t := trouble(*n.Trouble)
			is.Trouble = &t
		}
		said.Nodes = append(said.Nodes, is)
	}
	return said
}

func module(m status.Module, content map[string]document.Digest) invariant.Module {
	is := invariant.Module{
		Name: m.Module, Commit: m.Source.Commit, State: m.Source.State, Why: m.Source.Why, Since: m.Source.Since,
		Current: m.Built != nil && m.Built.Current, Finding: m.Finding,
	}
	for _, on := range m.Nodes {
		c := content[m.Module+" "+on.Node]
		is.On = append(is.On, invariant.On{
			Node: on.Node, Content: c, Applied: on.Standing == inventory.Applied, Failed: on.Standing == inventory.Failed, Why: on.Why,
			Declared: m.Built != nil && on.Commit != "" && string(c) == m.Built.Content,
		})
	}
	for _, w := range m.Waiting {
		is.Waits = append(is.Waits, invariant.Wait{For: w.For, Since: w.Since})
	}
	for _, t := range m.Trouble {
		is.Troubles = append(is.Troubles, trouble(t))
	}
	return is
}

func trouble(t status.Trouble) invariant.Trouble {
	return invariant.Trouble{Says: t.Says, Since: t.Since, Count: t.Count, Stuck: t.Stuck}
}
