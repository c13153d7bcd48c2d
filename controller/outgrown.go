package controller

import (
	"slices"

	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	"noxmesh/plan"
	"noxmesh/report"
)

// reporter is the version of the host that said what a node has; empty where it has not said.
func reporter(r *report.Report) string {
	if r == nil {
		return ""
	}
	return r.Host
}

// sameCapabilities reports whether a node says that it has what it said before, by
// the same version of its host.
func sameCapabilities(a, b *report.Report) bool {
	was, is := capabilities(a), capabilities(b)
	return reporter(a) == reporter(b) && (was == nil) == (is == nil) && (was == nil || slices.Equal(*was, *is))
}

// saysTheSame reports whether a node says nothing else that decides its plan than it said before.
func (n *nodeView) saysTheSame(before *report.Report) bool {
	w := n.worked.Load()
	return sameCapabilities(before, n.Report) && (w == nil || !w.outgrown() || slices.Equal(hasOf(before), hasOf(n.Report)))
}

// outgrown reports whether the node's host is too old for something of it: then what
// the node has decides, too.
func (w *workedOut) outgrown() bool {
	return slices.ContainsFunc(slices.Concat(w.held, w.leftOut), func(r plan.Reason) bool { return r.Host != "" })
}

// before is the build of which the node has said that it has it; nil where there is none.
func (v *view) before(n *nodeView, module string) *artifact.Build {
	for _, m := range hasOf(n.Report) {
		is := v.modules[module]
		if m.Module != module || is == nil {
			continue
		}
		for i := range is.builds {
			if b := &is.builds[i]; b.Content == m.Content && !b.Gone {
				return b
			}
		}
	}
	return nil
}

// hasOf is what a node has said that it has of modules.
func hasOf(r *report.Report) []declaration.Module {
	if r == nil {
		return nil
	}
	return r.Modules
}
