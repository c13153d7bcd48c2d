package delivery

import (
	"cmp"
	"slices"
	"time"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
)

// compareDeclared decides about the current build: nothing but a verdict makes it
// eligible, and nothing but a policy declares it here.
func (d *Difference) compareDeclared(f Facts, b artifact.Build) {
	switch {
	case b.Verdict == verdict.Unfit:
		d.wait("a new commit: its tests failed", b.At)
		return
	case !b.Verdict.Eligible():
		d.wait("a verdict", b.At)
		return
	}
	others, moved := undeclared(f, b)
	if len(others) == 0 {
		return
	}
	bad, isBad := KnownBad(f)[b.Content]
	switch {
	case isBad && moved:
		d.wait("a new commit, or somebody to declare it: "+b.ID.Short()+" was rolled back from", bad)
	case isBad:
	case f.Policy == Auto:
		d.Declare = &Declare{b.ID, others}
	case moved:
		d.wait("somebody to declare it: mesh declare "+f.Module, b.At)
	}
}

// undeclared is the nodes on which another build is declared, or none; and
// whether it would change one of them. A build that amounts to the same there is
// another build, and no decision that a person has to make.
func undeclared(f Facts, b artifact.Build) (nodes []string, moved bool) {
	same := map[document.Digest]bool{}
	for _, other := range f.Builds {
		same[other.ID] = other.Content == b.Content
	}
	for _, n := range f.Nodes {
		if declared := f.Declared[n]; declared != b.ID {
			nodes = append(nodes, n)
			moved = moved || !same[declared]
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), moved
}

// KnownBad is the contents that a person has rolled back from, and when: where
// one was declared on a node, a person then declared something there that had
// been made before it. No policy declares it again, whatever build it comes with,
// until a person has.
func KnownBad(f Facts) map[document.Digest]time.Time {
	made := make(map[document.Digest]*artifact.Build, len(f.Builds))
	for i, b := range f.Builds {
		made[b.ID] = &f.Builds[i]
	}
	writes := slices.SortedFunc(slices.Values(f.Writes), func(a, b Write) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), a.At.Compare(b.At), cmp.Compare(a.Build, b.Build))
	})
	bad := map[document.Digest]time.Time{}
	on := map[string]*artifact.Build{} // by node
	for _, w := range writes {
		b := made[w.Build]
		for _, n := range w.Nodes {
			if was := on[n]; !w.Policy && was != nil && b != nil && artifact.Older(*b, *was) < 0 {
				bad[was.Content] = w.At
			}
			on[n] = b
		}
		if b != nil && !w.Policy {
			delete(bad, b.Content)
		}
	}
	return bad
}
