package graph

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// Code is what the graph of build edges needs to know of one module.
type Code struct {
	Module     string
	Repository string // where it is, in one form
	Folder     string
	Says       imports.Said
	Beside     *Beside // nil where it says nothing elsewhere than in its code
}

// Beside is what a module owns and asks for elsewhere than in its code. Few do: it
// takes no room in the others.
type Beside struct {
	Owns []Owned
	Asks []Asked
}

// Owned is a name that a module owns.
type Owned struct{ Language, Name string }

// Asked is a name that a module asks for.
type Asked struct {
	Language, Name string
	At             imports.Place
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
// tests. In a language that is whole nothing is laid out through others: what a
// module gives there has in it all that it was made of, and is another when any of
// that is. Of edges that close a circle those of tests are left out, and named; a
// circle without them is refused whole.
//
// Modules and names are numbers, and edges are slices of them. Where an edge is
// written is looked up in what the code says when somebody asks for it.
type Builds struct {
	languages []imports.Language
	whole     []bool // by language: it is one
	names     names
	coded     []coded
	edges     []edges // by id
	ids       index   // by the modules' names, those that were removed too
	order     []int32 // the ids, by the modules' names
	rank      []int32 // by id: its place in that order
	moved     []int32 // the modules of which the edges are to be found
	unread    []int32 // those of them of which the names have no numbers yet
	anew      bool    // of names that were read some belong to others than before
	used      []int   // by language: how many modules are built against anything in it
	room      *rooms  // while modules have moved
	left      int     // how often a name was owned or asked for by a module that has become another
}

// coded is a module and what its code says.
type coded struct {
	known bool
	moved bool // it is among those
	torn  bool // somebody else and yet another own what it asks for
	code  Code
	owns  []int32 // the names that it owns, its place among them
	asks  []ask   // in the order in which its code says them
	in    []needs // what it is built against, in each language by its number
}

// edges is what a module is built against, and who is against it. Most questions
// go through these alone, and these lie close together.
type edges struct {
	compile []int32 // what its code is compiled against, by name
	tests   []int32 // and what only its tests are, by name
	users   []user  // who asks for it, by id and language
}

// ask is a name that somebody asks for.
type ask struct {
	name int32
	in   uint8 // the language
	test bool
}

// needs is what a module asks for in one language, by name.
type needs struct {
	in             int
	compile, tests []int32
}

// user is a module that asks for another in one language.
type user struct {
	by   int32
	in   uint8
	test bool // only its tests do
}

// NewBuilds is a graph of no modules, for these languages.
func NewBuilds(languages []imports.Language) *Builds {
	languages = slices.SortedFunc(slices.Values(languages), func(a, b imports.Language) int { return strings.Compare(a.Name(), b.Name()) })
	b := &Builds{languages: languages, names: newNames(languages, maphash.MakeSeed()), ids: indexFor(0)}
	for _, l := range languages {
		_, is := l.(imports.Whole)
		b.whole, b.used = append(b.whole, is), append(b.used, 0)
	}
	return b
}

// Expect makes room for so many modules in a graph that has none.
func (b *Builds) Expect(modules int) {
	if len(b.coded) == 0 && modules > cap(b.coded) {
		b.coded, b.edges, b.moved = make([]coded, 0, modules), make([]edges, 0, modules), make([]int32, 0, modules)
		b.ids = indexFor(modules)
		b.names.expect(modules)
	}
}

// Set puts modules into the graph, or what they have become.
func (b *Builds) Set(all ...Code) {
	if len(b.coded) == 0 {
		b.Expect(len(all))
	}
	for _, c := range all {
		b.unread = append(b.unread, b.put(c))
	}
}

// put puts a module into the graph, of which the names are still to be read.
func (b *Builds) put(c Code) int32 {
	id, there := b.id(c.Module)
	if !there {
		id = int32(len(b.coded))
		b.ids.put(b.hash(c.Module), uint32(id))
		b.coded, b.edges = append(b.coded, coded{}), append(b.edges, edges{})
	}
	b.coded[id].known, b.coded[id].code = true, c
	b.move(id)
	return id
}

// id is the number of a module.
func (b *Builds) id(module string) (id int32, there bool) {
	is, there := b.ids.find(b.hash(module), func(id uint32) bool { return b.coded[id].code.Module == module })
	return int32(is), there
}

// idOf is the number of a module that is there.
func (b *Builds) idOf(module string) int32 {
	id, _ := b.id(module)
	return id
}

func (b *Builds) hash(module string) uint32 { return uint32(maphash.String(b.names.seed, module)) }

// Remove takes a module out of the graph.
func (b *Builds) Remove(module string) {
	if id, there := b.id(module); there && b.coded[id].known {
		b.coded[id].known, b.coded[id].code = false, Code{Module: module}
		b.move(id)
		b.unread = append(b.unread, id)
	}
}

func (b *Builds) move(id int32) {
	if is := &b.coded[id]; !is.moved {
		is.moved = true
		b.moved = append(b.moved, id)
	}
}

// ownsAlike reports whether two readings of a module own the same, at one place.
func ownsAlike(a, b Code) bool {
	return place(a.Repository, a.Folder) == place(b.Repository, b.Folder) && slices.Equal(ownsOf(a), ownsOf(b))
}

func ownsOf(c Code) (all []Owned) {
	for w := range c.Says.Words(nil) {
		if w.Owned {
			all = append(all, Owned{w.Language, string(w.Text)})
		}
	}
	if c.Beside != nil {
		all = append(all, c.Beside.Owns...)
	}
	return all
}

// Settle finds the edges of what has moved, and reports whether names belong to
// others than before. Every question settles the graph; one that is settled can
// be asked side by side.
func (b *Builds) Settle() (anew bool) {
	if len(b.moved) == 0 {
		return false
	}
	if b.left > len(b.names.begin) {
		b.forget()
	}
	b.read()
	anew, b.room.many = b.anew, len(b.moved) > few
	if anew {
		b.sort()
		b.moveAsking(b.names.askAgain())
	}
	b.resolve()
	for _, id := range b.moved {
		b.coded[id].moved = false
	}
	b.moved, b.anew, b.room = b.moved[:0], false, nil
	return anew
}

// forget drops every name, so that those are kept that somebody owns or asks for.
func (b *Builds) forget() {
	b.names, b.left, b.unread = newNames(b.languages, b.names.seed), 0, b.unread[:0]
	for id := range b.coded {
		b.coded[id].owns, b.coded[id].asks = nil, nil
		b.move(int32(id))
		b.unread = append(b.unread, int32(id))
	}
}

// read gives what was said since its numbers.
func (b *Builds) read() {
	if b.room == nil {
		b.room = &rooms{}
	}
	for some := range slices.Chunk(b.unread, few) {
		h := &b.room.heard
		h.clear()
		for _, id := range some {
			b.hear(h, b.coded[id].code, b.coded[id].known)
		}
		b.take(some, h)
	}
	b.unread = b.unread[:0]
}

// take takes down what the code of these modules says, in numbers.
func (b *Builds) take(ids []int32, h *Heard) {
	if b.room == nil {
		b.room = &rooms{}
	}
	b.names.number(h)
	begin := 0
	for i, id := range ids {
		b.takeOne(id, h.words[begin:h.ends[i]])
		begin = h.ends[i]
	}
}

func (b *Builds) takeOne(id int32, words []word) {
	is, room := &b.coded[id], b.room
	owns, asks := room.owns.empty(), room.asks.empty()
	for _, w := range words {
		if w.owned {
			owns = append(owns, w.id)
		} else {
			asks = append(asks, ask{name: w.id, in: w.in, test: w.test})
		}
	}
	if is.code.Beside != nil {
		slices.SortStableFunc(asks, func(x, y ask) int { return int(x.in) - int(y.in) })
	}
	if !slices.Equal(asks, is.asks) {
		b.left += len(is.asks)
		is.asks = room.asks.keep(asks)
	}
	if slices.Equal(owns, is.owns) {
		return
	}
	b.left += len(is.owns)
	b.names.disown(is.owns, id)
	is.owns = room.owns.keep(owns)
	b.names.own(is.owns, id)
	b.anew = true
}

// moveAsking moves those that ask for one of these names.
func (b *Builds) moveAsking(moved []bool) {
	if !slices.Contains(moved, true) {
		return
	}
	for id := range b.coded {
		if slices.ContainsFunc(b.coded[id].asks, func(a ask) bool { return moved[a.name] }) {
			b.move(int32(id))
		}
	}
}

// sort finds the order of the modules' names. Mostly the first letters in which
// they are not all alike decide: only where these are the same names are compared.
func (b *Builds) sort() {
	if len(b.rank) == len(b.coded) {
		return
	}
	alike := b.coded[0].code.Module
	for id := range b.coded {
		for !strings.HasPrefix(b.coded[id].code.Module, alike) {
			alike = alike[:len(alike)-1]
		}
	}
	type place struct {
		letters uint64
		id      int32
	}
	places := make([]place, len(b.coded))
	for id := range places {
		var letters [8]byte
		copy(letters[:], b.coded[id].code.Module[len(alike):])
		places[id] = place{binary.BigEndian.Uint64(letters[:]), int32(id)}
	}
	slices.SortFunc(places, func(x, y place) int {
		if x.letters != y.letters {
			return cmp.Compare(x.letters, y.letters)
		}
		return strings.Compare(b.coded[x.id].code.Module, b.coded[y.id].code.Module)
	})
	b.order, b.rank = make([]int32, len(places)), make([]int32, len(places))
	for at, is := range places {
		b.order[at], b.rank[is.id] = is.id, int32(at)
	}
}

func (b *Builds) byName(x, y int32) int { return int(b.rank[x] - b.rank[y]) }

// Owner is the module that owns a name in a language, or empty: none does, or
// several do, which is a problem of whoever asks for it.
func (b *Builds) Owner(language, name string) string {
	kind, spoken := b.names.kinds[language]
	if !spoken {
		return ""
	}
	if name := b.names.nearest(kind, name); name != nobody && b.names.owner[name] != several {
		return b.coded[b.names.owner[name]].code.Module
	}
	return ""
}

func (b *Builds) namesOf(ids []int32) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = b.coded[id].code.Module
	}
	slices.Sort(names)
	return names
}
