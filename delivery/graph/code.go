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
	givers  map[string]map[int]bool          // by language: who owns anything in it
	folders map[string]int                   // the module at a place
	stale   bool                             // somebody owns something else: every edge is to be found anew
	moved   []int                            // the modules of which the edges are
	rank    []int                            // by id: its place in the order of the names
	answers map[own][]int                    // who owns what is asked for, as far as it was looked up
}

// own is a name in a language.
type own struct{ language, name string }

// coded is a module with its edges.
type coded struct {
	name    string
	known   bool
	code    Code
	compile []int            // what it is compiled against, by name
	tests   []int            // what only its tests are, by name
	in      map[string]needs // the same by language
	users   []int            // who asks for it, by id
	torn    bool             // somebody else and yet another own what it asks for
}

// needs is what a module asks for in one language, by name.
type needs struct{ compile, tests []int }

// NewBuilds is a graph of no modules, for these languages.
func NewBuilds(languages []imports.Language) *Builds {
	b := &Builds{owners: map[string]func(string) []string{}, ids: map[string]int{}, owned: map[own][]int{}, givers: map[string]map[int]bool{}, folders: map[string]int{}, answers: map[own][]int{}}
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
		b.coded = append(b.coded, coded{name: c.Module})
	}
	is := &b.coded[id]
	if !is.known || !ownsAlike(is.code, c) {
		b.disown(id)
		b.own(id, c)
		b.stale = true
	}
	is.known, is.code = true, c
	b.moved = append(b.moved, id)
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
	b.moved = append(b.moved, id)
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
		if b.givers[name.language] == nil {
			b.givers[name.language] = map[int]bool{}
		}
		b.givers[name.language][id] = true
	}
	b.folders[place(c.Repository, c.Folder)] = id
}

func (b *Builds) disown(id int) {
	c := b.coded[id].code
	for _, name := range ownsOf(c) {
		b.owned[name] = slices.DeleteFunc(b.owned[name], func(other int) bool { return other == id })
		delete(b.givers[name.language], id)
	}
	if at := place(c.Repository, c.Folder); b.coded[id].known && b.folders[at] == id {
		delete(b.folders, at)
	}
}

func (b *Builds) unsettled() bool { return b.stale || len(b.moved) > 0 }

// Settle finds the edges of what has moved: of everything, where names belong to
// others than before, which it reports. Every question settles the graph; one
// that is settled can be asked side by side.
func (b *Builds) Settle() (anew bool) {
	if !b.unsettled() {
		return false
	}
	anew = b.stale
	if anew {
		b.moved = b.moved[:0]
		for id := range b.coded {
			b.moved = append(b.moved, id)
		}
		b.answers = make(map[own][]int, len(b.answers))
		b.order()
	}
	for _, id := range b.moved {
		b.resolve(id)
	}
	b.stale, b.moved = false, nil
	return anew
}

// resolve finds what one module asks for.
func (b *Builds) resolve(id int) {
	is := &b.coded[id]
	for _, all := range [][]int{is.compile, is.tests} {
		for _, to := range all {
			users := b.coded[to].users
			if i, there := slices.BinarySearch(users, id); there {
				b.coded[to].users = slices.Delete(users, i, i+1)
			}
		}
	}
	is.compile, is.tests, is.in, is.torn = nil, nil, map[string]needs{}, false
	for language := range is.code.Found {
		in := b.resolveIn(id, language)
		if len(in.compile)+len(in.tests) > 0 {
			is.compile, is.tests = append(is.compile, in.compile...), append(is.tests, in.tests...)
			is.in[language] = b.apart(in)
		}
	}
	all := b.apart(needs{is.compile, is.tests})
	is.compile, is.tests = all.compile, all.tests
	for _, all := range [][]int{is.compile, is.tests} {
		for _, to := range all {
			users := b.coded[to].users
			i, _ := slices.BinarySearch(users, id)
			b.coded[to].users = slices.Insert(users, i, id)
		}
	}
}

// resolveIn finds what one module asks for in one language.
func (b *Builds) resolveIn(id int, language string) (in needs) {
	is := &b.coded[id]
	asked := is.code.Found[language].Imports
	for i := range asked {
		switch owners := b.ownersOf(id, language, &asked[i]); {
		case len(owners) > 1:
			is.torn = true
		case len(owners) == 0:
		case asked[i].Test:
			in.tests = append(in.tests, owners[0])
		default:
			in.compile = append(in.compile, owners[0])
		}
	}
	return in
}

// edges is what one module asks of others, in the order of the languages and
// the names, and in words what more than one other owns.
func (b *Builds) edges(id int) (all []Edge, torn []string) {
	is := &b.coded[id]
	for _, language := range slices.Sorted(maps.Keys(is.code.Found)) {
		for _, asked := range is.code.Found[language].Imports {
			name := cmp.Or(asked.Name, asked.Path)
			switch owners := b.ownersOf(id, language, &asked); len(owners) {
			case 0:
			case 1:
				all = append(all, Edge{From: is.name, To: b.coded[owners[0]].name, Language: language, Name: name, Test: asked.Test, At: asked.At})
			default:
				torn = append(torn, fmt.Sprintf("%s asks for %q, and %s own it", asked.At, name, strings.Join(b.namesOf(owners), " and ")))
			}
		}
	}
	return all, torn
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

// ownersOf is every module that owns what one asks for; none where that is its own.
func (b *Builds) ownersOf(id int, language string, asked *imports.Import) []int {
	var owners []int
	if asked.Path != "" {
		owners = b.standing(b.coded[id].code.Repository, asked.Path)
	} else {
		owners = b.owning(own{language, asked.Name})
	}
	if slices.Contains(owners, id) {
		return nil
	}
	return owners
}

// standing is the module in whose folder a path lies.
func (b *Builds) standing(repository, path string) []int {
	for _, folder := range append(imports.Prefixes(path, "/"), "") {
		if id, there := b.folders[place(repository, folder)]; there {
			return []int{id}
		}
	}
	return nil
}

// owning is the modules that own the nearest name. A graph that is settled is
// only read.
func (b *Builds) owning(asked own) []int {
	if known, there := b.answers[asked]; there {
		return known
	}
	var found []int
	if owners := b.owners[asked.language]; owners != nil {
		for _, name := range owners(asked.name) {
			if found = b.owned[own{asked.language, name}]; len(found) > 0 {
				break
			}
		}
	}
	if b.unsettled() {
		b.answers[asked] = found
	}
	return found
}

// Owner is the module that owns a name in a language, or empty: none does, or
// several do, which is a problem of whoever asks for it.
func (b *Builds) Owner(language, name string) string {
	if owners := b.owning(own{language, name}); len(owners) == 1 {
		return b.coded[owners[0]].name
	}
	return ""
}

func (b *Builds) namesOf(ids []int) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = b.coded[id].name
	}
	slices.Sort(names)
	return names
}

// order finds the order of the names.
func (b *Builds) order() {
	ids := make([]int, len(b.coded))
	for id := range ids {
		ids[id] = id
	}
	slices.SortFunc(ids, func(x, y int) int { return strings.Compare(b.coded[x].name, b.coded[y].name) })
	b.rank = make([]int, len(ids))
	for at, id := range ids {
		b.rank[id] = at
	}
}

func (b *Builds) byName(x, y int) int { return b.rank[x] - b.rank[y] }
