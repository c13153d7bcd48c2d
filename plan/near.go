package plan

import (
	"cmp"
	"maps"
	"slices"

	"noxmesh/delivery/artifact"
	"noxmesh/manifest"
)

// Known is the modules that the mesh knows, and which of them provide what by
// their sources. It is for whoever asks about one node after another: what one
// node needs of it is found without looking at the others.
type Known struct {
	sources  map[string]*manifest.Source // nil where it was never read
	provider map[string]map[string]bool  // by name: the modules whose sources provide it
}

// NewKnown knows no module.
func NewKnown() *Known {
	return &Known{sources: map[string]*manifest.Source{}, provider: map[string]map[string]bool{}}
}

// Set records a module and its source as last read, nil where it never was. It
// returns the names for which Near may now give another answer.
func (k *Known) Set(name string, s *manifest.Source) []string {
	was, known := k.sources[name]
	k.sources[name] = s
	if known && (was == nil) == (s == nil) && (s == nil || Alike(*was, *s)) {
		return nil
	}
	moved := append(k.unprovide(name, was), name)
	for _, what := range provides(name, s) {
		if k.provider[what] == nil {
			k.provider[what] = map[string]bool{}
		}
		k.provider[what][name] = true
		moved = append(moved, what)
	}
	return moved
}

// Forget is Set for a module that is known no more.
func (k *Known) Forget(name string) []string {
	was, known := k.sources[name]
	if !known {
		return nil
	}
	delete(k.sources, name)
	return append(k.unprovide(name, was), name)
}

func (k *Known) unprovide(name string, was *manifest.Source) []string {
	gone := provides(name, was)
	for _, what := range gone {
		delete(k.provider[what], name)
		if len(k.provider[what]) == 0 {
			delete(k.provider, what)
		}
	}
	return gone
}

// Alike reports whether two sources of a module are the same to every node on
// which no build of it is declared.
func Alike(a, b manifest.Source) bool {
	return slices.Equal(a.Provides, b.Provides) && slices.Equal(a.Requires, b.Requires)
}

// provides is the names that a module's source provides, its own among them.
func provides(name string, s *manifest.Source) []string {
	if s == nil {
		return nil
	}
	return append([]string{name}, s.Provides...)
}

// Near is the modules that can have a part in the plan of a node with these
// assignments on which these builds are declared; Compile and Belong say of them
// what they say of all modules. Asked is every name whose meaning decided that.
func (k *Known) Near(roots []string, declared map[string]*artifact.Build) (modules []Module, asked []string) {
	names := map[string]bool{}
	seen := map[string]bool{}
	next := slices.AppendSeq(slices.Clone(roots), maps.Keys(declared))
	for len(next) > 0 {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[name] {
			continue
		}
		seen[name], names[name] = true, true
		source, known := k.sources[name]
		if !known {
			continue
		}
		m := Module{Name: name, Declared: declared[name], Source: source}
		modules = append(modules, m)
		for _, need := range requires(m) {
			names[need] = true
			next = slices.AppendSeq(next, maps.Keys(k.provider[need]))
		}
	}
	slices.SortFunc(modules, func(a, b Module) int { return cmp.Compare(a.Name, b.Name) })
	return modules, slices.Sorted(maps.Keys(names))
}
