package graph

import (
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
	ids       map[string]int32 // by module, those that were removed too
	rank      []int32          // by id: its place in the order of the modules' names
	moved     []int32          // the modules of which the edges are to be found
	heard     int              // of the first of these the names have been heard
	anew      bool             // of names that were heard some belong to others than before
	room      *rooms           // while modules have moved
	left      int              // how often a name was owned or asked for by a module that has become another
}

// coded is a module with its edges.
type coded struct {
	known   bool
	moved   bool // it is among those
	heard   bool // and what it says has been heard since
	torn    bool // somebody else and yet another own what it asks for
	code    Code
	owns    []int32 // the names that it owns, its place among them
	asks    []ask   // in the order in which its code says them
	in      []needs // what it is built against, in each language by its number
	compile []int32 // the same in all of them: what its code is compiled against, by name
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
	b := &Builds{languages: languages, names: newNames(languages), ids: map[string]int32{}}
	for _, l := range languages {
		_, is := l.(imports.Whole)
		b.whole = append(b.whole, is)
	}
	return b
}

// Expect makes room for so many modules in a graph that has none.
func (b *Builds) Expect(modules int) {
	if len(b.coded) == 0 && modules > cap(b.coded) {
		b.coded, b.moved, b.ids = make([]coded, 0, modules), make([]int32, 0, modules), make(map[string]int32, modules)
		b.names.expect(modules)
	}
}

// Set puts modules into the graph, or what they have become.
func (b *Builds) Set(all ...Code) {
	if len(b.coded) == 0 {
		b.Expect(len(all))
	}
	for _, c := range all {
		id, there := b.ids[c.Module]
		if !there {
			id = int32(len(b.coded))
			b.ids[c.Module] = id
			b.coded = append(b.coded, coded{})
		}
		b.coded[id].known, b.coded[id].code = true, c
		b.move(id)
	}
}

// Remove takes a module out of the graph.
func (b *Builds) Remove(module string) {
	if id, there := b.ids[module]; there && b.coded[id].known {
		b.coded[id].known, b.coded[id].code = false, Code{Module: module}
		b.move(id)
	}
}

func (b *Builds) move(id int32) {
	is := &b.coded[id]
	is.heard = false
	if !is.moved {
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

// Hear gives the names that have come with Set their numbers, which is half of
// what Settle does: so a graph is put together while the record is still read.
func (b *Builds) Hear() {
	for _, id := range b.moved[b.heard:] {
		b.read(id)
	}
	b.heard = len(b.moved)
}

// Settle finds the edges of what has moved, and reports whether names belong to
// others than before. Every question settles the graph; one that is settled can
// be asked side by side.
func (b *Builds) Settle() (anew bool) {
	if len(b.moved) == 0 {
		return false
	}
	if b.left > len(b.names.all) {
		b.forget()
	}
	for _, id := range b.moved {
		if !b.coded[id].heard {
			b.read(id)
		}
	}
	anew, b.room.many = b.anew, len(b.moved) > few
	if anew {
		b.order()
		b.moveAsking(b.names.askAgain())
	}
	b.resolve()
	for _, id := range b.moved {
		b.coded[id].moved = false
	}
	b.moved, b.heard, b.anew, b.room = b.moved[:0], 0, false, nil
	return anew
}

// forget drops every name, so that those are kept that somebody owns or asks for.
func (b *Builds) forget() {
	b.names, b.left = newNames(b.languages), 0
	for id := range b.coded {
		b.coded[id].owns, b.coded[id].asks = nil, nil
		b.move(int32(id))
	}
}

// read gives what a module's code says its numbers.
func (b *Builds) read(id int32) {
	if b.room == nil {
		b.room = &rooms{heard: heard{name: make([]byte, 0, 512)}}
	}
	is, room := &b.coded[id], b.room
	is.heard = true
	b.hear(is, &room.heard)
	b.names.number(&room.heard)
	owns, asks := room.owns.empty(), room.asks.empty()
	for _, w := range room.heard.words {
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

// hear puts down every name that a module's code says.
func (b *Builds) hear(is *coded, h *heard) {
	h.letters, h.words = h.letters[:0], h.words[:0]
	language, kind, spoken := "", 0, false
	for w := range is.code.Says.Words(h.name[:0]) {
		if w.Language != language || !spoken {
			language = w.Language
			kind, spoken = b.names.kinds[language]
		}
		if !spoken {
			continue
		}
		name := word{in: uint8(kind), kind: uint8(kind), owned: w.Owned, test: w.Test}
		if w.Path {
			name.kind = uint8(b.names.places())
			b.names.hear(h, name, is.code.Repository, "\x00", w.Text)
		} else {
			b.names.hear(h, name, "", "", w.Text)
		}
	}
	if is.code.Beside != nil {
		b.hearBeside(*is.code.Beside, h)
	}
	if is.known {
		b.names.hear(h, word{kind: uint8(b.names.places()), owned: true}, is.code.Repository, "\x00", []byte(is.code.Folder))
	}
}

// hearBeside puts down the names that are said elsewhere than in a module's code.
func (b *Builds) hearBeside(says Beside, h *heard) {
	for _, asked := range says.Asks {
		if kind, spoken := b.names.kinds[asked.Language]; spoken {
			b.names.hear(h, word{in: uint8(kind), kind: uint8(kind)}, "", "", []byte(asked.Name))
		}
	}
	for _, owned := range says.Owns {
		if kind, spoken := b.names.kinds[owned.Language]; spoken {
			b.names.hear(h, word{in: uint8(kind), kind: uint8(kind), owned: true}, "", "", []byte(owned.Name))
		}
	}
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

// order finds the order of the modules' names.
func (b *Builds) order() {
	if len(b.rank) == len(b.coded) {
		return
	}
	ids := make([]int32, len(b.coded))
	for id := range ids {
		ids[id] = int32(id)
	}
	slices.SortFunc(ids, func(x, y int32) int { return strings.Compare(b.coded[x].code.Module, b.coded[y].code.Module) })
	b.rank = make([]int32, len(ids))
	for at, id := range ids {
		b.rank[id] = int32(at)
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
