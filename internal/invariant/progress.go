package invariant

import (
	"strconv"
	"time"
)

// I8: what waits says why and since when, and three alike is stuck.
func (f *findings) waits() {
	for _, m := range f.seen.Said.Modules {
		if m.State != "" && m.State != "read" {
			f.reason("source of "+m.Name, m.Why, m.Since)
		}
		for _, w := range m.Waits {
			f.reason(m.Name, w.For, w.Since)
		}
		for _, t := range m.Troubles {
			f.trouble(m.Name, t)
		}
		for _, on := range m.On {
			if on.Failed && on.Why == "" {
				f.find(I8, m.Name+" on "+on.Node, "it has failed, and nothing says why")
			}
		}
	}
	for _, n := range f.seen.Said.Nodes {
		f.nodeWaits(n)
	}
}

func (f *findings) nodeWaits(n NodeSaid) {
	if n.Trouble != nil {
		f.trouble(n.Node, *n.Trouble)
	}
	if n.State == Refused && n.Refused == "" || n.State == Quarantined && n.Finding == "" {
		f.find(I8, n.Node, "it is %s, and nothing says why", n.State)
	}
	for _, x := range n.Failing {
		if x.Why == "" {
			f.find(I8, n.Node+" "+x.Resource, "it is %s, and nothing says why", x.State)
		}
	}
}

func (f *findings) trouble(where string, t Trouble) {
	f.reason(where, t.Says, t.Since)
	switch {
	case t.Count < 1:
		f.find(I8, where, "there is trouble that came %d times: %s", t.Count, t.Says)
	case t.Stuck != (t.Count >= 3):
		f.find(I8, where, "the same trouble came %d times, and stuck is %s: %s", t.Count, strconv.FormatBool(t.Stuck), t.Says)
	}
}

func (f *findings) reason(where, why string, since time.Time) {
	if why == "" {
		f.find(I8, where, "it waits, and nothing says why")
	}
	switch {
	case since.IsZero():
		f.find(I8, where, "it waits, and nothing says since when: %s", why)
	case !f.seen.At.IsZero() && since.After(f.seen.At):
		f.find(I8, where, "it waits since %s, which is not yet: %s", since.Format(time.RFC3339), why)
	}
}

// I1: what is in the source is out, or a reason is shown.
func (f *findings) lost() {
	if !f.seen.Said.Known {
		return
	}
	for _, s := range f.seen.Sources {
		m := f.module(s.Module)
		switch {
		case m == nil:
			f.find(I1, s.Module, "the mesh does not know the module")
		case m.State != "read":
			// Shown; I8 looks at why and since when.
		case m.Commit != s.Commit:
			f.find(I1, s.Module, "its source is at %s, and the mesh knows %s", short(s.Commit), short(m.Commit))
		case len(m.Waits) == 0 && len(m.Troubles) == 0:
			f.silent(s, *m)
		}
	}
	for _, n := range f.seen.Said.Nodes {
		if n.State != Applied && n.State != Idle && n.State != NotJoined && !f.excused(n.Node) {
			f.find(I1, n.Node, "it is %s, and no reason is shown", n.State)
		}
	}
}

// silent is about a module of which nothing waits and nothing is wrong.
func (f *findings) silent(s Source, m Module) {
	if !m.Current {
		f.find(I1, s.Module, "%s is not built, and no reason is shown", short(s.Commit))
		return
	}
	if !s.Auto {
		return
	}
	for _, on := range m.On {
		if f.excused(on.Node) || on.Failed {
			continue
		}
		switch {
		case !on.Declared:
			f.find(I1, s.Module+" on "+on.Node, "%s is not declared, and no reason is shown", short(s.Commit))
		case !on.Applied:
			f.find(I1, s.Module+" on "+on.Node, "%s is not applied, and no reason is shown", short(s.Commit))
		}
	}
}

func (f *findings) module(name string) *Module {
	for i, m := range f.seen.Said.Modules {
		if m.Name == name {
			return &f.seen.Said.Modules[i]
		}
	}
	return nil
}

// excused reports whether a node is away, or the mesh says what stands against it.
func (f *findings) excused(node string) bool {
	if n := f.node(node); n != nil && n.Away {
		return true
	}
	n := f.said(node)
	return n != nil && (n.Refused != "" || n.Finding != "" || n.Trouble != nil || len(n.Failing) > 0 || n.NotWorkedOut > 0)
}

func short(commit string) string {
	if len(commit) > 7 {
		return commit[:7]
	}
	return commit
}
