package invariant

import (
	"slices"

	"noxmesh/declaration"
	"noxmesh/report"
)

func (f *findings) row(node string) *NodeRow {
	for i, n := range f.seen.Record.Nodes {
		if n.Node == node {
			return &f.seen.Record.Nodes[i]
		}
	}
	return nil
}

func (f *findings) said(node string) *NodeSaid {
	for i, n := range f.seen.Said.Nodes {
		if n.Node == node {
			return &f.seen.Said.Nodes[i]
		}
	}
	return nil
}

// same is the record's row of a node, where status and record speak of one
// report: the one of them that was read later may know a newer one.
func (f *findings) same(node string) *NodeRow {
	row, said := f.row(node), f.said(node)
	if row == nil || said == nil || !row.ReportAt.Equal(said.ReportAt) {
		return nil
	}
	return row
}

// I2: applied is said only of what the node's own signed report has read back.
func (f *findings) claimedOfModules() {
	for _, m := range f.seen.Said.Modules {
		for _, on := range m.On {
			row := f.same(on.Node)
			if !on.Applied || row == nil {
				continue
			}
			where := m.Name + " on " + on.Node
			switch {
			case row.Report == nil:
				f.find(I2, where, "applied is said, and there is no report")
			case !slices.Contains(report.AppliedModules(*row.Report), declaration.Module{Module: m.Name, Content: on.Content}):
				f.find(I2, where, "applied is said of %s, and the node's report has not read that back", on.Content.Short())
			}
		}
	}
}

// I2: of a node nothing is recorded or shown that it did not sign or has not done.
func (f *findings) claimedOfNodes() {
	for _, row := range f.seen.Record.Nodes {
		if row.Report != nil && !row.Signed {
			f.find(I2, row.Node, "the recorded report is not signed by the node's key")
		}
		if row.Report != nil && row.Report.Accepted.Before(row.Report.Applied) {
			f.find(I2, row.Node, "it reports that %s is applied, and has accepted %s", words(row.Report.Applied), words(row.Report.Accepted))
		}
		if said := f.said(row.Node); said != nil && said.State == Applied && f.same(row.Node) != nil {
			f.claimedApplied(row)
		}
		f.claimedAccepted(row)
	}
}

func (f *findings) claimedApplied(row NodeRow) {
	r := row.Report
	if r == nil || r.Outcome != report.OutcomeApplied || r.Applied != r.Accepted || len(report.AppliedModules(*r)) != len(r.Modules) {
		f.find(I2, row.Node, "applied is said of the node, and its report does not")
	}
}

// claimedAccepted holds what the record says that a node has accepted, and was
// sent, against the node's own disk.
func (f *findings) claimedAccepted(row NodeRow) {
	n := f.node(row.Node)
	if n == nil || len(n.History) == 0 {
		return
	}
	last := n.History[len(n.History)-1].Tuple
	if last.Before(row.Accepted) {
		f.find(I2, row.Node, "the record says that it has accepted %s, and its disk says %s", words(row.Accepted), words(last))
	}
	if last.Before(row.Sent) && row.Refused != row.Sent {
		f.find(I2, row.Node, "the record says that %s was sent and received, and its disk says %s", words(row.Sent), words(last))
	}
}

// I2: a host's record is never ahead of what is there, and neither is its report.
func (f *findings) claimedByHosts() {
	for _, n := range f.seen.Nodes {
		for _, t := range n.Things {
			if t.Done && !t.Touched && t.Want != t.Found {
				f.find(I2, n.Name+":"+t.Path, "the host's record says that it read back %q, and there is %q", t.Want, t.Found)
			}
		}
		f.reportedByHost(n)
	}
}

// reportedByHost holds a node's report against its host's record, where both are
// of one declaration.
func (f *findings) reportedByHost(n Node) {
	row := f.row(n.ID)
	if row == nil || row.Report == nil || n.Things == nil || len(n.History) == 0 || row.Report.Accepted != n.History[len(n.History)-1].Tuple {
		return
	}
	has := map[string]bool{}
	for _, t := range n.Things {
		has[t.Resource] = true
	}
	for _, r := range row.Report.Resources {
		if (r.State == report.StateOK || r.State == report.StateChanged) && !has[r.ID] {
			f.find(I2, n.Name, "its report says that %s is %s, and its record knows nothing of it", r.ID, r.State)
		}
	}
}

func (f *findings) node(id string) *Node {
	for i, n := range f.seen.Nodes {
		if n.ID == id {
			return &f.seen.Nodes[i]
		}
	}
	return nil
}
