package graph

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// names is every name that is owned or asked for, and every place, each once. A
// name is known by its number from then on.
type names struct {
	kinds map[string]int          // the languages, by name
	ways  []func(string) []string // by kind: whatever would own a name, the nearest first
	seed  maphash.Seed
	slots []slot // twice as many as names at least; a name stands in the first one that is free from its hash on
	all   []named
	texts []byte            // of all names, one after another
	owner []int32           // by name: the module that owns it itself, or nobody, or several
	more  map[int32][]int32 // of a name that several own, all of them, by id
	near  byte              // what number has read ahead
	given []int             // by kind: how many modules own anything of it
}

// slot is where a name is looked for: a map would be searched as well, and took
// twice as long.
type slot struct {
	hash uint32
	next int32 // the number of the name, and one; 0 where it is free
}

// named is one name. There are a great many: none holds anything that the
// collector would have to look at.
type named struct {
	begin  int // of its text
	length int32
	answer int32 // the nearest name that anybody owns, or one of these two
	kind   uint8
	moved  bool // somebody owns it or another does, since the graph was settled
}

const (
	nobody   int32 = -1
	notAsked int32 = -2
	several  int32 = -3
)

func newNames(languages []imports.Language) names {
	t := names{kinds: map[string]int{}, seed: maphash.MakeSeed(), slots: make([]slot, 64), more: map[int32][]int32{}}
	for _, l := range languages {
		t.kinds[l.Name()] = len(t.ways)
		t.ways = append(t.ways, l.Owners)
	}
	t.ways = append(t.ways, enclosing)
	t.given = make([]int, len(t.ways))
	return t
}

// places is the kind of the places at which modules are.
func (t *names) places() int { return len(t.ways) - 1 }

// place is a folder or a file in a repository.
func place(repository, path string) string { return repository + "\x00" + path }

// enclosing is a place and the folders around it.
func enclosing(at string) []string {
	repository, path, _ := strings.Cut(at, "\x00")
	all := append(imports.Prefixes(path, "/"), "")
	for i, folder := range all {
		all[i] = place(repository, folder)
	}
	return all
}

// text is the text of a name.
func (t *names) text(id int32) []byte { return t.texts[t.all[id].begin:][:t.all[id].length] }

// look is the number of a name that has one.
func (t *names) look(kind int, text string) (id int32, there bool) {
	at := slotOf(t, kind, text, uint32(maphash.String(t.seed, text))+uint32(kind))
	return t.slots[at].next - 1, t.slots[at].next > 0
}

// id is the number of a name with this hash.
func (t *names) id(kind int, text []byte, hash uint32) int32 {
	at := slotOf(t, kind, text, hash)
	if t.slots[at].next > 0 {
		return t.slots[at].next - 1
	}
	id := int32(len(t.all))
	t.all = append(t.all, named{kind: uint8(kind), begin: len(t.texts), length: int32(len(text)), answer: notAsked})
	t.texts = append(t.texts, text...)
	t.owner = append(t.owner, nobody)
	t.slots[at] = slot{hash, id + 1}
	if 2*len(t.all) > len(t.slots) {
		t.grow()
	}
	return id
}

// slotOf is where a name is, or would be.
func slotOf[T string | []byte](t *names, kind int, text T, hash uint32) int {
	last := len(t.slots) - 1
	at := int(hash) & last
	for ; t.slots[at].next > 0; at = (at + 1) & last {
		if s := t.slots[at]; s.hash == hash && int(t.all[s.next-1].kind) == kind && string(t.text(s.next-1)) == string(text) {
			break
		}
	}
	return at
}

// expect makes room for what so many modules mostly own and ask for.
func (t *names) expect(modules int) {
	const names, letters = 3, 32
	t.slots = make([]slot, 1<<bits.Len(uint(max(64, 2*names*modules)-1)))
	t.all, t.owner = make([]named, 0, names*modules), make([]int32, 0, names*modules)
	t.texts = make([]byte, 0, names*letters*modules)
}

func (t *names) grow() {
	was := t.slots
	t.slots = make([]slot, 4*len(was))
	for _, s := range was {
		if s.next > 0 {
			at := int(s.hash) & (len(t.slots) - 1)
			for t.slots[at].next > 0 {
				at = (at + 1) & (len(t.slots) - 1)
			}
			t.slots[at] = s
		}
	}
}

// ask is the owned name that is nearest to a name.
func (t *names) ask(id int32) int32 {
	if t.all[id].answer == notAsked {
		t.all[id].answer = t.find(id)
	}
	return t.all[id].answer
}

func (t *names) find(id int32) int32 {
	kind, name := int(t.all[id].kind), string(t.text(id))
	ways := t.ways[kind](name)
	if len(ways) > 0 && ways[0] == name { // as mostly: it need not be looked for
		if t.owner[id] != nobody {
			return id
		}
		ways = ways[1:]
	}
	return t.first(kind, ways)
}

// nearest is the nearest name that anybody owns. It changes nothing.
func (t *names) nearest(kind int, name string) int32 { return t.first(kind, t.ways[kind](name)) }

// first is the first of these names that anybody owns.
func (t *names) first(kind int, names []string) int32 {
	for _, text := range names {
		if owner, there := t.look(kind, text); there && t.owner[owner] != nobody {
			return owner
		}
	}
	return nobody
}

// askAgain finds again what was asked, and reports of each name whether the
// answer is another, or others own it.
func (t *names) askAgain() []bool {
	moved := make([]bool, len(t.all))
	for id := range t.all {
		is := &t.all[id]
		if is.answer == notAsked {
			continue
		}
		was := is.answer
		is.answer = t.find(int32(id))
		moved[id] = is.answer != was || was >= 0 && t.all[was].moved
	}
	for id := range t.all {
		t.all[id].moved = false
	}
	return moved
}

// owners is the modules that own a name itself, by id.
func (t *names) owners(id int32) []int32 {
	switch t.owner[id] {
	case nobody:
		return nil
	case several:
		return t.more[id]
	}
	return t.owner[id : id+1 : id+1]
}

// own is that a module owns these.
func (t *names) own(owns []int32, by int32) {
	for _, id := range owns {
		t.all[id].moved = true
		if t.owner[id] == nobody {
			t.owner[id] = by
			continue
		}
		owners := t.owners(id)
		if at, there := slices.BinarySearch(owners, by); !there {
			t.ownedBy(id, slices.Insert(slices.Clone(owners), at, by))
		}
	}
	for kind := range t.given {
		if t.holds(owns, kind) {
			t.given[kind]++
		}
	}
}

// disown is that it owns them no more.
func (t *names) disown(owns []int32, by int32) {
	for _, id := range owns {
		t.all[id].moved = true
		t.ownedBy(id, slices.DeleteFunc(slices.Clone(t.owners(id)), func(other int32) bool { return other == by }))
	}
	for kind := range t.given {
		if t.holds(owns, kind) {
			t.given[kind]--
		}
	}
}

// ownedBy is that these own a name.
func (t *names) ownedBy(id int32, owners []int32) {
	delete(t.more, id)
	switch len(owners) {
	case 0:
		t.owner[id] = nobody
	case 1:
		t.owner[id] = owners[0]
	default:
		t.owner[id], t.more[id] = several, owners
	}
}

// holds reports whether any of these names is of this kind.
func (t *names) holds(owns []int32, kind int) bool {
	return slices.ContainsFunc(owns, func(id int32) bool { return int(t.all[id].kind) == kind })
}
