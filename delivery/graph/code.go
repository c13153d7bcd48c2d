package graph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// Code is what the graph of build edges needs to know of one module.
type Code struct {
	Module     string
	Repository string // where it is, in one form
	Folder     string
	Found      map[string]imports.Found // by language
}

// Edge is one build edge: what the code of From asks for belongs to To.
type Edge struct {
	From, To string
	Language string
	Name     string // that is asked for, or the path
	Test     bool   // only tests ask for it
	At       imports.Place
}

// Builds is the graph of build edges. It changes with Set and Remove, and a
// question costs what it reaches.
//
// The law: an edge is where somebody's code asks for a name that another module
// owns. What only tests ask for is an edge too, since a build runs its module's
// tests, but it goes no further: who builds against a module does not build its
// tests. Of edges that close a circle those of tests are left out, and named; a
// circle without them is refused whole.
type Builds struct {
	owners  map[string]func(string) []string // by language
	coded   []coded                          // by id
	ids     map[string]int                   // by module, those that were removed too
	owned   map[own][]int                    // sorted
	folders map[string]int                   // the module at a place
	stale   bool                             // somebody owns something else: every edge is to be found anew
	moved   map[int]bool                     // the modules of which the edges are
}

// own is a name in a language.
type own struct{ language, name string }

// coded is a module with its edges.
type coded struct {
	name    string
	known   bool
	code    Code
	edges   []Edge
	compile []int            // what it is compiled against, by name
	tests   []int            // what only its tests are, by name
	in      map[string]needs // the same by language
	users   map[int]bool
	why     []string // what stands against its edges
}

// needs is what a module asks for in one language, by name.
type needs struct{ compile, tests []int }

// NewBuilds is a graph of no modules, for these languages.
func NewBuilds(languages []imports.Language) *Builds {
	b := &Builds{owners: map[string]func(string) []string{}, ids: map[string]int{}, owned: map[own][]int{}, folders: map[string]int{}, moved: map[int]bool{}}
	for _, l := range languages {
		b.owners[l.Name()] = l.Owners
	}
	return b
}

// Set puts a module into the graph, or what it has become.
func (b *Builds) Set(c Code) {
	id, there := b.ids[c.Module]
	if !there {
		id = len(b.coded)
		b.ids[c.Module] = id
		b.coded = append(b.coded, coded{name: c.Module, users: map[int]bool{}})
	}
	is := &b.coded[id]
	if !is.known || !ownsAlike(is.code, c) {
		b.disown(id)
		b.own(id, c)
		b.stale = true
	}
	is.known, is.code = true, c
	b.moved[id] = true
}

// Remove takes a module out of the graph.
func (b *Builds) Remove(module string) {
	id, there := b.ids[module]
	if !there || !b.coded[id].known {
		return
	}
	b.disown(id)
	is := &b.coded[id]
	is.known, is.code = false, Code{Module: module}
	b.stale = true
	b.moved[id] = true
}

// ownsAlike reports whether two readings of a module own the same, at one place.
func ownsAlike(a, b Code) bool {
	return place(a.Repository, a.Folder) == place(b.Repository, b.Folder) && slices.Equal(ownsOf(a), ownsOf(b))
}

func ownsOf(c Code) []own {
	var all []own
	for _, language := range slices.Sorted(maps.Keys(c.Found)) {
		for _, o := range c.Found[language].Owns {
			all = append(all, own{language, o.Name})
		}
	}
	return all
}

func place(repository, folder string) string { return repository + "\x00" + folder }

func (b *Builds) own(id int, c Code) {
	for _, name := range ownsOf(c) {
		all := b.owned[name] // by id
		if i, there := slices.BinarySearch(all, id); !there {
			b.owned[name] = slices.Insert(all, i, id)
		}
	}
	b.folders[place(c.Repository, c.Folder)] = id
}

func (b *Builds) disown(id int) {
	c := b.coded[id].code
	for _, name := range ownsOf(c) {
		b.owned[name] = slices.DeleteFunc(b.owned[name], func(other int) bool { return other == id })
	}
	if at := place(c.Repository, c.Folder); b.coded[id].known && b.folders[at] == id {
		delete(b.folders, at)
	}
}

// Settle finds the edges of what has moved: of everything, where names belong to
// others than before, which it reports. Every question settles the graph; one
// that is settled can be asked side by side.
func (b *Builds) Settle() (anew bool) {
	if !b.stale && len(b.moved) == 0 {
		return false
	}
	anew = b.stale
	if anew {
		for id := range b.coded {
			b.moved[id] = true
		}
	}
	for id := range b.moved {
		b.resolve(id)
	}
	b.stale = false
	clear(b.moved)
	return anew
}

// resolve finds the edges of one module.
func (b *Builds) resolve(id int) {
	is := &b.coded[id]
	for _, to := range slices.Concat(is.compile, is.tests) {
		delete(b.coded[to].users, id)
	}
	is.edges, is.compile, is.tests, is.in, is.why = nil, nil, nil, map[string]needs{}, nil
	for _, language := range slices.Sorted(maps.Keys(is.code.Found)) {
		in := b.resolveIn(id, language)
		is.compile, is.tests = append(is.compile, in.compile...), append(is.tests, in.tests...)
		if len(in.compile)+len(in.tests) > 0 {
			is.in[language] = b.apart(in)
		}
	}
	all := b.apart(needs{is.compile, is.tests})
	is.compile, is.tests = all.compile, all.tests
	for _, to := range slices.Concat(is.compile, is.tests) {
		b.coded[to].users[id] = true
	}
}

func (b *Builds) byName(x, y int) int { return strings.Compare(b.coded[x].name, b.coded[y].name) }

// resolveIn finds the edges of one module in one language.
func (b *Builds) resolveIn(id int, language string) (in needs) {
	is := &b.coded[id]
	for _, asked := range is.code.Found[language].Imports {
		owners := b.ownersOf(is.code.Repository, language, asked)
		switch {
		case len(owners) == 0 || slices.Contains(owners, id):
			continue
		case len(owners) > 1:
			is.why = append(is.why, fmt.Sprintf("%s asks for %q, and %s own it", asked.At, cmp.Or(asked.Name, asked.Path), strings.Join(b.namesOf(owners), " and ")))
			continue
		case asked.Test:
			in.tests = append(in.tests, owners[0])
		default:
			in.compile = append(in.compile, owners[0])
		}
		is.edges = append(is.edges, Edge{
			From: is.name, To: b.coded[owners[0]].name, Language: language, Name: cmp.Or(asked.Name, asked.Path), Test: asked.Test, At: asked.At,
		})
	}
	return in
}

// apart is what is asked for by name, each once, and what only tests ask for by itself.
func (b *Builds) apart(n needs) needs {
	n.compile, n.tests = b.set(n.compile), b.set(n.tests)
	n.tests = slices.DeleteFunc(n.tests, func(to int) bool { return b.holds(n.compile, to) })
	return n
}

// set is these modules by name, each once.
func (b *Builds) set(ids []int) []int {
	slices.SortFunc(ids, b.byName)
	return slices.Compact(ids)
}

// holds reports whether a module is in a set.
func (b *Builds) holds(set []int, id int) bool {
	_, there := slices.BinarySearchFunc(set, id, b.byName)
	return there
}

// ownersOf is every module that owns what is asked for.
func (b *Builds) ownersOf(repository, language string, asked imports.Import) []int {
	if asked.Path != "" {
		for _, folder := range append(imports.Prefixes(asked.Path, "/"), "") {
			if id, there := b.folders[place(repository, folder)]; there {
				return []int{id}
			}
		}
		return nil
	}
	owners := b.owners[language]
	if owners == nil {
		return nil
	}
	for _, name := range owners(asked.Name) {
		if all := b.owned[own{language, name}]; len(all) > 0 {
			return all
		}
	}
	return nil
}

func (b *Builds) namesOf(ids []int) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = b.coded[id].name
	}
	slices.Sort(names)
	return names
}
