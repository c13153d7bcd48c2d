package plan

import (
	"cmp"
	"maps"
	"reflect"
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
	offers   map[string]int              // by name: how many builds that are declared on nodes provide it for the whole mesh
}

// NewKnown knows no module.
func NewKnown() *Known {
	return &Known{sources: map[string]*manifest.Source{}, provider: map[string]map[string]bool{}, offers: map[string]int{}}
}

// Declare records that on one node these builds are declared where those were.
// It returns the names for which Near and There may now give another answer.
func (k *Known) Declare(was, is []*artifact.Build) []string {
	before := map[string]int{}
	count := func(builds []*artifact.Build, n int) {
		for _, b := range builds {
			for _, name := range manifest.Scoped(b.Manifest.Provides, manifest.MeshScope) {
				if _, seen := before[name]; !seen {
					before[name] = k.offers[name]
				}
				k.offers[name] += n
			}
		}
	}
	count(was, -1)
	count(is, +1)
	var moved []string
	for name, n := range before {
		if (n > 0) != (k.offers[name] > 0) {
			moved = append(moved, name)
		}
		if k.offers[name] == 0 {
			delete(k.offers, name)
		}
	}
	slices.Sort(moved)
	return moved
}

// There is those of the names that something provides for the whole mesh which
// is declared on some node.
func (k *Known) There(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return k.offers[name] <= 0 })
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
	return slices.Equal(a.Provides, b.Provides) && slices.Equal(a.Requires, b.Requires) &&
		slices.Equal(a.Capabilities, b.Capabilities) && reflect.DeepEqual(needsOf(a), needsOf(b))
}

// needsOf is what of a source says what it is made by others, and makes for them.
func needsOf(s manifest.Source) any {
	return struct {
		instances map[string]manifest.Instance
		grants    map[string]manifest.Grant
		settings  map[string]manifest.Setting
		asked     map[string][]string
		secrets   []string
	}{s.Instances, s.Grants, settingsOf(s), askedOf(s), outline(s).NeedsSecrets()}
}

// settingsOf is the settings where an instance may name one.
func settingsOf(s manifest.Source) map[string]manifest.Setting {
	if len(s.Instances) == 0 {
		return nil
	}
	return s.Settings
}

func askedOf(s manifest.Source) map[string][]string {
	if len(s.Instances) == 0 {
		return nil
	}
	return outline(s).Asked()
}

// provides is the names that a module's source provides, its own among them, and
// the kinds that it grants.
func provides(name string, s *manifest.Source) []string {
	if s == nil {
		return nil
	}
	out := []string{name}
	for _, p := range s.Provides {
		out = append(out, p.Name)
	}
	for kind := range s.Grants {
		out = append(out, instanceOf+kind)
	}
	return out
}

// instanceOf stands before a kind among the names that are asked; no name has
// spaces.
const instanceOf = "instance of "

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
		for kind := range kinds(m) {
			names[instanceOf+kind] = true
			next = slices.AppendSeq(next, maps.Keys(k.provider[instanceOf+kind]))
		}
	}
	slices.SortFunc(modules, func(a, b Module) int { return cmp.Compare(a.Name, b.Name) })
	return modules, slices.Sorted(maps.Keys(names))
}
