package graph

import (
	"hash/maphash"
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
	given []int // by kind: how many modules own anything of it
}

// slot is where a name is looked for: a map would be searched as well, and took
// twice as long.
type slot struct {
	hash uint32
	next int32 // the number of the name, and one; 0 where it is free
}

// named is one name.
type named struct {
	text   string
	owners []int32 // the modules that own it itself, by id
	answer int32   // the nearest name that anybody owns, or one of these two
	kind   uint8
	moved  bool // somebody owns it or another does, since the graph was settled
}

const (
	nobody   int32 = -1
	notAsked int32 = -2
)

func newNames(languages []imports.Language) names {
	t := names{kinds: map[string]int{}, seed: maphash.MakeSeed(), slots: make([]slot, 64)}
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

// look is the number of a name that has one.
func (t *names) look(kind int, text string) (id int32, there bool) {
	at, _ := t.slot(kind, text)
	return t.slots[at].next - 1, t.slots[at].next > 0
}

// slot is where a name is, or would be.
func (t *names) slot(kind int, text string) (at int, hash uint32) {
	hash = uint32(maphash.String(t.seed, text)) + uint32(kind) //nolint:gosec // some of its bits
	for at = int(hash) & (len(t.slots) - 1); t.slots[at].next > 0; at = (at + 1) & (len(t.slots) - 1) {
		if s := t.slots[at]; s.hash == hash && int(t.all[s.next-1].kind) == kind && t.all[s.next-1].text == text {
			break
		}
	}
	return at, hash
}

// id is the number of a name. It keeps no part of a larger text.
func (t *names) id(kind int, text string) int32 {
	at, hash := t.slot(kind, text)
	if t.slots[at].next == 0 {
		if kind != t.places() {
			text = strings.Clone(text)
		}
		t.all = append(t.all, named{kind: uint8(kind), text: text, answer: notAsked})
		t.slots[at] = slot{hash, int32(len(t.all))} //nolint:gosec // fewer than two thousand million
		if 2*len(t.all) > len(t.slots) {
			t.grow()
			return int32(len(t.all) - 1) //nolint:gosec // as above
		}
	}
	return t.slots[at].next - 1
}

func (t *names) grow() {
	was := t.slots
	t.slots = make([]slot, 4*len(was))
	t.all = slices.Grow(t.all, len(t.slots)/2-len(t.all)+1)
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
	return t.nearest(int(t.all[id].kind), t.all[id].text)
}

// nearest is the nearest name that anybody owns. It changes nothing.
func (t *names) nearest(kind int, name string) int32 {
	for _, text := range t.ways[kind](name) {
		if owner, there := t.look(kind, text); there && len(t.all[owner].owners) > 0 {
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
		is.answer = t.find(int32(id)) //nolint:gosec // as above
		moved[id] = is.answer != was || was >= 0 && t.all[was].moved
	}
	for id := range t.all {
		t.all[id].moved = false
	}
	return moved
}

// own is that a module owns these.
func (t *names) own(owns []int32, by int32, room *room[int32]) {
	for _, id := range owns {
		is := &t.all[id]
		if is.owners == nil {
			is.owners = room.keep(append(room.empty(), by))
		} else if at, there := slices.BinarySearch(is.owners, by); !there {
			is.owners = slices.Insert(is.owners, at, by)
		}
		is.moved = true
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
		is := &t.all[id]
		is.owners = slices.DeleteFunc(is.owners, func(other int32) bool { return other == by })
		is.moved = true
	}
	for kind := range t.given {
		if t.holds(owns, kind) {
			t.given[kind]--
		}
	}
}

// holds reports whether any of these names is of this kind.
func (t *names) holds(owns []int32, kind int) bool {
	return slices.ContainsFunc(owns, func(id int32) bool { return int(t.all[id].kind) == kind })
}
