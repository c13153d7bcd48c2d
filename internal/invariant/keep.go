package invariant

import (
	"slices"

	"noxmesh/declaration"
)

// I6: what was acknowledged is in the record.
func (f *findings) acknowledged() {
	if !f.seen.Record.Known {
		return
	}
	for _, a := range f.acks() {
		if f.recorded(a) {
			continue
		}
		switch a.Kind {
		case AckAnswer:
			f.find(I6, a.From, "its answer to request %s was acknowledged, and is not in the record", a.Key)
		case AckReport:
			f.find(I6, a.From, "its report %d was acknowledged, and is not in the record", a.Sequence)
		case AckDeclared:
			f.find(I6, a.Key+" on "+a.From, "that it is declared was acknowledged, and is not in the record")
		}
	}
}

// recorded reports whether the record holds what was acknowledged. Of a node that
// was removed it holds no report.
func (f *findings) recorded(a Ack) bool {
	r := f.seen.Record
	switch a.Kind {
	case AckAnswer:
		return slices.ContainsFunc(r.Answers, func(x Answer) bool { return x.Request == a.Key })
	case AckReport:
		row := f.row(a.From)
		return row == nil || row.Report != nil && row.Report.Sequence >= a.Sequence
	case AckDeclared:
		return slices.ContainsFunc(r.Declared, func(d Declared) bool { return d.Module == a.Key && d.Node == a.From })
	}
	return true
}

// acks are those that were seen to arrive, and those that nodes have kept.
func (f *findings) acks() []Ack {
	all := slices.Clone(f.seen.Acks)
	for _, n := range f.seen.Nodes {
		if n.Committed > 0 {
			all = append(all, Ack{Kind: AckReport, From: n.ID, Sequence: n.Committed})
		}
	}
	return all
}

// I7: what somebody else has put on a node stays, and is never the host's own.
func (f *findings) foreign() {
	for _, n := range f.seen.Nodes {
		put := map[string]bool{}
		for _, o := range n.Foreign {
			if o.Given {
				continue
			}
			put[o.Path] = true
			if o.Found != o.Put {
				f.find(I7, n.Name+":"+o.Path, "somebody else put %q there, and there is %q", o.Put, o.Found)
			}
		}
		for _, t := range n.Things {
			if t.Made && put[t.Path] {
				f.find(I7, n.Name+":"+t.Path, "somebody else put it there, and the host's record says that the host made it")
			}
		}
	}
}

// I9: no plain secret is found outside memory.
func (f *findings) secrets() {
	for _, c := range f.seen.Canaries {
		for _, where := range c.Found {
			f.find(I9, where, "the secret %q is there in plain", c.Name)
		}
	}
}

// I10: what is used stays within its bound.
func (f *findings) bounds() {
	for _, u := range f.seen.Usage {
		if u.Used > u.Most {
			f.find(I10, u.What, "%d is used, and at most %d may be", u.Used, u.Most)
		}
	}
}

// I10: nothing is left behind for ever.
func (f *findings) leftovers() {
	for _, path := range f.seen.Left {
		f.find(I10, path, "it is left behind, and nothing will remove it")
	}
}

// I5, at the end: what a node has accepted was issued, or the mesh says that it was not.
func (f *findings) strangers() {
	if !f.seen.Record.Known {
		return
	}
	issued := map[Issued]bool{}
	for _, i := range f.seen.Record.Ledger {
		issued[i] = true
	}
	for _, n := range f.seen.Nodes {
		if len(n.History) == 0 || n.Away || f.row(n.ID) == nil || f.shown(n.ID) {
			continue
		}
		last := n.History[len(n.History)-1].Tuple
		if last != (declaration.Tuple{}) && !issued[Issued{n.ID, last}] {
			f.find(I5, n.Name, "it has accepted %s, which the record never issued, and nothing says so", words(last))
		}
	}
}
